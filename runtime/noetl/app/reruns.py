"""Reruns of executions in a store: from what was asked to the log that the new execution begins with."""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import partial

from noetl.app.clock import WallClock
from noetl.app.runtime import Runtime
from noetl.app.snapshots import UnreadableExecution, events_of, program_of
from noetl.engine.marking import IllegalFiring
from noetl.engine.program import Missing, Program
from noetl.engine.replay import replay
from noetl.engine.rerun_source import RerunCut, RerunSource
from noetl.engine.reruns import ACCEPTED, Rerun, RerunRequest, TaskRuns, rerun_of
from noetl.engine.task_reads import has_same_keychain
from noetl.host.confined_files import file_name_of
from noetl.ports import Blobs, ExecutionRow
from noetl.ports.idempotency import StartKey
from noetl.server.execution import status_of
from noetl.server.found_by import attributes_of
from noetl.server.journal import Keep, at_once
from noetl.server.stored_events import records_of
from noetl.worker.results import OwnValues
from noetl.worker.texts import has_markers
from noetl_ir import codec
from noetl_ir.events import MAX_BYTES, MAX_ITEMS, Event
from noetl_ir.expr import Json
from noetl_ir.nearest import nearest
from noetl_ir.outcome import is_reference
from noetl_ir.plan import Step
from noetl_ir.projections import PROJECTED, projection
from noetl_ir.records import NamedTuple


class RerunWish(NamedTuple):
    """A wish of somebody: `step` is `STEP` or `STEP:N`, the N-th run of it, empty for where it failed; `payload` that
    of the new one.
    """

    step: str = ""
    payload: dict[str, Json] = {}  # noqa: RUF012  (never written to)
    linear: bool = False
    accepted: Collection[str] = ()


class PlannedRerun(NamedTuple):
    """A rerun that was looked at, of an execution, as another one with an id of its own."""

    of: ExecutionRow
    program: Program
    execution_id: str
    steps: tuple[str, ...]
    rerun: Rerun
    moved: Callable[[Json], Json] | None = None

    def as_json(self) -> dict[str, Json]:
        """One document."""
        return {
            "of": self.of.execution_id,
            "from": [*self.steps],
            "kept": [_row(row) for row in self.rerun.kept],
            "again": [_row(row) for row in self.rerun.again],
            "at": [*self.rerun.at],
            "signals": [*self.rerun.signals],
            "hindrances": [one.as_json() for one in self.rerun.hindrances],
        }


def _row(row: TaskRuns) -> dict[str, Json]:
    return {"step": row.step, "task": row.task, "runs": row.runs, "effects": row.has_effects}


def source_of(runtime: Runtime, row: ExecutionRow) -> RerunSource:
    """The log of an execution, read. Raises UnreadableExecution."""
    program = program_of(runtime, row.execution_id)
    events = [event for _, event in events_of(runtime, row.execution_id)]
    try:
        return RerunSource(program, row.execution_id, events)
    except (IllegalFiring, Missing) as problem:
        raise UnreadableExecution(f"the log of {row.execution_id} is no run of its plan: {problem}") from None


def planned_rerun(
    runtime: Runtime,
    source: RerunSource,
    row: ExecutionRow,
    program: Program,
    wish: RerunWish,
    *,
    has_secrets: bool = True,
) -> PlannedRerun:
    """Look at a rerun; nothing is stored. `has_secrets` says that tasks run here, and so with the key of markers.
    Raises UnreadableExecution where there is no such step or run of it.
    """
    for word in wish.accepted:
        if word not in ACCEPTED:
            raise UnreadableExecution(
                f"`{word}` cannot be accepted: {' and '.join(f'`{one}`' for one in ACCEPTED)} can"
            )
    cut = _cut(source, wish.step)
    execution_id = runtime.new_execution_id()
    env = runtime.settings.environment.variables_for(program)
    # A secret goes over as its name: it has to mean the same credential.
    moves = has_secrets and has_same_keychain(source.program.plan, program.plan)
    moved = _mover(runtime, row.execution_id, execution_id) if moves else None
    named = cut.steps[0] if wish.step else ""
    project = partial(_projected, OwnValues(row.execution_id, runtime.blobs))
    asked = RerunRequest(
        program, execution_id, wish.payload, cut, env, wish.linear, wish.accepted, moved, named, project
    )
    # The times of a script are those of its log, and nobody waits for them.
    now = source.execution.now if source.execution.scripted else WallClock().now()
    return PlannedRerun(row, program, execution_id, cut.steps, rerun_of(source, asked, now), moved)


def _mover(runtime: Runtime, old: str, new: str) -> Callable[[Json], Json]:
    """Makes the markers of one execution those of another one. Raises UnreadableExecution where there is no key."""

    def moved(value: Json) -> Json:
        if not has_markers(value):
            return value
        from noetl.secrets.keys import KeyProblem, execution_key, master_key, shared_key
        from noetl.worker.redaction import Redactor

        try:
            master = master_key(f"{runtime.secrets_path}.key")
        except KeyProblem as problem:
            raise UnreadableExecution(f"what it came to holds a secret, which cannot go over: {problem}") from None
        one, other = [Redactor(execution_key(master, name), _closed, shared_key(master)) for name in (old, new)]
        return one.moved(value, other)

    return moved


def _closed(entry: str, field: str) -> Json:
    raise KeyError(f"{entry}.{field} is not opened here")


def _projected(values: OwnValues, step: Step, reference: dict[str, Json]) -> dict[str, Json]:
    """A reference with what the server reads of its value under another plan. Raises UnreadableExecution."""
    try:
        value = values.value(reference)
    except KeyError as problem:
        raise _gone(problem) from None
    return {**reference, PROJECTED: projection(step, value)[0]}


def _gone(problem: KeyError) -> UnreadableExecution:
    return UnreadableExecution(f"a value of it is gone: {problem.args[0]}")


def begin_rerun(runtime: Runtime, planned: PlannedRerun, key: StartKey | None) -> None:
    """Put a rerun that nothing hinders into the store, whole, for whoever goes on with it. Raises Taken."""
    keep, plan = runtime.keep, planned.program.plan
    events = own_values(runtime.blobs, planned, keep)
    put = partial(runtime.blobs.put, planned.execution_id)
    wrong = replay(planned.program, planned.execution_id, events).wrong
    if wrong is not None:  # a reference stands in a text, as the old one had it
        raise UnreadableExecution(f"no legal log came of it (event {wrong[0]}: {wrong[1]}): start it anew")
    records = records_of(events, plan.limits.max_payload_bytes, lambda data: keep(lambda: put(data)))
    status, began = status_of(planned.rerun.execution), WallClock().now()
    name, old = plan.path or plan.name, planned.of.execution_id
    row = ExecutionRow(planned.execution_id, name, planned.program.digest, status, None, began, None, old)
    found_by = attributes_of(planned.program, planned.rerun.execution)
    keep(lambda: runtime.store.create(row, records, key=key, attributes=found_by))


def _cut(source: RerunSource, asked: str) -> RerunCut:
    """The cut that is asked for. Raises UnreadableExecution."""
    if not asked:
        return source.failed_cut()
    name, colon, digits = asked.rpartition(":")
    if not (colon and digits.isascii() and digits.isdecimal() and int(digits)):
        name, digits = asked, "1"
    numbers = source.program.step_numbers
    if name not in numbers:
        near = nearest(name, numbers)
        meant = f"; did you mean `{near}`?" if near else ""
        raise UnreadableExecution(f"the playbook has no step `{name}`{meant}")
    cut = source.cut_before(numbers[name], int(digits))
    if cut is None:
        runs = len(source.scheduled.get(numbers[name], ()))
        ran = f"ran {runs} times" if runs > 1 else "ran once" if runs else "never ran in it"
        raise UnreadableExecution(f"step `{name}` {ran}: there is nothing to begin at")
    return cut


def own_values(blobs: Blobs, planned: PlannedRerun, keep: Keep = at_once) -> tuple[Event, ...]:
    """The events that a rerun begins with. Values outside of the log are stored once more, as its own: nothing of it is
    gone with the old execution. Raises UnreadableExecution, StoreFailure.
    """
    folder = file_name_of(planned.of.execution_id)

    def moved(value: Json) -> Json:
        if isinstance(value, list):
            return [moved(part) for part in value]
        if not isinstance(value, dict):
            return value
        if is_reference(value) and str(value.get("key")).partition("/")[0] == folder:
            return {**value, **_copied(blobs, planned, value, keep)}
        return {key: moved(part) for key, part in value.items()}

    return tuple(event._replace(data=_mapping(moved(event.data))) for event in planned.rerun.events)


def _copied(blobs: Blobs, planned: PlannedRerun, reference: dict[str, Json], keep: Keep) -> dict[str, Json]:
    try:
        data = blobs.get(reference)
    except KeyError as problem:
        raise _gone(problem) from None
    if b"[[secret:" in data:
        if planned.moved is None:
            raise UnreadableExecution("a value of it holds a secret, which no other execution can use")
        data = codec.pack_unsorted(planned.moved(codec.unpack(data, max_bytes=MAX_BYTES, max_items=MAX_ITEMS)))
    made = keep(lambda: blobs.put(planned.execution_id, data))
    return {key: made[key] for key in ("store", "key", "size", "checksum")}


def _mapping(value: Json) -> dict[str, Json]:
    return value if isinstance(value, dict) else {}
