"""Reruns of runs that `harness.running` made, driven to their end and checked as any run."""

from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

from harness.invariants import check
from harness.running import MEMORY, Ran, _no_compiler, _read, _recording, compiled
from noetl.app.composition import driver_of
from noetl.app.runtime import Settings, open_runtime
from noetl.engine.execution import Execution
from noetl.engine.program import Program
from noetl.engine.rerun_source import RerunSource
from noetl.engine.reruns import Rerun, RerunRequest, payload_of, rerun_of
from noetl.ports import ExecutionRow
from noetl_ir.events import Event, write_event
from noetl_ir.plan_format import digest_of, read_plan

LATER = 3_600_000_000
"""Microseconds between the end of an execution and its rerun."""


class Again(NamedTuple):
    """A rerun, and the run that came of it; None where something hinders."""

    rerun: Rerun
    ran: Ran | None

    def codes(self) -> list[str]:
        """The codes of what hinders."""
        return [one.code for one in self.rerun.hindrances]

    def kept(self) -> dict[str, int]:
        """How many runs of tasks are kept, by step."""
        found: dict[str, int] = {}
        for row in self.rerun.kept:
            found[row.step] = found.get(row.step, 0) + row.runs
        return found

    def again(self) -> set[str]:
        """The steps of which something runs again."""
        return {row.step for row in self.rerun.again}

    def done(self) -> Ran:
        """The run; fails where something hinders."""
        assert self.ran is not None, self.rerun.hindrances
        return self.ran


def planned(
    ran: Ran,
    *,
    of: str = "e1",
    step: str = "",
    number: int = 1,
    text: str = "",
    payload: Mapping[str, Any] | None = None,
    linear: bool = False,
    accepted: Collection[str] = (),
) -> tuple[Rerun, Program]:
    """A rerun of the run `of`, as the one of the next number, and its program."""
    source = RerunSource(ran.program, of, ran.log)
    cut = source.cut_before(ran.program.step_numbers[step], number) if step else source.failed_cut()
    assert cut is not None
    data = compiled(text) if text else b""
    program = Program(read_plan(data), digest_of(data), data) if data else ran.program
    values = {**payload_of(source), **(payload or {})}
    name = f"e{int(of[1:]) + 1}"
    asked = RerunRequest(program, name, values, cut, None, linear, accepted, named=step)
    return rerun_of(source, asked, ran.log[-1].ts + LATER), program


def rerun(ran: Ran, script: str | dict[str, Any] = "", **asked: Any) -> Again:
    """Rerun a run and drive it to its end by a script."""
    made, program = planned(ran, **asked)
    if made.hindrances:
        return Again(made, None)
    return Again(made, driven(program, made.events, script, made.execution.execution_id))


def driven(program: Program, events: Collection[Event], script: str | dict[str, Any] = "", name: str = "e2") -> Ran:
    """Drive an execution whose log begins with these events."""
    seen: list[tuple[str, Program, Event]] = []

    def observe(execution: Execution, of: Program, event: Event) -> None:
        seen.append((execution.execution_id, of, event))

    with open_runtime(MEMORY, Settings(script=_read(script)), _no_compiler) as runtime:
        runtime.programs.add_plan(program.bytes)
        records = [(event.event_id, write_event(event)) for event in events]
        row = ExecutionRow(name, "t/t", program.digest, "running", None, 0, None)
        runtime.store.create(row, records)
        commits: list[int] = []
        _recording(runtime.store, commits, name)
        with driver_of(runtime, name, observe) as driver:
            status = driver.embedded.resume(program, name)
            log = [event for _, event in runtime.events(name)]
            check(program, log, driver.execution)
            faults = [event for event in log if event.event_type == "playbook.faulted"]
            return Ran(status, log, driver.execution, program, seen, commits, faults)
