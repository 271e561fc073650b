"""The document of a schedule, read and checked: what a person writes, and what stands in the store."""

import json
from collections.abc import Collection, Mapping

from noetl.server.schedules.times import SECOND, BadTimes, Calendar, checked_cron, checked_zone, time_of
from noetl_ir import codec
from noetl_ir.correlation import HALF, is_storable
from noetl_ir.expr import Json
from noetl_ir.kinds import seconds_of
from noetl_ir.nearest import nearest
from noetl_ir.records import NamedTuple

KIND = "Schedule"
API_VERSION = "noetl.io/v2"
LONGEST_NAME = 100
MOST_BYTES = 64 << 10
"""Bytes of a document; its payload is for each start."""

SKIP, WAIT, ALLOW, CANCEL = "skip", "wait", "allow", "cancel"
OVERLAPS = (SKIP, WAIT, ALLOW, CANCEL)
"""What is done where the execution of the time before is not over: this time is skipped, or waits (of several that wait
the newest stays), or both run, or the one before is cancelled."""

MOST_CAUGHT_UP = 1_000

_NAME = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-/")
_TOP = ("apiVersion", "kind", "metadata", "spec")
_SPEC = (
    "playbook", "version", "cron", "every", "timezone", "from", "until", "payload", "time_input", "jitter", "overlap",
    "catch_up",
)  # fmt: skip


class BadSchedule(ValueError):
    """A document that is no schedule; the text names the key, says what is wrong, and what to write."""


class Schedule(NamedTuple):
    """A schedule.

    - `playbook` and `version` (None: the newest): what is started; `payload`: with which values; `time_input`: the
      input that gets the time, empty for none.
    - `jitter`: each start is delayed by less than so many microseconds, always the same for one time.
    - `catch_up`: how many times that nobody dealt with when they came are started later, the newest ones.
    """

    name: str
    playbook: str
    version: int | None
    calendar: Calendar
    payload: dict[str, Json]
    time_input: str
    jitter: int
    overlap: str
    catch_up: int

    def payload_at(self, time: int) -> dict[str, Json]:
        """The payload of the start at a time."""
        return {**self.payload, **({self.time_input: self.calendar.text_of(time)} if self.time_input else {})}


def schedule_of(document: Json) -> Schedule:
    """The schedule that a document is. Raises BadSchedule."""
    whole = _mapping(document, "a schedule", _TOP)
    for key, value in (("apiVersion", API_VERSION), ("kind", KIND)):
        if whole.get(key) != value:
            raise BadSchedule(f"`{key}` is not `{value}`")
    name = _mapping(whole.get("metadata"), "`metadata`", ("name",)).get("name")
    if not isinstance(name, str) or not 0 < len(name) <= LONGEST_NAME or not _NAME.issuperset(name):
        raise BadSchedule(f"`metadata.name` is 1 to {LONGEST_NAME} letters, digits and `.`, `_`, `-`, `/`")
    spec = _mapping(whole.get("spec"), "`spec`", _SPEC)
    if len(codec.pack(document)) > MOST_BYTES:
        raise BadSchedule(f"it is larger than {MOST_BYTES:,} bytes")
    # A start with such a text could never be stored.
    if not is_storable(json.dumps(document, ensure_ascii=False)):
        raise BadSchedule(f"a text in it {HALF}")
    payload = spec.get("payload", {})
    if not isinstance(payload, dict):
        raise BadSchedule("`spec.payload` is a mapping of names to values")
    time_input = _text(spec, "time_input", "the name of an input")
    if time_input in payload and time_input:
        raise BadSchedule(f"`spec.payload.{time_input}` is what `spec.time_input` names: give one of the two")
    playbook = _text(spec, "playbook", "the path of a playbook, as in `etl/nightly`")
    if not playbook:
        raise BadSchedule("`spec.playbook` is missing: write the path of a playbook, as in `etl/nightly`")
    overlap = spec.get("overlap", SKIP)
    if overlap not in OVERLAPS or not isinstance(overlap, str):
        raise BadSchedule(f"`spec.overlap` is one of {', '.join(OVERLAPS)}")
    catch_up = _whole(spec, "catch_up", 0, MOST_CAUGHT_UP, 1) or 0
    # A time that waits is one that comes late.
    if overlap == WAIT and not catch_up:
        raise BadSchedule("`spec.overlap: wait` needs `spec.catch_up` of 1 at least")
    return Schedule(
        name, playbook, _whole(spec, "version", 1, (1 << 31) - 1, None), _calendar(spec), payload, time_input,
        _micros(spec, "jitter", 0), overlap, catch_up,
    )  # fmt: skip


def _calendar(spec: Mapping[str, Json]) -> Calendar:
    cron, every = _text(spec, "cron", "five fields, as in `0 2 * * *`"), _micros(spec, "every", SECOND)
    if bool(cron) == bool(every):
        raise BadSchedule("`spec` has either `cron: 0 2 * * *` or `every: 15m`")
    bounds = []
    key = ""
    try:
        for key in ("from", "until"):
            bounds.append(time_of(text) if (text := _text(spec, key, "a time")) else 0)
        key = "timezone"
        zone = checked_zone(_text(spec, key, "a time zone, as in `Europe/Berlin`") or "UTC")
        key = "cron"
        return Calendar(checked_cron(cron) if cron else "", every, zone, *bounds)
    except BadTimes as problem:
        raise BadSchedule(f"`spec.{key}`: {problem}") from None


def _mapping(value: Json, what: str, known: Collection[str]) -> dict[str, Json]:
    if not isinstance(value, dict):
        raise BadSchedule(f"{what} is a mapping with {', '.join(known)}")
    for key in value:
        if key not in known:
            near = nearest(key, [*known])
            raise BadSchedule(f"{what} has no key `{key}`" + (f"; did you mean `{near}`?" if near else ""))
    return value


def _text(spec: Mapping[str, Json], key: str, what: str) -> str:
    value = spec.get(key)
    if value is None:
        return ""
    if not isinstance(value, str) or not value.strip():
        raise BadSchedule(f"`spec.{key}` is {what}")
    return value.strip()


def _whole(spec: Mapping[str, Json], key: str, least: int, most: int, default: int | None) -> int | None:
    value = spec.get(key, default)
    if value is None:
        return None
    if type(value) is not int or not least <= value <= most:
        raise BadSchedule(f"`spec.{key}` is a whole number from {least} to {most:,}")
    return value


def _micros(spec: Mapping[str, Json], key: str, least: int) -> int:
    if key not in spec:
        return 0
    seconds = seconds_of(spec[key])
    if seconds is None or round(seconds * SECOND) < least:
        raise BadSchedule(f"`spec.{key}` is a duration" + (", of a second at least" if least else "") + ", as in `15m`")
    return round(seconds * SECOND)
