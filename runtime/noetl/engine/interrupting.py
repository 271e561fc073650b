"""Runs that are stopped from outside by signals and timers (EXTENSIONS.md §3, `interrupt`).

Law: a signal stops all runs in progress that name it and were admitted before it came, and is then used up; a timer
stops the run that set it. Such a run fails, and no rule is asked. The place in the log decides: a run whose end stands
before the signal is not interrupted, and what a worker reports behind it is refused by its claim.
"""

from collections.abc import Iterator

from noetl.engine.execution import Execution, KeptSignal
from noetl.engine.listening import ListenedNames, Listener, ListenerKind
from noetl.engine.program import Program
from noetl.engine.time_limits import due_times
from noetl.engine.turn import Turn
from noetl_ir.evaluate import Scope
from noetl_ir.events import Firing
from noetl_ir.expr import Json


def due_interrupts(turn: Turn, step: int, scope: Scope) -> dict[str, Json]:
    """When the timers of a run that is admitted now are due, by their names. Raises Fault."""
    row = turn.program.interrupts.get(step)
    if row is None or row.timers < 0:
        return {}
    of = f"`interrupt` of step `{turn.program.plan.steps[step].name}`"
    return due_times(turn, row.timers, scope, code="step.timer", of=of)


def interrupt_by_timer(turn: Turn, key: str, name: str) -> None:
    """A timer has fired that interrupts a run, if that is in progress: after a failure elsewhere it may never begin."""
    if is_in_progress(turn.execution, key):
        _interrupt(turn, key, {"by": "timer", "name": name})


def taken_out(turn: Turn, run: str, role: str) -> tuple[Firing, ...]:
    """The firings that take every pipeline of a run, or of an iteration, out of where it stands: of `expire`, or of
    `interrupt`.
    """
    firings = []
    for key, region in turn.execution.regions.items():
        if (key == run or key.startswith(f"{run}/")) and region.task >= 0 and region.phase != "over":
            number = turn.program.transition(f"{role}_{region.phase}", region.step, region.task)
            firings.append(Firing(number, key, key))
    return tuple(firings)


def is_in_progress(execution: Execution, key: str) -> bool:
    """Whether a run has started and has not ended."""
    run = execution.runs.get(key)
    return run is not None and not run.ended and (key in execution.regions or key in execution.loops)


def _interrupt(turn: Turn, key: str, data: dict[str, Json]) -> None:
    step = turn.execution.runs[key].step
    turn.emit("step.interrupted", step=step, run=key, fired=taken_out(turn, key, "interrupt"), data=data)


def _listening(program: Program, execution: Execution) -> Iterator[Listener]:
    if not program.interrupts:
        return
    for key, run in execution.runs.items():
        row = program.interrupts.get(run.step)
        if row is not None and row.events and is_in_progress(execution, key):
            yield Listener(key, frozenset(row.events), run.ctx_at)


def _names(program: Program) -> ListenedNames:
    events = frozenset(name for row in program.plan.interrupts for name in row.events)
    # What stops a run is nothing to one that begins later, and is not kept for it.
    return ListenedNames(passing=events, misses=bool(events))


def _hear(turn: Turn, listener: Listener, signal: KeptSignal) -> None:
    """All runs that hear it, the oldest first; the last one takes it."""
    keys = [each.key for each in _listening(turn.program, turn.execution) if each.hears(signal)]
    for key in keys:
        data: dict[str, Json] = {"by": "signal", "name": signal.name, "data": signal.data}
        if key != keys[-1]:
            data["also"] = True
        _interrupt(turn, key, data)


INTERRUPTS = ListenerKind(_listening, _names, _hear)
