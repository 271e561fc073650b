"""Events: facts, past tense, append-only. The state of an execution is the fold over them and nothing else.

An event names the transitions it fired, with the keys of the tokens they took and made. Its place in the log is
its order; ids and times order nothing (LANGUAGE §8).
"""

from collections.abc import Callable
from functools import partial
from operator import itemgetter
from typing import Any, TypeAlias

from noetl_ir import codec
from noetl_ir.digests import sha256
from noetl_ir.expr import Json
from noetl_ir.records import NamedTuple

TokenKeys: TypeAlias = "str | tuple[str, ...]"
"""The token keys at a transition's arcs: one text when all arcs have the same key, else one text an arc."""

WORKER_EVENTS = frozenset({"task.started", "task.done", "retry.started"})
"""Events whose content a worker reports; the server decides all others, or records them as they reach it."""

INPUT_EVENTS = WORKER_EVENTS | {
    "playbook.execution.requested",
    "timer.fired",
    "signal.received",
    "signal.sent",
    "task.lost",
    "playbook.paused",
    "playbook.resumed",
    "playbook.cancelled",
    "playbook.faulted",
    "playbook.retried",
    "playbook.rerun",
    "playbook.migrated",
    "migration.refused",
    "child.started",
    "child.ended",
    "playbook.placed",
    "playbook.queued",
    "playbook.refused",
}
"""Events that come from outside the fold. All others follow from the log before them, so a replay can check them."""

MAX_BYTES = 1 << 30
MAX_ITEMS = 50_000_000
MAX_DEPTH = 500
"""Limits of one event: what a store holds is ours, but may be damaged."""


class Firing(NamedTuple):
    """One firing of a transition: its index in the net and the token keys it took and made.

    A key is the decimal number of a flow token, which is also the id of the step run that the token starts;
    iterations append their index path (`7/0/2`). Memory tokens of joins have the key `""`.
    """

    transition: int
    took: TokenKeys
    made: TokenKeys


class Event(NamedTuple):
    """One event. `ts` is in microseconds since the epoch; `step` and `task` index the plan's tables, -1 for none.

    `run` is the token key it is about. `visit` counts arrivals at the task in its run, `attempt` tries, `claim`
    is the fencing token; 0 where they do not apply. `data` is the payload.
    """

    event_id: str
    event_type: str
    ts: int
    step: int = -1
    run: str = ""
    task: int = -1
    visit: int = 0
    attempt: int = 0
    claim: int = 0
    fired: tuple[Firing, ...] = ()
    data: "dict[str, Json]" = {}  # noqa: RUF012  (never written to)


_Fields: TypeAlias = "tuple[str, str, int, int, str, int, int, int, int, tuple[Firing, ...], dict[str, Json]]"

event_of: "Callable[[_Fields], Event]" = partial(tuple.__new__, Event)
"""The event of its fields in their order: what makes events by the ten thousands takes this, at half of the time."""

firing_of: "Callable[[tuple[int, TokenKeys, TokenKeys]], Firing]" = partial(tuple.__new__, Firing)
"""The firing of its fields in their order, as `event_of`."""

write_event: Callable[[Event], bytes] = codec.pack_record
"""The stored bytes of an event: the list of its fields in their order."""


def read_event(body: bytes) -> Event:
    """The event of stored bytes; raises `codec.CodecError` when they are no event."""
    small = len(body) <= codec.SMALL  # nearly all are, and are looked at here instead of by what knows any value
    fields: Any = codec.unpack_small(body) if small else _large(body)
    try:
        # Taken apart before anything is checked: a value of another shape fails here, whatever it is.
        *plain, fired, data = fields
        firings = tuple([firing_of((t, _keys(took), _keys(made))) for t, took, made in fired])
    except (TypeError, ValueError):
        raise codec.CodecError("not an event") from None
    # Exact types, all at once: a truth value is an `int` to `isinstance`, and a check for each field costs more.
    if tuple(map(type, (*plain, fired, data))) != _TYPES or not {*map(type, map(_first, firings))} <= _NUMBERS:
        raise codec.CodecError("not an event")
    # What was not small was checked by `unpack`; of small events only the payload can hold anything deep.
    if small and data:
        codec.check(data, max_depth=MAX_DEPTH - 1, max_items=MAX_ITEMS)
    return event_of((*plain, firings, data))


def _large(body: bytes) -> Json:
    return codec.unpack(body, max_bytes=MAX_BYTES, max_depth=MAX_DEPTH, max_items=MAX_ITEMS)


_TYPES = (str, str, int, int, str, int, int, int, int, list, dict)
_first, _NUMBERS = itemgetter(0), frozenset({int})


def _keys(value: Any) -> TokenKeys:
    if type(value) is str:
        return value
    if type(value) is not list or any(type(key) is not str for key in value):
        raise TypeError("no keys")
    return tuple(value)


def is_of_unbegun_item(event: Event) -> bool:
    """Whether an event is about an item of a loop that never began, by its `index`: then its run is that of the loop,
    whose other items go on. Any other event of the end of an item names the run of that item.
    """
    return event.event_type == "loop.iteration.skipped" and "index" in event.data


def step_run_of(key: str) -> str:
    """The step run id of a token key."""
    return key.partition("/")[0] if "/" in key else key


def index_of(key: str) -> tuple[int, ...]:
    """The loop index path of a token key, outermost first; empty outside loops."""
    _, _, path = key.partition("/")
    return tuple(int(part) for part in path.split("/")) if path else ()


def action_id_of(execution_id: str, key: str, task: int, visit: int) -> str:
    """The id that all attempts of a task run: a hash of execution, step run, index path, task and visit."""
    run, _, path = key.partition("/")
    digest = sha256()
    # Attempts are left out on purpose: a tool that is called again under one id can know that it did the work
    # already.
    digest.update(f"{execution_id}:{run}:{path.replace('/', '.')}:{task}:{visit}".encode())
    return digest.hexdigest()[:32]


def iso_of(ts: int) -> str:
    """A time in microseconds since the epoch as RFC 3339 text in UTC.

    Days to a civil date as in Howard Hinnant, "chrono-compatible low-level date algorithms", civil_from_days.
    """
    seconds, micros = divmod(ts, 1_000_000)
    days, second = divmod(seconds, 86_400)
    era, day_of_era = divmod(days + 719_468, 146_097)
    year_of_era = (day_of_era - day_of_era // 1460 + day_of_era // 36_524 - day_of_era // 146_096) // 365
    day_of_year = day_of_era - (365 * year_of_era + year_of_era // 4 - year_of_era // 100)
    shifted = (5 * day_of_year + 2) // 153
    day = day_of_year - (153 * shifted + 2) // 5 + 1
    month = shifted + 3 if shifted < 10 else shifted - 9
    year = year_of_era + era * 400 + (month <= 2)
    clock = f"{second // 3600:02}:{second // 60 % 60:02}:{second % 60:02}.{micros:06}"
    return f"{year:04}-{month:02}-{day:02}T{clock}Z"
