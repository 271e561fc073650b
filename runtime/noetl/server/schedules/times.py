"""The times of a schedule: cron expressions in a time zone, and intervals.

Cron is that of cronsim, which does with the change of clocks what Debian's cron does: a time that does not exist
(02:30 where 02:00 is followed by 03:00) comes once, right after the gap; one that exists twice comes once, the first
time. Expressions with `*` in the hour come in each hour that passes, also in the one that is repeated.
"""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import takewhile
from zoneinfo import ZoneInfo

from noetl_ir.records import NamedTuple

SECOND = 1_000_000
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
LAST = 32_503_680_000 * SECOND
"""The beginning of the year 3000: behind it a calendar of Python may end before the next time comes."""


class BadTimes(ValueError):
    """Times that cannot be; the text says what is wrong and what to write."""


class Calendar(NamedTuple):
    """When: by a cron expression in a zone, or every so many microseconds, counted from `since`.

    No time is before `since`, or at `until` or behind it; 0 for no bound.
    """

    cron: str
    every: int
    zone: str
    since: int = 0
    until: int = 0

    def behind(self, moment: int) -> Iterator[int]:
        """The times after a moment, in order."""
        first = max(moment, self.since - 1)
        times = self._cron(first, reverse=False) if self.cron else self._intervals(first)
        return takewhile(lambda time: not self.until or time < self.until, times)

    def before(self, moment: int) -> Iterator[int]:
        """The times at a moment and before it, the newest first."""
        last = min(moment, self.until - 1) if self.until else moment
        # Forward a time at the moment itself is found from the one before, and so it is backward from the next one.
        times = self._cron(last + 1, reverse=True) if self.cron else self._intervals_before(last)
        return takewhile(lambda time: time >= self.since, times)

    def _cron(self, moment: int, *, reverse: bool) -> Iterator[int]:
        from cronsim import CronSim

        # To the second, as cron expressions have no less: up where it goes back, so that nothing is left out.
        seconds = -(-moment // SECOND) if reverse else moment // SECOND
        begin = datetime.fromtimestamp(seconds, ZoneInfo(self.zone))
        for found in CronSim(self.cron, begin, reverse):
            time = round(found.timestamp()) * SECOND
            if (time < moment) if reverse else (time > moment):
                yield time

    def _intervals(self, moment: int) -> Iterator[int]:
        number = (moment - self.since) // self.every + 1
        while True:
            yield self.since + number * self.every
            number += 1

    def _intervals_before(self, moment: int) -> Iterator[int]:
        number = (moment - self.since) // self.every
        while number >= 0:
            yield self.since + number * self.every
            number -= 1

    def text_of(self, moment: int) -> str:
        """A time as people of the zone write it, with its distance from UTC (RFC 3339)."""
        whole, rest = divmod(moment, SECOND)
        # Not by adding: a sum forgets which of the two hours it is where clocks are set back.
        return datetime.fromtimestamp(whole, ZoneInfo(self.zone)).replace(microsecond=rest).isoformat()


def check_calendar() -> None:
    """Raises ImportError where the library that knows the calendar is not installed."""
    import cronsim  # noqa: F401  (only whether it is there)


_OF_MACHINES = frozenset({"localtime", "posixrules"})
"""Names that are another zone on each machine: two servers would start at two times."""


def checked_zone(name: str) -> str:
    """The name of a time zone that is known. Raises BadTimes."""
    try:
        if name in _OF_MACHINES:
            raise KeyError(name)
        ZoneInfo(name)
    except (KeyError, OSError, ValueError):
        raise BadTimes(f"there is no time zone `{name}`: write one as `Europe/Berlin` or `UTC`") from None
    return name


FIELDS = (
    ("minute", "0 to 59"),
    ("hour", "0 to 23"),
    ("day of month", "1 to 31, or L for the last one and LW for the last one of Monday to Friday"),
    ("month", "1 to 12, or JAN to DEC"),
    ("day of week", "0 to 7, or SUN to SAT, with #2 for the second one of a month and L for the last one"),
)
"""The fields of a cron expression, and what each may be beside `*`, ranges, lists and steps."""


def checked_cron(expression: str) -> str:
    """A cron expression of five fields that has times. Raises BadTimes."""
    from cronsim import CronSim, CronSimError

    if len(expression.split()) != len(FIELDS):
        raise BadTimes("a cron expression has five fields: minute, hour, day of month, month, day of week")
    try:
        next(CronSim(expression, datetime(2026, 1, 1, tzinfo=UTC)))
    except CronSimError:
        raise BadTimes(_fault_of(expression)) from None
    except StopIteration:
        raise BadTimes("it never comes") from None
    return expression


def _fault_of(expression: str) -> str:
    """The part of a cron expression that cannot be, with what may stand there."""
    for number, (name, span) in enumerate(FIELDS):
        for part in expression.split()[number].split(","):
            # Without a day the month cannot be at fault, nor is any other field.
            alone = ["*" if at != number else part for at in range(len(FIELDS))]
            if not _can_be(" ".join(alone)):
                return f"`{part}` is no {name}: {span}"
    return "it never comes"


def _can_be(expression: str) -> bool:
    from cronsim import CronSim, CronSimError

    try:
        CronSim(expression, datetime(2026, 1, 1, tzinfo=UTC))
    except CronSimError:
        return False
    return True


def words_of(calendar: Calendar) -> str:
    """The times of a calendar in words."""
    from cronsim import CronSim

    if calendar.cron:
        text = CronSim(calendar.cron, datetime(2026, 1, 1, tzinfo=UTC)).explain()
        text = f"{text[0].lower()}{text[1:]}, {calendar.zone}"
    else:
        text = f"every {_length_of(calendar.every)}"
    for word, bound in (("from", calendar.since), ("until", calendar.until)):
        text += f", {word} {calendar.text_of(bound)}" if bound else ""
    return text


def _length_of(micros: int) -> str:
    """A length of time, in the units of which it is made."""
    parts, rest = [], micros
    for name, size in (("d", 86_400 * SECOND), ("h", 3_600 * SECOND), ("m", 60 * SECOND)):
        count, rest = divmod(rest, size)
        parts += [f"{count}{name}"] if count else []
    return " ".join([*parts, f"{rest / SECOND:g}s"] if rest or not parts else parts)


def time_of(text: str) -> int:
    """The microseconds of an RFC 3339 time, which says how far it is from UTC. Raises BadTimes."""
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        found = None
    if found is None or found.tzinfo is None:
        raise BadTimes(f"`{text}` is no time: write it as 2026-03-29T02:00:00+01:00 or 2026-03-29T01:00:00Z")
    time = round((found - EPOCH) / timedelta(microseconds=1))
    if not 0 <= time < LAST:
        raise BadTimes(f"`{text}` is before 1970 or behind 2999")
    return time
