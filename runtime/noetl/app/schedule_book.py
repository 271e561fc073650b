"""The book of schedules: how they are kept, changed and told of, by the API and beside a store alike."""

from collections.abc import Iterator
from itertools import islice, takewhile

from noetl.ports import Clock, Store
from noetl.ports.schedules import Scheduled, ScheduleRow, Schedules
from noetl.server.schedules.document import BadSchedule, Schedule, schedule_of
from noetl.server.schedules.due import key_of
from noetl.server.schedules.times import BadTimes, time_of
from noetl_ir.events import iso_of
from noetl_ir.expr import Json
from noetl_ir.nearest import nearest

NEXT, LAST = 5, 10
"""Times that are told of a schedule: those that come, and those that were."""


class NoSuchSchedule(Exception):
    """There is no schedule of that name; the text names one that is much like it."""


class ScheduleBook:
    """The schedules of a store. All methods raise StoreFailure, and NoSuchSchedule for a name that is not there."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    def put(self, document: dict[str, Json], name: str = "") -> dict[str, Json]:
        """Keep a schedule; one of its name is replaced. Where its times are others, it begins with the next one from
        now on. Raises BadSchedule, also where it has another name than the one that was asked for.
        """
        schedule = schedule_of(document)
        if name and name != schedule.name:
            raise BadSchedule(f"`metadata.name` is `{schedule.name}`, and the address names `{name}`")
        there = next(iter(self._kept.schedules(schedule.name)), None)
        row = ScheduleRow(schedule.name, document, self._clock.now())
        if there is not None:
            row = row._replace(last=there.last, paused=there.paused)
            if _calendar_of(there) == schedule.calendar:
                row = row._replace(cursor=there.cursor)
        told = self._told(row)  # before it is kept: what cannot be told could not be listed, either
        self._kept.put_schedule(row)
        return told

    def remove(self, name: str) -> None:
        """Keep a schedule no more."""
        if not self._kept.remove_schedule(name):
            raise self._unknown(name)

    def pause(self, name: str) -> dict[str, Json]:
        """Start nothing by a schedule."""
        return self._changed(name, paused=True)

    def resume(self, name: str) -> dict[str, Json]:
        """Go on with its next time: those of the pause are passed."""
        return self._changed(name, paused=False)

    def documents(self, after: str = "", limit: int = 0) -> list[dict[str, Json]]:
        """The schedules behind a name, by name; at most `limit`, 0 for all."""
        rows = (row for row in self._kept.schedules() if row.name > after)
        return [self._told(row) for row in islice(rows, limit or None)]

    def document(self, name: str) -> dict[str, Json]:
        """A schedule, with its next times and what became of the last ones."""
        row = self._row(name)
        told = self._told(row)
        try:
            schedule = schedule_of(row.document)
        except BadSchedule:
            return told
        coming = islice(schedule.calendar.behind(max(row.cursor, self._clock.now())), NEXT)
        told["next"] = [schedule.calendar.text_of(time) for time in coming]
        told["last"] = [self._past(schedule, time) for time in islice(schedule.calendar.before(row.cursor), LAST)]
        return told

    def passed_times(self, name: str, since: str, until: str) -> tuple[ScheduleRow, Iterator[tuple[int, str]]]:
        """The times from one to before another that a schedule has dealt with, each with its text. Raises BadTimes."""
        row = self._row(name)
        schedule, first, end = schedule_of(row.document), time_of(since), time_of(until)
        if first >= end:
            raise BadTimes(f"`{since}` is not before `{until}`")
        calendar = schedule.calendar._replace(since=0, until=0) if schedule.calendar.cron else schedule.calendar
        times = takewhile(lambda time: time < end and time <= row.cursor, calendar.behind(first - 1))
        return row, ((time, calendar.text_of(time)) for time in times)

    @property
    def _kept(self) -> Schedules:
        assert isinstance(self._store, Scheduled), "every store that is written to has schedules"
        return self._store.scheduling

    def _row(self, name: str) -> ScheduleRow:
        found = self._kept.schedules(name)
        if not found:
            raise self._unknown(name)
        return found[0]

    def _unknown(self, name: str) -> NoSuchSchedule:
        near = nearest(name, [row.name for row in self._kept.schedules()])
        return NoSuchSchedule(f"there is no schedule `{name}`" + (f"; did you mean `{near}`?" if near else ""))

    def _changed(self, name: str, *, paused: bool) -> dict[str, Json]:
        while True:
            row = self._row(name)
            after = row._replace(paused=paused, cursor=row.cursor if paused or not row.paused else self._clock.now())
            # A server may move it at the same time.
            if self._kept.move_schedule(row, after):
                return self._told(after)

    def _past(self, schedule: Schedule, time: int) -> Json:
        """A time that was, and the execution that it has; null where it was skipped or passed."""
        return {"time": schedule.calendar.text_of(time), "execution_id": self._started_at(schedule.name, time)}

    def execution_at(self, row: ScheduleRow, time: int) -> str | None:
        """The execution that a time of a schedule has; None where it was not started."""
        return self._started_at(row.name, time)

    def _started_at(self, name: str, time: int) -> str | None:
        found = self._store.started_with(key_of(name, time))
        return None if found is None else found[0]

    def _told(self, row: ScheduleRow) -> dict[str, Json]:
        told: dict[str, Json] = {
            "name": row.name,
            "paused": row.paused,
            "trouble": row.trouble or None,
            "last_execution": row.last or None,
            "document": row.document,
        }
        try:
            schedule = schedule_of(row.document)
        except BadSchedule as problem:
            return {**told, "trouble": str(problem)}
        coming = next(schedule.calendar.behind(row.cursor), None)
        due = None if row.paused or coming is None else schedule.calendar.text_of(coming)
        return {**told, "playbook": schedule.playbook, "due": due, "dealt_with_until": iso_of(row.cursor)}


def _calendar_of(row: ScheduleRow) -> object:
    try:
        return schedule_of(row.document).calendar
    except BadSchedule:
        return None
