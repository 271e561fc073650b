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


def test_line_ends_and_tabs_are_written_as_people_write_them() -> None:
    assert flow('a\tb\r\nsaid "c\\d"\n') == r'"a\tb\r\nsaid \"c\\d\"\n"'
    assert flow("\x07") == r'"\U00000007"'


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
    # By hand: all of it; neither wait can fail.
    assert left_of(text) == [], text
    assert "name: accept, data: {amount: 11}" in text and "key: order 7" in text and "name: paid" in text
    # A payment that ships, one whose shipment fails, a refusal, and a stop: no two of these are one run.
    assert "4 cases" in done.stderr, done.stderr + text
    again = run_tests(tmp_path, "--coverage")
    assert again.returncode == 0, again.stdout + again.stderr


def test_of_a_wait_that_fails_by_its_key_it_is_said_why_no_script_makes_it(tmp_path: Path) -> None:
    keyed = WAITS.replace("{big: false}", "{big: false, order: order 7}").replace('"order 7"', '"{{ workload.order }}"')
    put(tmp_path, "", keyed)
    (tmp_path / "orders.test.yaml").unlink()
    done = run_tests(tmp_path, "--generate", "orders.yaml", "-o", "orders.test.yaml")
    assert done.returncode == 0, done.stdout + done.stderr
    text = (tmp_path / "orders.test.yaml").read_text()
    why = "# Not reached, as no signal and no outcome of a script makes an error of it"
    assert left_of(text) == [f"{why}: 16:11 pay / ask: error"], text


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


def made(folder: Path, text: str, *more: str) -> tuple[str, str]:
    """The file that is made for a playbook, which passes as it is, and the line that tells how much it reaches."""
    put(folder, "", text)
    (folder / "orders.test.yaml").unlink()
    done = run_tests(folder, "--generate", "orders.yaml", "-o", "orders.test.yaml", *more)
    assert done.returncode == 0, done.stdout + done.stderr
    again = run_tests(folder, *more)
    assert again.returncode == 0, again.stdout + again.stderr
    return (folder / "orders.test.yaml").read_text(), done.stderr


def left_of(text: str) -> list[str]:
    """The lines of a made file that tell what is not reached."""
    lines = [line for line in text.splitlines() if line.startswith("# ")]
    return lines[1:]


BOUNDARY = """
workflow:
  - step: start
    tool: {name: ask, kind: http, url: "https://example.org/", timeout: 3h}
    spec: {policy: {interrupt: {events: [stop], timers: {late: 1h}}}}
    next:
      arcs:
        - step: halted
          when: "{{ event.name == 'step.failed' and event.error.event.name == 'stop' }}"
        - step: late
          when: "{{ event.name == 'step.failed' and event.error.event.name == 'late' }}"
        - {step: good, when: "{{ event.name == 'step.done' }}"}
  - {step: halted, tool: {kind: noop}}
  - {step: late, tool: {kind: noop}}
  - {step: good, tool: {kind: noop}}
"""


def test_a_step_is_interrupted_by_its_signal_and_by_its_timer(tmp_path: Path) -> None:
    text, told = made(tmp_path, BOUNDARY)
    # By hand: 4 steps, 3 arcs and that each is not taken, the two ends of the call, one of each `noop`, an interrupt.
    assert "16 of 16 parts" in told and not left_of(text), text
    assert "name: stop}" in text and "takes: 3601" in text, text


GROWING = """
workflow:
  - step: start
    loop: {iterator: one, spec: {mode: parallel, more: {events: [found]}, close: {events: [last]}}}
    tool: {name: check, kind: http, url: "https://example.org/{{ one.id }}"}
    next: {arcs: [{step: rest, args: {ids: "{{ start | length }}"}}]}
  - step: rest
    loop: {in: [1, 2, 3], iterator: one, spec: {mode: parallel, complete: {events: [enough], timers: {late: 2h}}}}
    tool: {name: check, kind: http, url: "https://example.org/{{ one }}"}
    next: {arcs: [{step: good}]}
  - {step: good, tool: {kind: noop}}
"""


def test_loops_are_brought_items_and_closed_and_ended_from_outside(tmp_path: Path) -> None:
    text, told = made(tmp_path, GROWING)
    # By hand: 3 steps, 2 arcs, two loops with items, an item, an end, two ends of each call, one of a `noop`.
    assert "14 of 14 parts" in told and not left_of(text), text
    # A template reads the `id` of an item, so that the signal brings one.
    assert "name: found, data: {id: a}}" in text and "name: last}" in text, text
    assert (
        "branch the loop of start is brought an item" in text and "branch the loop of rest ends with items left" in text
    )
    assert "steps: [start, rest, good]" in text, told


SEVERAL = """
workflow:
  - step: start
    loop: {in: [1, 2, 3], iterator: one, spec: {mode: parallel, policy: {enough: 2, rest: cancel}}}
    tool: {name: ask, kind: http, url: "https://example.org/{{ one }}"}
    next:
      arcs:
        - {step: good, when: "{{ event.name == 'loop.done' }}"}
        - {step: few, when: "{{ event.name == 'step.failed' }}"}
  - {step: good, tool: {kind: noop}}
  - {step: few, tool: {kind: noop}}
"""


def test_a_loop_has_enough_and_has_not(tmp_path: Path) -> None:
    text, told = made(tmp_path, SEVERAL)
    # Three items are three, whatever comes.
    assert left_of(text) == ["# No data were found for: 10:9 the loop of start without items"] or not left_of(text), (
        text
    )
    assert "steps: [start, good]" in text and "steps: [start, few]" in text, told


CALLS = """
workflow:
  - step: start
    tool: {name: sub, kind: playbook, path: shops/child}
    next:
      arcs:
        - {step: many, when: "{{ event.name == 'step.done' and event.result.count > 100 }}"}
        - {step: few, when: "{{ event.name == 'step.done' }}"}
        - {step: bad, when: "{{ event.name == 'step.failed' }}"}
  - {step: many, tool: {kind: noop}}
  - {step: few, tool: {kind: noop}}
  - {step: bad, tool: {kind: noop}}
"""

CHILD = """
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: child, path: shops/child}
workflow:
  - step: start
    tool: {name: paid, kind: wait, events: [paid], correlation: "order 7"}
    next: {arcs: [{step: count}]}
  - step: count
    tool: {name: ask, kind: python, code: "result = {'count': 1}"}
"""


def test_what_a_child_comes_to_decides_in_its_caller(tmp_path: Path) -> None:
    """A value of its result, its failure, and a signal under a key to a wait of it."""
    (tmp_path / "shops").mkdir()
    (tmp_path / "shops" / "child.yaml").write_text(CHILD)
    text, told = made(tmp_path, CALLS, "--path", str(tmp_path))
    assert not left_of(text), text
    assert "result: {count: 101}" in text and "key: order 7" in text, told


def test_parts_that_are_not_reached_have_a_reason(tmp_path: Path) -> None:
    text, _ = made(tmp_path, CALLS)
    first, *rest = left_of(text)
    assert first.startswith("# Not reached, as no child playbook is compiled in"), text
    assert "start / sub: ok" in first and any("as no run came to the step" in line for line in rest), text


INPUTS = """
executor:
  spec:
    inputs:
      day: {type: string, format: date, required: true}
      sizes: {type: array, required: true, minItems: 2, items: {type: integer, minimum: 3}}
workflow:
  - step: start
    tool: {name: ask, kind: http, url: "https://example.org/{{ workload.day }}"}
"""


def test_inputs_that_are_required_are_brought(tmp_path: Path) -> None:
    text, told = made(tmp_path, INPUTS)
    assert "3 of 3 parts" in told and 'payload: {day: "2026-01-31", sizes: [3, 3]}' in text, text


MESSAGES = """
workflow:
  - step: start
    tool:
      name: ask
      kind: http
      url: "https://example.org"
      spec:
        policy:
          rules:
            - when: "{{ outcome.error.message and outcome.http.status > 500 }}"
              then: {do: retry, attempts: 2}
            - when: "{{ outcome.http.headers.retry }}"
              then: {do: break}
            - when: "{{ outcome.status == 'error' }}"
              then: {do: fail}
            - else: {then: {do: continue}}
    next: {arcs: [{step: ask, when: "{{ event.error.message }}"}, {step: sum}]}
  - step: ask
    tool: {kind: postgres, auth: pg, query: SELECT 1}
    next: {arcs: [{step: run, when: "{{ ask.rows }}"}, {step: run}]}
  - step: run
    tool: {kind: shell, command: ls}
    next: {arcs: [{step: sum, when: "{{ run.stdout and run.exit_code == 0 }}"}]}
  - step: sum
    tool: {kind: noop}
"""
"""Guards that a truth value would satisfy wherever a text, a number, a mapping or rows stand."""


def test_outcomes_have_the_shapes_that_tools_give(tmp_path: Path) -> None:
    put(tmp_path, "", MESSAGES)
    (tmp_path / "orders.test.yaml").unlink()
    done = run_tests(tmp_path, "--generate", "orders.yaml", "-o", "orders.test.yaml")
    assert done.returncode == 0, done.stdout + done.stderr
    document = value_of(read_yaml("t", (tmp_path / "orders.test.yaml").read_bytes()).documents[0])  # type: ignore[arg-type]
    found: list[tuple[str, object]] = []
    waiting: list[object] = [document["cases"]]  # type: ignore[index, call-overload]
    while waiting:
        here = waiting.pop()
        for key, value in here.items() if isinstance(here, dict) else enumerate(here) if isinstance(here, list) else ():
            found.append((str(key), value))
            waiting.append(value)
    # By hand, from the contracts of the kinds.
    kinds = {"message": str, "code": str, "stdout": str, "stderr": str, "headers": dict, "exit_code": int, "rows": list}
    wrong = [(key, value) for key, value in found if key in kinds and type(value) is not kinds[key]]
    assert not wrong
    assert all(type(value) is int and 100 <= value <= 599 for key, value in found if key == "status" and value not in
               ("ok", "error", "completed", "failed", "blocked"))  # fmt: skip
    assert all(isinstance(row, dict) for key, value in found if key == "rows" for row in value)  # type: ignore[attr-defined]
    assert {key for key, _ in found} >= {"message", "status", "rows"}
