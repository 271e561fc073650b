"""Starts whose schedule has not moved on yet: their executions stay, as nothing else says that they were made."""

from noetl.app.runtime import Runtime
from noetl.ports import ExecutionRow, StoreFailure
from noetl.ports.schedules import Scheduled
from noetl.server.schedules.times import BadTimes, time_of
from noetl_ir.codec import CodecError


def pending_start(runtime: Runtime, row: ExecutionRow) -> str:
    """Why an execution has to stay for what started it, in words; empty where it may go. Raises StoreFailure."""
    store = runtime.store
    if not isinstance(store, Scheduled):
        return ""
    try:
        _, first = next(runtime.events(row.execution_id))
    except (StopIteration, CodecError, KeyError, StoreFailure):  # whoever archives it says so
        return ""
    started_by = first.data.get("started_by")
    if not isinstance(started_by, dict) or "schedule" not in started_by:
        return ""
    # The server that started it died before its schedule moved on. Without this execution its time would be started
    # again.
    try:
        found = store.scheduling.schedules(str(started_by["schedule"]))
        is_pending = bool(found) and time_of(str(started_by.get("time"))) > found[0].cursor
    except BadTimes:
        return ""
    is_pending = is_pending and not started_by.get("backfill")
    return f"the schedule {started_by['schedule']} has not moved on behind it yet" if is_pending else ""
