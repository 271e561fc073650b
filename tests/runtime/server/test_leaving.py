"""Children that were called off, where their caller stops and goes on: it waits for their phases (EXTENSIONS §1)."""

import pytest

from harness.running import HEAD, compiled
from noetl.app.composition import driver_of
from noetl.app.runtime import Runtime, Settings, open_runtime
from noetl.engine.execution import Execution
from noetl.engine.program import Program
from noetl.engine.starting import Request
from noetl.server.bulkhead import Watchers
from noetl.server.execution import Ask
from noetl.worker.scripted import read_script
from noetl_ir.events import Event

CALLS = (
    """
executor: {spec: {finally: last}}
workflow:
  - {step: start, tool: {kind: playbook, path: t/c, spec: {timeout: 2}}}
  - {step: last}
---
"""
    + HEAD.replace("t/t", "t/c")
    + """
executor: {spec: {entry_step: long, finally: its}}
workflow:
  - {step: long, tool: {kind: http, url: "http://x"}}
  - {step: its, tool: [{name: a, kind: http, url: "http://x"}, {name: b, kind: http, url: "http://x"}]}
"""
)
SCRIPT = read_script({"outcomes": [{"step": "long", "takes": 50, "outcome": {}}, {"takes": 3, "outcome": {}}]})


def _no_compiler(path: object) -> tuple[bytes, dict[str, bytes]]:
    raise AssertionError(path)


def ends(runtime: Runtime) -> dict[str, int]:
    """When each execution was over, and when the caller heard that its child is, in seconds."""
    rows = runtime.store.executions()
    found = {row.execution_id: [event for _, event in runtime.events(row.execution_id)] for row in rows}
    told = {"told": next(event.ts for event in found["e1"] if event.event_type == "child.ended") // 1_000_000}
    return {name[:2]: log[-1].ts // 1_000_000 for name, log in found.items()} | told


@pytest.mark.parametrize("until", ["phase.ended", "phase.started", "task.done"])
def test_a_caller_that_goes_on_waits_for_the_phases_of_a_child_that_it_called_off(until: str) -> None:
    with open_runtime("memory:///x", Settings(script=SCRIPT), _no_compiler) as runtime:
        program = runtime.programs.add_plan(compiled(CALLS))

        def observe(execution: Execution, plan: Program, event: Event) -> None:
            # The child begins its `finally` at 2 s, does the first task of it until 5 s, and the second until 8 s.
            of_caller = until == "phase.ended"
            if event.event_type == until and (execution.execution_id == "e1") is of_caller:
                driver.embedded.interrupt()

        with driver_of(runtime, "e1", observe) as driver:
            assert driver.embedded.start(program, "e1", Request({}, scripted=True)) == "interrupted"
        with driver_of(runtime, "e1", lambda *_: None) as driver:
            assert driver.embedded.resume(program, "e1") == "failed"
        [child] = [row.execution_id for row in runtime.store.executions() if row.execution_id != "e1"]
        found = ends(runtime)
        assert found["told"] == found[child[:2]] >= 8
        assert found["e1"] == found["told"] + 3


def test_a_pause_holds_a_child_that_was_called_off_and_its_end_lets_it_go_on() -> None:
    with open_runtime("memory:///x", Settings(script=SCRIPT), _no_compiler) as runtime:
        program = runtime.programs.add_plan(compiled(CALLS))
        with driver_of(runtime, "e1", lambda execution, plan, event: None) as driver:
            control = driver.control

            def observe(execution: Execution, plan: Program, event: Event) -> None:
                if event.event_type == "phase.started" and execution.execution_id != "e1":
                    control.ask("e1", Ask("pause"))

            control._watchers = Watchers(observe, lambda line: None)
            assert driver.embedded.start(program, "e1", Request({}, scripted=True)) == "paused"
        [child] = [row for row in runtime.store.executions() if row.execution_id != "e1"]
        assert child.status == "paused"
        with driver_of(runtime, "e1", lambda *_: None) as driver:
            assert driver.embedded.resume(program, "e1") == "failed"
        assert {row.status for row in runtime.store.executions()} == {"failed", "cancelled"}
