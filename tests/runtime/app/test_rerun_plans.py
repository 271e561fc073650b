"""A rerun on another plan ends as a run of that plan from the start, whatever that reads of results that are kept."""

from typing import Any

import pytest

import reading_playbooks
from harness.running import MEMORY, _no_compiler, _read, compiled
from harness.samples import some
from noetl.app.composition import driver_of
from noetl.app.reruns import RerunWish, begin_rerun, planned_rerun, source_of
from noetl.app.runtime import Runtime, Settings, open_runtime
from noetl.engine.program import Program
from noetl.engine.replay import replay
from noetl.engine.starting import Request
from noetl_ir.plan_format import read_plan, write_plan

SHARE = 40
FAILED = {"outcomes": [{"task": "mid", "outcome": {"error": {"code": "broken"}}}]}
MENDED = {"outcomes": [{"task": "mid", "outcome": {"result": reading_playbooks.VALUE}}]}


def outside(text: str) -> bytes:
    """The plan by which results lie outside of the log."""
    plan = read_plan(compiled(text))
    return write_plan(plan._replace(limits=plan.limits._replace(max_payload_bytes=1)))


def driven(runtime: Runtime, program: Program, name: str, *, rerun: bool = False) -> Any:
    """How an execution ends, what it knows then, and all that the server decided of what it read."""
    with driver_of(runtime, name, lambda *rest: None) as driver:
        go = driver.embedded
        status = go.resume(program, name) if rerun else go.start(program, name, Request({}))
        ctx = dict(driver.execution.ctx)
    log = [event for _, event in runtime.events(name)]
    assert replay(program, name, log).wrong is None
    arcs, steps, rows = program.plan.arcs, program.plan.steps, []
    for event in log:
        chosen: Any = event.data.get("arcs", [])
        taken = [(arcs[row["arc"]].target, row.get("args")) for row in chosen]
        if event.event_type in ("next.selected", "loop.started", "step.failed"):
            rows.append((event.event_type, steps[event.step].name, taken, event.data.get("items")))
    return status, ctx, rows


@pytest.mark.parametrize("first", some(range(0, 10 * SHARE, SHARE)))
def test_a_rerun_on_another_plan_ends_as_a_run_of_it(first: int) -> None:
    for seed in range(first, first + SHARE):
        task = {"name": "mid", "kind": "http", "url": "http://x"}
        old, new = map(outside, reading_playbooks.changed_playbooks(seed, task))
        with open_runtime(MEMORY, Settings(script=_read(FAILED)), _no_compiler) as runtime:
            before, program = runtime.programs.add_plan(old), runtime.programs.add_plan(new)
            assert driven(runtime, before, "e1")[0] == "failed"
            row = runtime.store.execution("e1")
            assert row is not None
            planned = planned_rerun(runtime, source_of(runtime, row), row, program, RerunWish())
            assert planned.rerun.hindrances == ()
            begin_rerun(runtime, planned, None)
            runtime.settings = Settings(script=_read(MENDED))
            again = driven(runtime, program, planned.execution_id, rerun=True)
            assert again == driven(runtime, program, "whole"), f"seed {seed}"
