"""wait: parks until a signal or a timer comes (LANGUAGE §7, EXTENSIONS §6)."""

import re

from noetl_ir.dates import days_of, is_date
from noetl_ir.expr import Json
from noetl_ir.kinds import Field, Kind, seconds_of
from noetl_ir.patterns import LatePattern

KIND = Kind(
    name="wait",
    summary="Waits, outside of any worker, for a named signal or a timer.",
    fields={
        "events": Field(("name", "list of names"), doc="The names of the signals that end the wait."),
        "correlation": Field(
            ("text",),
            doc="A key, as text of at most 500 characters, rendered when the wait begins: signals sent to that key "
            "(`key` of `signal`, `noetl signal --key`, `POST /signals`) end it too, also one that was kept for it.",
        ),
        "timers": Field(
            ("map",),
            doc="Timer names to durations, or to {at: time}; the first that is over ends the wait. One that is null is "
            "not set. A time is like 2026-03-01T09:00:00+01:00, without an offset it is of UTC; one that is past ends "
            "the wait at once.",
        ),
        "transient": Field(
            ("boolean",),
            doc="Whether only signals count that come once the wait is next; false when absent: one that came before "
            "and was kept ends it too.",
        ),
    },
    # Whether one that was kept there came before the wait was next cannot be told apart.
    only_one=(("transient", "correlation"),),
    result="{name, data} of what ended the wait: the name of the signal and what it carries, or the id of the timer",
    # No worker waits: a thousand waits cost rows in the store and no slot.
    parks=True,
)

AT = "at"
"""The key of a timer about a time of day; any other timer is a duration."""

_LONGEST = 64
"""Characters; no time is written with more."""

_TIME = LatePattern(
    r"(\d{4})-?(\d\d)-?(\d\d)"
    r"(?:[Tt ](\d\d):?(\d\d)(?::?(\d\d)(?:[.,](\d{1,9}))?)?(?:([Zz])|([+-])(\d\d)(?::?(\d\d))?)?)?",
    re.ASCII,
)


def moment_of(text: Json) -> tuple[int, bool] | None:
    """A time as ISO 8601 text: in microseconds since the epoch, and whether it names its offset. None for no time.

    Without an offset it is of UTC. One before the epoch is the epoch: both are past.
    """
    found = _TIME.fullmatch(text.strip()) if isinstance(text, str) and len(text) <= _LONGEST else None
    if found is None:
        return None
    year, month, day, hour, minute, second = [int(part or 0) for part in found.groups()[:6]]
    if not (year and is_date(year, month, day) and hour < 24 and minute < 60 and second < 60):
        return None
    sign, hours, minutes = found[9], int(found[10] or 0), int(found[11] or 0)
    if hours > 23 or minutes > 59:
        return None
    seconds = days_of(year, month, day) * 86_400 + hour * 3600 + minute * 60 + second
    seconds -= (-1 if sign == "-" else 1) * (hours * 3600 + minutes * 60)
    # Further digits than those of microseconds are cut off, as by the clocks of stores.
    micros = int((found[7] or "0").ljust(6, "0")[:6])
    return max(seconds * 1_000_000 + micros, 0), bool(found[8] or sign)


def due_of(timer: Json, now: int) -> int | None:
    """When a timer that is set at `now` is due, in microseconds since the epoch; None for one that is not set."""
    if isinstance(timer, dict):
        moment = moment_of(timer.get(AT))
        return None if moment is None else moment[0]
    seconds = seconds_of(timer)
    return None if seconds is None else now + round(seconds * 1_000_000)


def faulty_timer(timer: Json) -> str:
    """Why the value of a timer is none, empty for a good one: null, a duration, or `{at: time}`."""
    if isinstance(timer, dict):
        if [*timer] != [AT]:
            return f"is a mapping without `{AT}` alone: write `{{{AT}: 2026-03-01T09:00:00+01:00}}`"
        at = timer[AT]
        if at is not None and moment_of(at) is None:
            return f"has no time as its `{AT}`: write one like `2026-03-01T09:00:00+01:00`"
        return ""
    if timer is not None and seconds_of(timer) is None:
        return f"is no duration: write seconds, or text like `5m`, or `{{{AT}: time}}`"
    return ""
