"""The decision about a schedule: which of its times are to be started now, and how far it is dealt with."""

from collections.abc import Sequence
from hashlib import sha256
from itertools import islice, takewhile

from noetl.ports.schedules import MISSED, SKIPPED, ScheduleRow, UnstartedTime
from noetl.server.schedules.document import ALLOW, CANCEL, SKIP, Schedule
from noetl_ir.records import NamedTuple

ON_TIME = 60_000_000
"""Microseconds behind its time, and its jitter, up to which a start is on time. What is later counts as missed: nobody
was there.
"""

MOST = 2_000
"""Times that are looked at, the newest: more wait only where a jitter is far longer than the interval."""


class Due(NamedTuple):
    """The next thing to do with a schedule.

    - `time`: the time that is to be started, None for none; `cancels`: what runs is cancelled before.
    - `cursor`: up to where it is dealt with, once that is done.
    - `skipped`, `missed`: the times that are passed with it, the newest first: since the one before ran, and since
      nobody was there.
    """

    time: int | None
    cursor: int
    cancels: bool = False
    skipped: tuple[int, ...] = ()
    missed: tuple[int, ...] = ()

    def unstarted(self, running: str, waiting: Sequence[UnstartedTime] = ()) -> list[UnstartedTime]:
        """The times that are passed, in their order; `running` is the execution that some are skipped for, and behind
        those that are `waiting`, as their starts are refused, the others waited for the same.
        """
        passed = [UnstartedTime(time, SKIPPED, running) for time in self.skipped]
        for time in self.missed:
            why = next((each.why for each in reversed(waiting) if each.time <= time), MISSED)
            passed.append(UnstartedTime(time, why))
        return sorted(passed)


def due(schedule: Schedule, row: ScheduleRow, now: int, *, since: int | None) -> Due:
    """The next thing to do; `since` is when the last execution began, None where it is over. To be asked again with the
    row as it stands then, until there is nothing: no time, and the cursor as it was.
    """
    if row.paused:
        return Due(None, row.cursor)
    newest = takewhile(lambda time: time > row.cursor, schedule.calendar.before(now))
    found = [*islice(newest, MOST)]
    on_time = {time for time in found if now - time - jitter_of(schedule, time) <= ON_TIME}
    late = {*islice((time for time in found if time not in on_time), schedule.catch_up)}
    chosen = [time for time in found if time in on_time or time in late]
    if not chosen:
        return Due(None, found[0] if found else row.cursor, missed=tuple(found))
    # In the order of the times: those before it that are not chosen were missed, and are passed with it.
    time = chosen[-1]
    if now < time + jitter_of(schedule, time):
        return Due(None, row.cursor)
    missed = tuple(found[found.index(time) + 1 :])
    if since is None or schedule.overlap in (ALLOW, CANCEL):
        return Due(time, time, since is not None and schedule.overlap == CANCEL, missed=missed)
    # One that began behind this time did not run then: both are late, as after an outage, and the newest is not lost.
    if schedule.overlap == SKIP and since <= time:
        return Due(None, time, skipped=(time,), missed=missed)
    # Of those that wait the newest stays: the others are passed.
    if len(chosen) == 1:
        return Due(None, row.cursor)
    skipped = tuple(chosen[1:])
    missed = tuple([time for time in found[found.index(chosen[1]) :] if time not in skipped])
    return Due(None, chosen[1], skipped=skipped, missed=missed)


def jitter_of(schedule: Schedule, time: int) -> int:
    """By how many microseconds the start at a time is delayed: the same on every server."""
    if not schedule.jitter:
        return 0
    drawn = int.from_bytes(sha256(f"{schedule.name} {time}".encode()).digest()[:8], "big")
    return drawn % schedule.jitter


def key_of(schedule: str, time: int) -> str:
    """The key of the start at a time, which a store takes once. Nobody outside can make one: headers have no NUL."""
    return f"\0schedule\0{schedule}\0{time}"
