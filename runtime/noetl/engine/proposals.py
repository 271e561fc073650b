"""The form of a worker's report before any of it is believed: its id, its times, and the shape of its data.

Whether the run stands where it says is for `reports`, whether the net allows what it says for the marking. A report
that passes here can be recorded, folded, and replayed; another one is refused as one that came too late is.
"""

from collections.abc import Mapping

from noetl_ir.events import Event
from noetl_ir.expr import Json

LATEST = 1 << 62
"""Microseconds; a time behind that is none, and no arithmetic with durations leads out of what is stored."""

_NO_PATCH: Json = {}
_LETTERS = {"task.started": "s", "task.done": "dr", "retry.started": "r"}


def ids_of(report: Event) -> tuple[str, ...]:
    """The ids that a report may have: a retry that the server makes a fault keeps the one it came with."""
    _, event_type, _, _, run, task, visit, attempt, claim, _, _ = report
    name = f"{run}:{task}:{visit}:{attempt}:{claim}:"
    return tuple([name + letter for letter in _LETTERS[event_type]])


def is_well_formed(report: Event) -> bool:
    """Whether the report has the form of one: of `task.started`, `task.done` or `retry.started`."""
    if report.event_type not in _LETTERS or report.event_id not in ids_of(report) or not _is_time(report.ts):
        return False
    data = report.data
    if not isinstance(data, dict):
        return False
    if report.event_type == "task.started":
        return isinstance(data.get("origin", ""), str) and ("call" not in data or _is_call(data))
    if report.event_type == "retry.started":
        return _is_outcome(data) and data.get("directive") == "retry" and _is_time(data.get("due"))
    return _is_outcome(data) and _is_end(data)


def _is_call(data: Mapping[str, Json]) -> bool:
    call, timers = data["call"], data.get("timers")
    if not isinstance(call, dict) or not _is_time(data.get("due", 0)):
        return False
    names = call.get("events")
    if not (names is None or isinstance(names, str) or _is_texts(names)):
        return False
    return timers is None or (isinstance(timers, dict) and all(map(_is_time, timers.values())))


def _is_outcome(data: Mapping[str, Json]) -> bool:
    outcome = data.get("outcome")
    if not isinstance(outcome, dict) or data.get("status") not in ("ok", "error"):
        return False
    return isinstance(data.get("iter", _NO_PATCH), dict) and isinstance(data.get("ctx", _NO_PATCH), dict)


def _is_end(data: Mapping[str, Json]) -> bool:
    if not _is_time(data.get("due", 0)):
        return False
    match data.get("directive"):
        case "fail" | "fault":
            return isinstance(data.get("error"), dict)
        case "jump":
            return type(data.get("to")) is int
        case "continue" | "break":
            return True
    return False


def _is_time(value: Json) -> bool:
    return type(value) is int and 0 <= value < LATEST


def _is_texts(value: Json) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)
