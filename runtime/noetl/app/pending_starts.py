"""Starts that are not finished: their executions stay, as nothing else says that they were made, or what they were for.

A server may die between a start and the step of its schedule, or of its trigger, behind it.
"""

from noetl.app.runtime import Runtime
from noetl.ports import ExecutionRow, StoreFailure
from noetl.ports.schedules import Scheduled
from noetl.ports.triggers import Triggered
from noetl.server.schedules.times import BadTimes, time_of
from noetl_ir.codec import CodecError
from noetl_ir.expr import Json


def pending_start(runtime: Runtime, row: ExecutionRow) -> str:
    """Why an execution has to stay for what started it, or for what it is to start, in words; empty where it may go.
    Raises StoreFailure.
    """
    started_by = _started_by(runtime, row)
    is_asked = started_by.get("backfill") or started_by.get("asked")
    if "schedule" in started_by and not is_asked:
        return _pending_schedule(runtime, str(started_by["schedule"]), str(started_by.get("time")))
    store = runtime.store
    if not isinstance(store, Triggered):
        return ""
    for end in store.triggering.awaited_ends(1, execution_id=row.execution_id):
        return f"the trigger {end.trigger} has not dealt with its end yet"
    trigger, before = started_by.get("trigger"), started_by.get("execution")
    if isinstance(trigger, str) and isinstance(before, str) and store.triggering.awaited_ends(1, trigger, before):
        return f"the trigger {trigger} has not moved on behind it yet"
    return ""


def _pending_schedule(runtime: Runtime, name: str, time: str) -> str:
    store = runtime.store
    try:
        found = store.scheduling.rows(name) if isinstance(store, Scheduled) else ()
        is_pending = bool(found) and time_of(time) > found[0].cursor
    except BadTimes:
        return ""
    return f"the schedule {name} has not moved on behind it yet" if is_pending else ""


def _started_by(runtime: Runtime, row: ExecutionRow) -> dict[str, Json]:
    try:
        _, first = next(runtime.events(row.execution_id))
    except (StopIteration, CodecError, KeyError, StoreFailure):  # whoever archives it says so
        return {}
    found = first.data.get("started_by")
    return found if isinstance(found, dict) else {}
