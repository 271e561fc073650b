"""`noetl test --generate`: the fewest runs that reach everything, and a file that passes as it is."""

from collections.abc import Sequence
from itertools import combinations
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from harness.suites import FETCH, put, run_tests
from noetl.app.suites.choosing import fewest
from noetl.app.suites.writing import flow
from noetlc.source.nodes import value_of
from noetlc.source.yaml_reader import read_yaml


def test_what_is_generated_reaches_everything_and_passes(tmp_path: Path) -> None:
    put(tmp_path, "", FETCH)
    (tmp_path / "orders.test.yaml").unlink()
    done = run_tests(tmp_path, "--generate", "orders.yaml", "-o", "orders.test.yaml")
    assert done.returncode == 0, done.stdout + done.stderr
    # By hand: with rows and a store that fails; with rows and one that does not; with none; with a 404. A run with one
    # more try is among them.
    assert "4 cases reach 14 of 14 parts" in done.stderr
    again = run_tests(tmp_path, "--fail-under", "100")
    assert again.returncode == 0, again.stdout + again.stderr
    assert "coverage of orders.yaml: 14 of 14 parts (100.0 %)" in again.stdout


ASKED = """
workflow:
  - step: start
    next: {spec: {mode: inclusive}, arcs: [{step: fetch}, {step: book}]}
  - step: fetch
    tool:
      kind: http
      url: "https://example.org/orders"
      spec:
        policy:
          rules:
            - when: "{{ outcome.error.retryable }}"
              then: {do: retry, attempts: 3}
            - when: "{{ outcome.status == 'error' }}"
              then: {do: fail}
            - else: {then: {do: continue}}
    next: {arcs: [{step: report}]}
  - step: book
    spec: {policy: {lock: books}}
    tool: {kind: shell, command: book}
    next: {arcs: [{step: report}, {step: undo, when: "{{ event.name == 'step.failed' }}"}]}
  - step: undo
    tool: {kind: noop}
  - step: report
    spec: {policy: {join: settled}}
    tool: {kind: noop}
"""
"""A step without a task, a key of the error of a success, a lock, a join that only goes on where nothing failed."""


def test_what_is_generated_is_read_again(tmp_path: Path) -> None:
    put(tmp_path, "", ASKED)
    (tmp_path / "orders.test.yaml").unlink()
    done = run_tests(tmp_path, "--generate", "orders.yaml", "-o", "orders.test.yaml")
    # By hand: five steps, five arcs, three rules, and the ends of fetch and book, both ways, and of undo and report.
    assert done.returncode == 0 and "19 of 19 parts" in done.stderr, done.stdout + done.stderr
    again = run_tests(tmp_path, "--fail-under", "100")
    assert again.returncode == 0, again.stdout + again.stderr


def test_no_file_is_written_over(tmp_path: Path) -> None:
    put(tmp_path, "mine")
    done = run_tests(tmp_path, "--generate", "orders.yaml", "-o", "orders.test.yaml")
    assert done.returncode == 1 and "orders.test.yaml is there already" in done.stderr
    assert (tmp_path / "orders.test.yaml").read_text() == "mine"


@given(st.lists(st.frozensets(st.integers(0, 7), max_size=5), max_size=7))
def test_a_cover_is_whole_and_the_smallest(rows: Sequence[frozenset[int]]) -> None:
    whole = frozenset[int]().union(*rows)
    chosen = fewest(rows)
    assert frozenset[int]().union(*(rows[each] for each in chosen)) == whole
    smaller = list(combinations(range(len(rows)), max(0, len(chosen) - 1)))
    assert not chosen or not any(frozenset[int]().union(*(rows[n] for n in each)) == whole for each in smaller)


NUMBERS = st.integers(-(2**60), 2**60) | st.floats(allow_nan=False, allow_infinity=False)
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@given(VALUES)
def test_a_written_value_is_read_as_it_was(value: object) -> None:
    reading = read_yaml("t", f"v: {flow(value)}\n".encode("utf-8", "surrogatepass"))  # type: ignore[arg-type]
    assert [each.message for each in reading.diagnostics if each.code != "NL012"] == []
    (node,) = reading.documents
    assert node is not None and value_of(node) == {"v": value}


WAITS = """
workload: {big: false}
workflow:
  - step: start
    tool: {name: ask, kind: wait, events: [accept, refuse], timers: {late: 1h}}
    next:
      arcs:
        - step: pay
          when: "{{ event.result.name == 'accept' and event.result.data.amount > 10 and workload.big }}"
        - {step: refuse, when: "{{ event.result.name == 'refuse' }}"}
        - {step: stop}
  - step: pay
    tool: {name: ask, kind: wait, events: [paid], correlation: "order 7"}
    next: {arcs: [{step: ship, args: {to: "{{ event.result.data.address }}"}}]}
  - {step: ship, tool: {name: send, kind: shell, command: "ship {{ args.to }}"}}
  - {step: refuse, tool: {kind: noop}}
  - {step: stop, tool: {kind: noop}}
"""


def test_what_lies_behind_a_wait_is_reached_by_signals(tmp_path: Path) -> None:
    """Behind a wait for a name and a value of the data, with a payload; behind a second one, under a key, which brings
    what a template reads.
    """
    put(tmp_path, "", WAITS)
    (tmp_path / "orders.test.yaml").unlink()
    done = run_tests(tmp_path, "--generate", "orders.yaml", "-o", "orders.test.yaml")
    assert done.returncode == 0, done.stdout + done.stderr
    text = (tmp_path / "orders.test.yaml").read_text()
    # By hand: all but that one of the two waits is an error, which no signal makes of one.
    missing = [line for line in text.splitlines() if "No data were found for" in line]
    assert missing == ["# No data were found for: 8:11 start / ask: error; 16:11 pay / ask: error"], text
    assert "name: accept, data: {amount: 11}" in text and "key: order 7" in text and "name: paid" in text
    # A payment that ships, one whose shipment fails, a refusal, and a stop: no two of these are one run.
    assert "4 cases" in done.stderr, done.stderr + text
    again = run_tests(tmp_path, "--coverage")
    assert again.returncode == 0, again.stdout + again.stderr


MANY = """
workflow:
  - step: start
    loop: {in: [1, 2, 3], iterator: n, spec: {mode: parallel}}
    tool: {name: ask, kind: wait, events: [go]}
    next: {arcs: [{step: last, when: "{{ event.name == 'loop.done' }}"}]}
  - step: last
    tool: {name: own, kind: wait, events: ["{{ 'n' ~ 1 }}"], transient: true}
    next: {arcs: [{step: end_}]}
  - {step: end_, tool: {kind: noop}}
"""


def test_each_iteration_that_waits_gets_a_signal_and_a_computed_name_is_known(tmp_path: Path) -> None:
    put(tmp_path, "", MANY)
    (tmp_path / "orders.test.yaml").unlink()
    done = run_tests(tmp_path, "--generate", "orders.yaml", "-o", "orders.test.yaml")
    assert done.returncode == 0, done.stdout + done.stderr
    text = (tmp_path / "orders.test.yaml").read_text()
    assert text.count("name: go}") == 3 and "name: n1" in text and "steps: [start, last, end_]" in text, text
    again = run_tests(tmp_path)
    assert again.returncode == 0, again.stdout + again.stderr
