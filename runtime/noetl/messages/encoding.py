"""Orders, reports, answers and broadcasts as bytes: what crosses the bus between processes.

A message is a list: the version, the name of the message, its fields in their order. A report is followed by its
events, each as it is stored, with its length in front. Anybody on the bus may have sent a message, so everything is
checked before it becomes an object. A newer version is refused.
"""

import struct
from typing import Any, TypeVar

from noetl_ir import codec
from noetl_ir.events import WORKER_EVENTS, Event, read_event, write_event
from noetl_ir.orders import (
    Answer,
    Broadcast,
    Check,
    Checked,
    ClaimCheck,
    DrainWorker,
    LeaseHeartbeat,
    OpenLane,
    Order,
    Report,
    RunPipeline,
    Said,
    Serving,
    StopPipeline,
    TakenUp,
    WorkerHeartbeat,
)
from noetl_ir.outcome import LoopValue

_T = TypeVar("_T")

VERSION = 7
MAX_BYTES = 64 << 20
MAX_EVENTS = 10_000
MOST_LEVELS = 100
"""Limits of one message."""

_LENGTH = struct.Struct(">I")
_RUN = (
    ("execution_id", str), ("step", int), ("run", str), ("task", int), ("visit", int), ("attempt", int),
    ("claim", int), ("args", dict), ("ctx", dict), ("iter", dict), ("workload", dict), ("results", dict),
    ("task_results", dict), ("prev", None), ("tasks_run", int), ("visits", list), ("began", int),
    ("outcome", dict), ("lost", bool), ("ordinal", int), ("trace_id", str), ("digest", str),
    ("folder", str), ("mac", str), ("origins", list),
)  # fmt: skip
_STOP = (("execution_id", str), ("run", str), ("claim", int), ("mac", str))
_DRAIN = (("worker", str),)
_CLAIM_CHECK = (("execution_id", str), ("reference", dict))
_LEASE_HEARTBEAT = (("execution_id", str), ("run", str), ("claim", int), ("sender", str), ("mac", str))
_WORKER_HEARTBEAT = (
    ("worker", str),
    ("pool", str),
    ("slots", int),
    ("busy", int),
    ("draining", bool),
    ("trouble", str),
)
_SERVING = (("url", str),)
_OPEN_LANE = (("pool", str), ("namespace", str))
_TAKEN_UP = (("execution_id", str), ("server", str))
_CHECK = (("execution_id", str), ("pools", list), ("digest", str), ("workload", dict))
_CHECKED = (("execution_id", str), ("worker", str), ("pool", str), ("problems", list))
_REPORT = (("execution_id", str), ("run", str), ("claim", int), ("sender", str), ("mac", str), ("count", int))
_ANSWER = (("recorded", int),)
_BROADCASTS: dict[type[Broadcast], str] = {
    WorkerHeartbeat: "heartbeat", Serving: "serving", TakenUp: "taken up", Check: "check", Checked: "checked",
    OpenLane: "open lane",
}  # fmt: skip
# By name and not by a mark in the tables: of all fields of all messages one may be null.
_OPTIONAL = frozenset({"outcome"})


class UnreadableMessage(Exception):
    """Bytes that are no message, or one of a newer version; the text says what is wrong."""


def write_order(order: Order) -> bytes:
    """The bytes of an order to a worker. Raises CodecError for values that are no JSON."""
    match order:
        case StopPipeline():
            return codec.pack_record((VERSION, "stop", *order))
        case DrainWorker():
            return codec.pack_record((VERSION, "drain", *order))
        case ClaimCheck():
            return _written_claim_check(order)
    if not isinstance(order, RunPipeline):
        raise codec.CodecError(f"a {type(order).__name__} is no order to a worker")
    results = {name: _written_result(result) for name, result in order.results.items()}
    # Pairs: keys of a mapping are texts in JSON, and a task is a number.
    visits = [[task, count] for task, count in order.visits.items()]
    origins = [[task, origin] for task, origin in order.origins.items()]
    return codec.pack_record((VERSION, "run", *order._replace(results=results, visits=visits, origins=origins)))  # type: ignore[arg-type]


def read_order(data: bytes) -> RunPipeline | StopPipeline | DrainWorker | ClaimCheck:
    """The order that bytes are. Raises UnreadableMessage."""
    name, values = _read(data)
    match name:
        case "stop":
            return StopPipeline(**_fields(values, _STOP))
        case "drain":
            return DrainWorker(**_fields(values, _DRAIN))
        case "claim_check":
            return ClaimCheck(**_fields(values, _CLAIM_CHECK))
    if name != "run":
        raise UnreadableMessage(f"`{name}` is no order to a worker")
    fields = _fields(values, _RUN)
    fields["results"] = {step: _read_result(result) for step, result in fields["results"].items()}
    fields["visits"] = dict(_pair(entry, int, "visits") for entry in fields["visits"])
    fields["origins"] = dict(_pair(entry, str, "origins") for entry in fields["origins"])
    return RunPipeline(**fields)


def write_report(report: Said) -> bytes:
    """The bytes of what a worker says."""
    match report:
        case LeaseHeartbeat():
            return _joined([codec.pack_record((VERSION, "heartbeat", *report))])
        case ClaimCheck():
            return _joined([_written_claim_check(report)])
    named = (report.execution_id, report.run, report.claim, report.sender, report.mac)
    head = (VERSION, "report", *named, len(report.events))
    return _joined([codec.pack_record(head), *map(write_event, report.events)])


def read_report(data: bytes) -> Said:
    """The report in some bytes. Raises UnreadableMessage; events of a report are proposals for the log's owner to
    judge.
    """
    parts = _parts(data)
    name, values = _read(parts[0] if parts else b"")
    match name:
        case "heartbeat" if len(parts) == 1:
            return LeaseHeartbeat(**_fields(values, _LEASE_HEARTBEAT))
        case "claim_check" if len(parts) == 1:
            return ClaimCheck(**_fields(values, _CLAIM_CHECK))
    if name != "report":
        raise UnreadableMessage(f"`{name}` is no report")
    fields = _fields(values, _REPORT)
    # A report that was cut off at the border between two events would be whole but for its count.
    if fields.pop("count") != len(parts) - 1 or len(parts) < 2:
        raise UnreadableMessage("the report does not have the events that it says")
    return Report(**fields, events=tuple(map(_read_event, parts[1:])))


def write_answer(answer: Answer) -> bytes:
    """The bytes of an answer."""
    return codec.pack_record((VERSION, "answer", *answer))


def read_answer(data: bytes) -> Answer:
    """The answer that bytes are. Raises UnreadableMessage."""
    name, values = _read(data)
    if name != "answer":
        raise UnreadableMessage(f"`{name}` is no answer")
    return Answer(**_fields(values, _ANSWER))


def write_broadcast(broadcast: Broadcast) -> bytes:
    """The bytes of a broadcast."""
    return codec.pack_record((VERSION, _BROADCASTS[type(broadcast)], *broadcast))


def read_broadcast(data: bytes) -> Broadcast:
    """The broadcast that bytes are. Raises UnreadableMessage."""
    name, values = _read(data)
    match name:
        case "heartbeat":
            return WorkerHeartbeat(**_fields(values, _WORKER_HEARTBEAT))
        case "serving":
            return Serving(**_fields(values, _SERVING))
        case "open lane":
            return OpenLane(**_fields(values, _OPEN_LANE))
        case "taken up":
            return TakenUp(**_fields(values, _TAKEN_UP))
        case "check":
            return Check(**_with_texts(_fields(values, _CHECK), "pools"))
        case "checked":
            return Checked(**_with_texts(_fields(values, _CHECKED), "problems"))
    raise UnreadableMessage(f"`{name}` is no broadcast")


def _written_claim_check(message: ClaimCheck) -> bytes:
    return codec.pack_record((VERSION, "claim_check", *message))


def _joined(parts: list[bytes]) -> bytes:
    return b"".join(_LENGTH.pack(len(part)) + part for part in parts)


def _read(data: bytes) -> tuple[str, list[Any]]:
    try:
        value = codec.unpack(data, max_bytes=MAX_BYTES)
    except codec.CodecError as problem:
        raise UnreadableMessage(f"no message: {problem}") from None
    if not isinstance(value, list) or len(value) < 2 or type(value[0]) is not int or type(value[1]) is not str:
        raise UnreadableMessage("no message: it does not begin with a version and a name")
    version, name, *values = value
    # Told apart from what is no message: it says that servers and workers are of different releases.
    if version != VERSION:
        raise UnreadableMessage(f"a message of version {version}; this program knows {VERSION}")
    return str(name), values


def _fields(values: list[Any], table: tuple[tuple[str, type | None], ...]) -> dict[str, Any]:
    # Fields have places and no names, so one too many is not left out: the rest would be read as something else.
    if len(values) != len(table):
        raise UnreadableMessage(f"a message with {len(values)} fields instead of {len(table)}")
    for (name, kind), value in zip(table, values, strict=True):
        # `type` and not `isinstance`, as True is an int to Python: a claim of True would compare equal to claim 1.
        if kind is not None and type(value) is not kind and not (value is None and name in _OPTIONAL):
            raise UnreadableMessage(f"`{name}` is not a {kind.__name__}")
    return {name: value for (name, _), value in zip(table, values, strict=True)}


def _with_texts(fields: dict[str, Any], name: str) -> dict[str, Any]:
    if not all(type(text) is str for text in fields[name]):
        raise UnreadableMessage(f"`{name}` is not a list of texts")
    return fields


def _parts(data: bytes) -> list[bytes]:
    found: list[bytes] = []
    at = 0
    while at < len(data):
        start = at + _LENGTH.size
        at = start + _LENGTH.unpack_from(data, at)[0] if start <= len(data) else len(data) + 1
        # A report of nothing but empty parts would be millions of them in a few megabytes.
        if at > len(data) or len(found) > MAX_EVENTS:
            raise UnreadableMessage("the report ends early or has too many events")
        found.append(data[start:at])
    return found


def _read_event(data: bytes) -> Event:
    try:
        event = read_event(data)
    except codec.CodecError as problem:
        raise UnreadableMessage(f"no event: {problem}") from None
    # What fires is for the server to say. A worker that could report `workflow.finished`, or tokens of its own, would
    # decide how a run ends.
    if event.event_type not in WORKER_EVENTS or event.fired:
        raise UnreadableMessage(f"a worker does not report `{event.event_type}`, or what it fired")
    return event


def _written_result(result: object) -> list[object]:
    """The result of a loop has two parts, that of loops inside each other three; of anything else there is one."""
    if not isinstance(result, LoopValue):
        return [result]
    # As workers of before know it, wherever they can.
    return [*result] if result.levels > 1 else [*result[:2]]


def _read_result(parts: Any) -> object:
    match parts:
        case [list() as entries, dict() as stats]:
            return LoopValue(entries, stats)
        case [list() as entries, dict() as stats, int() as levels] if type(levels) is int and 1 < levels <= MOST_LEVELS:
            return LoopValue(entries, stats, levels)
        case [result]:
            return result
    raise UnreadableMessage("a result is neither one value nor that of a loop")


def _pair(entry: Any, kind: type[_T], name: str) -> tuple[int, _T]:
    match entry:
        case [int() as task, value] if type(task) is int and type(value) is kind:
            return task, value
    raise UnreadableMessage(f"`{name}` is not a list of pairs of a task and what it has")
