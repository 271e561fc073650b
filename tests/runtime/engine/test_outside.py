"""A run comes to the same, and goes the same way, wherever its results lie: in its log or outside of it."""

from typing import Any

import pytest

import reading_playbooks
from harness.running import Ran, compiled, run
from harness.samples import some
from noetl_ir.plan_format import digest_of, read_plan, write_plan

SEEDS = range(600)
SHARE = 60


def outside(data: bytes) -> bytes:
    """The plan by which results lie outside of the log, but for numbers and short texts."""
    plan = read_plan(data)
    children = []
    for child in plan.children:
        own = outside(child.data)
        children.append(child._replace(data=own, digest=digest_of(own)))
    limits = plan.limits._replace(max_payload_bytes=1)
    return write_plan(plan._replace(limits=limits, children=tuple(children)))


def seen(ran: Ran) -> Any:
    """How a run went, and all that it decided and kept; of its children too."""
    rows = []
    for name, program, event in ran.seen:
        step = program.plan.steps[event.step].name if event.step >= 0 else ""
        data = {
            key: event.data.get(key) for key in ("status", "directive", "arcs", "args", "ctx", "items", "iter", "call")
        }
        rows.append((name == "e1", event.event_type, step, event.run, data, str(event.data.get("error"))))
    return ran.status, rows, ran.execution.ctx


@pytest.mark.parametrize("first", some(range(SEEDS.start, SEEDS.stop, SHARE)))
def test_where_a_result_lies_decides_nothing(first: int) -> None:
    lay_outside = 0
    for seed in range(first, first + SHARE):
        data = compiled(reading_playbooks.playbook_of(seed))
        inside, other = run(data, reading_playbooks.SCRIPT), run(outside(data), reading_playbooks.SCRIPT)
        assert seen(inside) == seen(other), f"seed {seed}"
        lay_outside += any("__ref__" in str(event.data.get("result")) for event in other.log)
    assert lay_outside > SHARE // 2


BROUGHT = """
workload: {x: {__ref__: true, projected: {seen: 1}, entries: [1], levels: 1, seen: 2}}
workflow:
  - step: start
    tool: {kind: noop}
    next: {arcs: [{step: more, args: {result: "{{ workload.x }}"}}]}
  - step: more
    tool: {kind: noop}
    spec: {policy: {admit: {rules: [{when: "{{ args.result.seen == 2 }}", then: {allow: true}}]}}}
    next: {arcs: [{step: right, when: "{{ args.result.seen == 2 }}"}, {step: wrong}]}
  - {step: right, tool: {kind: noop}}
  - {step: wrong, tool: {kind: noop}}
"""


def test_args_that_only_look_like_a_reference_stand_for_themselves() -> None:
    """Steps behind main alone are told of results under `args.result`; elsewhere it is what an author put there."""
    ran = run(BROUGHT)
    assert [ran.program.plan.steps[event.step].name for event in ran.of("task.started")] == ["start", "more", "right"]
