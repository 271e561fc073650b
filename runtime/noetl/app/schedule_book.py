"""The book of schedules: how they are kept, changed and told of, by the API and beside a store alike."""

from collections.abc import Sequence
from contextlib import suppress
from itertools import islice, takewhile

from noetl.app.runtime import Runtime
from noetl.app.standing_book import StandingBook, check_name
from noetl.app.start_checks import StartSlip, start_slips
from noetl.ports import Clock
from noetl.ports.schedules import MOST_UNSTARTED, PAUSED, Scheduled, ScheduleRow, Schedules, UnstartedTime
from noetl.ports.scopes import is_within
from noetl.server.checked_documents import BadDocument
from noetl.server.schedules.document import Schedule, schedule_of
from noetl.server.schedules.due import ON_TIME, jitter_of, key_of
from noetl.server.schedules.times import BadTimes, time_of, words_of
from noetl_ir.events import iso_of
from noetl_ir.expr import Json
from noetl_ir.records import NamedTuple

NEXT, LAST = 5, MOST_UNSTARTED
"""Times that are told of a schedule: those that come, and those that were."""


class PassedTimes(NamedTuple):
    """Times of a range that a schedule has dealt with, each with its text.

    - `left_out`: the first one that there was no room for; `coming`: the first one that is still to come.
    """

    row: ScheduleRow
    times: tuple[tuple[int, str], ...]
    left_out: str | None = None
    coming: str | None = None


class ScheduleBook(StandingBook[ScheduleRow]):
    """The schedules of a store. One that is paused starts nothing, and goes on with its next time: those of the pause
    are passed.
    """

    noun = "schedule"

    def __init__(self, runtime: Runtime, clock: Clock) -> None:
        self._runtime = runtime
        self._store = runtime.store
        self._clock = clock

    def put(self, document: dict[str, Json], name: str = "") -> dict[str, Json]:
        """Keep a schedule; one of its name is replaced. Where its times are others, it begins with the next one from
        now on. `warnings` are slips that the start would be refused for. Raises BadDocument, also where it has another
        name than the one that was asked for.
        """
        schedule = schedule_of(document)
        check_name(schedule.name, name)
        there = next(iter(self._kept.rows(schedule.name)), None)
        now = self._clock.now()
        row = ScheduleRow(schedule.name, document, now, began=now)
        if there is not None:
            row = row._replace(last=there.last, paused=there.paused)
            if _calendar_of(there) == schedule.calendar:
                row = row._replace(cursor=there.cursor, began=there.began, unstarted=there.unstarted)
        told = _told_schedule(row, schedule)  # before it is kept: what cannot be told could not be listed, either
        self._kept.put(row)
        return {**told, "warnings": [slip.document() for slip in self._slips(schedule, now)]}

    def _slips(self, schedule: Schedule, now: int) -> tuple[StartSlip, ...]:
        keys: dict[str, tuple[str, ...]] = {name: ("spec", "payload", name) for name in schedule.payload}
        if schedule.time_input:
            keys[schedule.time_input] = ("spec", "time_input")
        values, at = schedule.payload_at(now), ("spec", "time_input")
        slips = start_slips(self._runtime, schedule.playbook, schedule.version, values, keys)
        # Of a time nobody sees in the document what comes.
        said = f"; a time such as `{values.get(schedule.time_input)}` comes"
        is_of_value = [slip.key == at and slip.text.startswith("the input ") for slip in slips]
        return tuple(
            [
                slip._replace(text=slip.text + said) if told else slip
                for slip, told in zip(slips, is_of_value, strict=True)
            ]
        )

    def document(self, name: str) -> dict[str, Json]:
        """A schedule, with its next times and what became of the last ones."""
        row = self.row(name)
        told, schedule = self._told_row(row)
        if schedule is None:
            return told
        coming = islice(schedule.calendar.behind(max(row.cursor, self._clock.now())), NEXT)
        told["next"] = [schedule.calendar.text_of(time) for time in coming]
        told["last"] = self._last_times(row, schedule)
        return told

    def _last_times(self, row: ScheduleRow, schedule: Schedule) -> list[Json]:
        """The last times, the newest first: each with its execution, or why it has none."""
        now = self._clock.now()
        known = {each.time: each for each in (*row.unstarted, *_passed_by_pause(row, schedule, now))}
        last: list[Json] = []
        for time in islice(schedule.calendar.before(now if row.paused else row.cursor), LAST):
            started = self._started_at(row.name, time)
            # A time of before there was the schedule was nobody's, unless a backfill started it.
            if time > row.began or started is not None:
                why = known.get(time) if started is None else None
                last.append(
                    {
                        "time": schedule.calendar.text_of(time),
                        "execution_id": started,
                        "why": why.why if why else None,
                        "running": (why.running or None) if why else None,
                    }
                )
        return last

    def passed_times(self, name: str, since: str, until: str, limit: int) -> PassedTimes:
        """The times from one to before another that a schedule has dealt with. Raises BadTimes."""
        row = self.row(name)
        schedule, first, end = schedule_of(row.document), time_of(since), time_of(until)
        if first >= end:
            raise BadTimes(f"`{since}` is not before `{until}`")
        calendar = schedule.calendar._replace(since=0, until=0) if schedule.calendar.cron else schedule.calendar
        times = takewhile(lambda time: time < end, calendar.behind(first - 1))
        found = [*islice(times, limit + 1)]
        passed = [time for time in found[:limit] if time <= row.cursor]
        rest = found[len(passed)] if len(passed) < len(found) else None
        is_coming = rest is not None and rest > row.cursor
        text = None if rest is None else calendar.text_of(rest)
        return PassedTimes(
            row,
            tuple([(time, calendar.text_of(time)) for time in passed]),
            left_out=None if is_coming else text,
            coming=text if is_coming else None,
        )

    @property
    def _kept(self) -> Schedules:
        assert isinstance(self._store, Scheduled), "every store that is written to has schedules"
        return self._store.scheduling

    def _is_about(self, document: dict[str, Json], paths: Sequence[str]) -> bool:
        return is_within(schedule_of(document).playbook, paths)

    def _paused(self, row: ScheduleRow, *, paused: bool) -> ScheduleRow:
        if paused or not row.paused:
            return row._replace(paused=paused)
        now = self._clock.now()
        with suppress(BadDocument):  # a newer version may have put it there
            row = row.with_unstarted(_passed_by_pause(row, schedule_of(row.document), now))
        # What hindered a time that is passed hinders nothing any more; where it lasts, the next time says so.
        return row._replace(paused=False, cursor=now, trouble="")

    def _told(self, row: ScheduleRow) -> dict[str, Json]:
        return self._told_row(row)[0]

    def _told_row(self, row: ScheduleRow) -> tuple[dict[str, Json], Schedule | None]:
        """How a schedule stands, and what its document says; None of one that a newer version may have put there."""
        try:
            schedule = schedule_of(row.document)
        except BadDocument as problem:
            return {**_kept_document(row), "trouble": str(problem)}, None
        told = _told_schedule(row, schedule)
        return {**told, "trouble": told["trouble"] or self._nobody(row, schedule)}, schedule

    def _nobody(self, row: ScheduleRow, schedule: Schedule) -> str | None:
        """A sentence where a time has passed that no server has dealt with; None where none is late."""
        coming = None if row.paused else next(schedule.calendar.behind(row.cursor), None)
        if coming is None or self._clock.now() - coming - jitter_of(schedule, coming) <= ON_TIME:
            return None
        last = self._store.execution(row.last) if row.last else None
        if last is not None and last.ended is None:  # for its end a time may wait
            return None
        time = schedule.calendar.text_of(coming)
        return f"{time} has passed, and no server was there: `noetl server` carries out the schedules of its store"

    def execution_at(self, row: ScheduleRow, time: int) -> str | None:
        """The execution that a time of a schedule has; None where it was not started."""
        return self._started_at(row.name, time)

    def _started_at(self, name: str, time: int) -> str | None:
        found = self._store.started_with(key_of(name, time))
        return None if found is None else found[0]


def _told_schedule(row: ScheduleRow, schedule: Schedule) -> dict[str, Json]:
    coming = next(schedule.calendar.behind(row.cursor), None)
    due = None if row.paused or coming is None else schedule.calendar.text_of(coming)
    return {
        **_kept_document(row),
        "playbook": schedule.playbook,
        "times": words_of(schedule.calendar),
        "due": due,
        "dealt_with_until": iso_of(row.cursor),
    }


def _kept_document(row: ScheduleRow) -> dict[str, Json]:
    return {
        "name": row.name,
        "paused": row.paused,
        "trouble": row.trouble or None,
        "last_execution": row.last or None,
        "document": row.document,
    }


def _passed_by_pause(row: ScheduleRow, schedule: Schedule, now: int) -> list[UnstartedTime]:
    """The last times that have passed since a schedule is paused, in their order."""
    if not row.paused:
        return []
    times = takewhile(lambda time: time > row.cursor, schedule.calendar.before(now))
    return [UnstartedTime(time, PAUSED) for time in islice(times, LAST)][::-1]


def _calendar_of(row: ScheduleRow) -> object:
    try:
        return schedule_of(row.document).calendar
    except BadDocument:
        return None
