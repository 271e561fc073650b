"""The parts of a playbook that a run can reach, counted by hand, and data that reach each part."""

import pytest

from harness.running import HEAD
from harness.suites import FETCH
from noetl_ir.plan import Plan
from noetlc.analysis.effort import Budget
from noetlc.pipeline import compile_source
from noetlc.suites.coverage import parts_of
from noetlc.suites.witnesses import witnesses_of

NEVER = """
workflow:
  - step: start
    tool: {name: go, kind: noop}
    next:
      arcs:
        - {step: a, when: "{{ true }}"}
        - {step: b}
  - step: a
    loop: {in: "{{ workload.items }}", iterator: item}
    tool: {name: work, kind: shell, command: "true"}
    next: {arcs: [{step: gate, when: "{{ event.name == 'loop.done' }}"}]}
  - step: b
    tool: {name: other, kind: noop}
  - step: gate
    spec:
      policy:
        admit: {rules: [{when: "{{ workload.open }}", then: {allow: true}}, {else: {then: {allow: false}}}]}
    tool: {name: end_it, kind: fail, code: x, message: y}
"""


def plan_of(text: str) -> Plan:
    compiled = compile_source("t.yaml", (HEAD + text).encode())
    assert compiled.plans, [str(each) for each in compiled.diagnostics]
    return compiled.plans[0]


def test_each_part_that_is_written_and_can_happen_is_one() -> None:
    parts, never = parts_of(plan_of(FETCH))
    assert [(part.kind, part.name, part.open) for part in parts if part.kind != "rule"] == [
        ("step", "start", False),
        ("outcome", "start / fetch: ok", False),
        ("outcome", "start / fetch: error", False),
        ("arc", "start → store", False),
        ("branch", "start → store is not taken", False),
        ("arc", "start → quiet", False),
        ("step", "store", False),
        ("outcome", "store / store_task: ok", False),
        ("outcome", "store / store_task: error", False),
        ("step", "quiet", False),
        ("outcome", "quiet / quiet_task: ok", False),
    ]
    assert [part.name for part in parts if part.kind == "rule"] == [
        "start / fetch: rule 1 (fail)", "start / fetch: rule 2 (retry)", "start / fetch: rule 3 (continue)",
    ]  # fmt: skip
    assert never == 0


@pytest.mark.parametrize(
    ("fields", "fails"),
    [
        ("events: [go]", False),
        ("events: [go], transient: true, timers: {late: 60}", False),
        ("events: [go], spec: {timeout: 5}", True),
        ('events: "{{ workload.names }}"', True),  # no names, for one
        ('events: [go], correlation: "{{ workload.order }}"', True),  # no text
        ('events: [go], timers: {late: "{{ workload.late }}"}', True),
    ],
)
def test_a_wait_fails_where_something_can_be_wrong_with_it(fields: str, fails: bool) -> None:
    parts, _ = parts_of(plan_of(f"workflow: [{{step: start, tool: {{name: w, kind: wait, {fields}}}}}]\n"))
    names = [part.name for part in parts if part.kind == "outcome"]
    assert names == ["start / w: ok", *(["start / w: error"] if fails else [])]


def test_what_can_never_happen_is_no_part_and_is_counted() -> None:
    parts, never = parts_of(plan_of(NEVER))
    names = {(part.kind, part.name) for part in parts}
    assert {
        ("step", "a"), ("step", "gate"), ("arc", "start → a"), ("arc", "a → gate"), ("branch", "gate is not admitted"),
        ("branch", "the loop of a with items"), ("branch", "the loop of a without items"),
        ("outcome", "a / work: error"), ("outcome", "gate / end_it: error"),
    } <= names  # fmt: skip
    # The guard is always true, so that the arc behind it is never asked, and nothing comes to `b`. No `fail` succeeds.
    assert not {
        ("step", "b"), ("arc", "start → b"), ("branch", "start → a is not taken"), ("outcome", "b / other: ok"),
        ("outcome", "gate / end_it: ok"),
    } & names  # fmt: skip
    assert never == 4


def test_without_an_account_all_is_open() -> None:
    parts, never = parts_of(plan_of(FETCH), Budget(work=0, states=1, singly=0))
    assert len(parts) == 14 and never == 0


def test_data_are_found_for_every_part() -> None:
    plan = plan_of(FETCH)
    parts, _ = parts_of(plan)
    cases: dict[str, object] = {}
    for case in witnesses_of(plan, parts):
        cases.setdefault(case.name, case.script["outcomes"])
    # The first of several parts with the same data names the case: a run goes on to an end without a failure if it can.
    assert [*cases] == [
        "start", "start / fetch: error", "start / fetch: rule 2 (retry)", "start → store is not taken",
        "store / store_task: error", "everything goes well",
    ]  # fmt: skip
    gone = {
        "step": "start", "task": "fetch", "run": 1, "visit": 1, "attempt": 1, "takes": 1,
        "outcome": {"status": "error", "http": {"status": 404}},
    }  # fmt: skip
    rest = [{"step": "start", "task": "fetch"}, {"step": "store", "task": "store_task"}]
    assert (cases["start / fetch: error"], cases["everything goes well"]) == ([gone, *rest], rest)


@pytest.mark.parametrize("text", [FETCH, NEVER])
def test_parts_are_the_same_each_time(text: str) -> None:
    assert parts_of(plan_of(text)) == parts_of(plan_of(text))
