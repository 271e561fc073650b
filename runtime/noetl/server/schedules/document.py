"""The document of a schedule, read and checked: what a person writes, and what stands in the store."""

from collections.abc import Mapping

from noetl.server.checked_documents import BadDocument, micros_of, spec_of, text_of, whole_of
from noetl.server.schedules.times import SECOND, BadTimes, Calendar, checked_cron, checked_zone, time_of
from noetl_ir.expr import Json
from noetl_ir.records import NamedTuple

KIND = "Schedule"
SKIP, WAIT, ALLOW, CANCEL = "skip", "wait", "allow", "cancel"
OVERLAPS = (SKIP, WAIT, ALLOW, CANCEL)
"""What is done where the execution of the time before is not over: this time is skipped, or waits (of several that wait
the newest stays), or both run, or the one before is cancelled."""

MOST_CAUGHT_UP = 1_000

_SPEC = (
    "playbook", "version", "cron", "every", "timezone", "from", "until", "payload", "time_input", "jitter", "overlap",
    "catch_up",
)  # fmt: skip


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
    """The schedule that a document is. Raises BadDocument."""
    name, spec = spec_of(document, KIND, _SPEC)
    payload = spec.get("payload", {})
    if not isinstance(payload, dict):
        raise BadDocument("`spec.payload` is a mapping of names to values", ("spec", "payload"))
    time_input = _text(spec, "time_input", "the name of an input")
    if time_input in payload and time_input:
        raise BadDocument(
            f"`spec.payload.{time_input}` is what `spec.time_input` names: give one of the two",
            ("spec", "payload", time_input),
        )
    playbook = _text(spec, "playbook", "the path of a playbook, as in `etl/nightly`")
    if not playbook:
        raise BadDocument("`spec.playbook` is missing: write the path of a playbook, as in `etl/nightly`", ("spec",))
    overlap = spec.get("overlap", SKIP)
    if overlap not in OVERLAPS or not isinstance(overlap, str):
        raise BadDocument(f"`spec.overlap` is one of {', '.join(OVERLAPS)}", ("spec", "overlap"))
    catch_up = whole_of(spec, ("spec", "catch_up"), 0, MOST_CAUGHT_UP, 1) or 0
    # A time that waits is one that comes late.
    if overlap == WAIT and not catch_up:
        raise BadDocument("`spec.overlap: wait` needs `spec.catch_up` of 1 at least", ("spec", "catch_up"))
    return Schedule(
        name, playbook, whole_of(spec, ("spec", "version"), 1, (1 << 31) - 1, None), _calendar(spec), payload,
        time_input, micros_of(spec, ("spec", "jitter")), overlap, catch_up,
    )  # fmt: skip


def _calendar(spec: Mapping[str, Json]) -> Calendar:
    cron, every = _text(spec, "cron", "five fields, as in `0 2 * * *`"), micros_of(spec, ("spec", "every"), SECOND)
    if bool(cron) == bool(every):
        raise BadDocument(
            "`spec` has either `cron: 0 2 * * *` or `every: 15m`", ("spec", "every") if cron else ("spec",)
        )
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
        raise BadDocument(f"`spec.{key}`: {problem}", ("spec", key)) from None


def _text(spec: Mapping[str, Json], key: str, what: str) -> str:
    return text_of(spec, ("spec", key), what)
