"""Looking at executions without owning them: their programs, logs, folds and results."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import TypeAlias

from noetl.app.runtime import Runtime
from noetl.engine.evolve import evolve
from noetl.engine.execution import Execution
from noetl.engine.marking import IllegalFiring
from noetl.engine.program import Missing, Program
from noetl.ports import ExecutionRow
from noetl.server.children import NotFound, root_of
from noetl_ir.codec import CodecError
from noetl_ir.events import Event
from noetl_ir.expr import Json
from noetl_ir.nearest import nearest
from noetl_ir.outcome import is_reference
from noetl_ir.projections import told, told_value
from noetl_ir.records import NamedTuple


class UnreadableExecution(Exception):
    """A snapshot that cannot be had. The text says why."""


class Snapshot(NamedTuple):
    """An execution as its log tells it: its row, its program, and the fold."""

    row: ExecutionRow
    program: Program
    execution: Execution


Attend: TypeAlias = Callable[[Execution, Program, Event], None]


def _unheeded(execution: Execution, program: Program, event: Event) -> None:
    """The `attend` of callers that need only the state."""


def snapshot_of(runtime: Runtime, row: ExecutionRow, attend: Attend = _unheeded) -> Snapshot:
    """Fold the log of an execution. `attend` sees every event once it is folded in. Raises UnreadableExecution."""
    program = program_of(runtime, row.execution_id)
    execution = Execution(row.execution_id, program)
    catch_up(runtime, program, execution, attend)
    return Snapshot(row, program, execution)


def snapshot_until(runtime: Runtime, row: ExecutionRow, position: int, attend: Attend = _unheeded) -> Snapshot:
    """The execution as it stood behind the event at a position, at most the last. Raises UnreadableExecution."""
    program = program_of(runtime, row.execution_id)
    execution = Execution(row.execution_id, program)
    fold(program, execution, islice(events_of(runtime, row.execution_id), position), attend)
    return Snapshot(row, program, execution)


def catch_up(runtime: Runtime, program: Program, execution: Execution, attend: Attend = _unheeded) -> None:
    """Fold what the log has behind the position of `execution` into it. Raises UnreadableExecution."""
    fold(program, execution, events_of(runtime, execution.execution_id, execution.position), attend)
    check_plan(program, execution)


def check_plan(program: Program, execution: Execution) -> None:
    """Raises UnreadableExecution for an execution that moved to another plan while its log was read."""
    if execution.plan_digest not in ("", program.digest):
        raise UnreadableExecution(f"{execution.execution_id} has moved to another plan just now: look again")


def fold(
    program: Program, execution: Execution, events: Iterable[tuple[int, Event]], attend: Attend = _unheeded
) -> None:
    """Fold events into `execution`. Raises UnreadableExecution."""
    for _, event in events:
        try:
            evolve(program, execution, event)
        except (IllegalFiring, Missing) as problem:
            where = f"event {execution.position + 1} of {execution.execution_id}"
            raise UnreadableExecution(f"{where} is not possible in a run of the plan: {problem}") from None
        attend(execution, program, event)


def program_of(runtime: Runtime, execution_id: str) -> Program:
    """The program that an execution runs. Raises UnreadableExecution."""
    try:
        return runtime.program_of(execution_id)
    except (NotFound, LookupError) as problem:
        raise UnreadableExecution(str(problem)) from None


def events_of(runtime: Runtime, execution_id: str, after: int = 0) -> Iterator[tuple[int, Event]]:
    """The log of an execution with positions, behind position `after`. Raises UnreadableExecution."""
    log = runtime.events(execution_id, after)
    position = after
    while True:
        try:
            entry = next(log, None)
        except (CodecError, KeyError) as problem:
            raise UnreadableExecution(f"event {position + 1} of {execution_id} cannot be read: {problem}") from None
        if entry is None:
            return
        position = entry[0]
        yield entry


def is_driven(runtime: Runtime, row: ExecutionRow) -> bool:
    """Whether a process drives the execution at this moment."""
    return row.ended is None and runtime.store.is_owned(root_of(runtime.store, row))


def result_of(runtime: Runtime, row: ExecutionRow, step: str | None, position: int | None = None) -> Json:
    """The result of an execution, or the latest success of a step; what lies outside the log is fetched. With a
    position, as it was behind the event there.

    Raises UnreadableExecution where there is no result.
    """
    snapshot, value = _latest(runtime, row, step, position)
    return fetched(runtime, snapshot, value)


def _latest(runtime: Runtime, row: ExecutionRow, step: str | None, position: int | None) -> tuple[Snapshot, object]:
    """The result as the log has it, and the execution folded."""
    latest: list[object] = []

    def attend(execution: Execution, program: Program, event: Event) -> None:
        """Results that no expression reads are not kept: take each as it is made."""
        over = event.event_type in ("step.done", "loop.done") and not event.data.get("level")
        if over and program.plan.steps[event.step].name == step:
            latest[:] = [execution.runs[event.run].result]

    last = position is None
    snapshot = snapshot_of(runtime, row, attend) if last else snapshot_until(runtime, row, int(position or 0), attend)
    if step is not None:
        check_step(snapshot.program, step)
    if step is None and snapshot.execution.status != "completed":
        status = "not over" if not snapshot.execution.is_over else snapshot.execution.status
        raise UnreadableExecution(f"the execution is {status} and has no result; name a step for what that came to")
    if step is None:
        if not snapshot.execution.has_result:
            raise UnreadableExecution("no step has succeeded")
        return snapshot, snapshot.execution.last_result
    if not latest:
        raise UnreadableExecution(f"step `{step}` has not succeeded")
    return snapshot, latest[0]


def check_step(program: Program, step: str) -> None:
    """Raises UnreadableExecution for a step that a playbook does not have."""
    if step not in program.step_numbers:
        near = nearest(step, program.step_numbers)
        meant = f"; did you mean `{near}`?" if near else ""
        raise UnreadableExecution(f"the playbook has no step `{step}`{meant}")


def fetched(runtime: Runtime, snapshot: Snapshot, result: object) -> Json:
    """The value of a result: itself outside of the log, or of a loop entries of it."""
    value = told(result)
    if not isinstance(value, dict) or not is_reference(value):
        return value
    from noetl.worker.results import Results
    from noetl_ir.evaluate import Fault

    # Nothing is redacted here: what lies in the store was redacted before it was stored.
    results = Results(snapshot.program.plan, snapshot.row.execution_id, runtime.blobs, lambda inner: inner)
    try:
        return told_value(value, results.own_value)
    except Fault as fault:
        raise UnreadableExecution(fault.message) from None
