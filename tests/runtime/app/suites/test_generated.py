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
