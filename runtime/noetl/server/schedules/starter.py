"""The starts of schedules: what is due is started, once for each time, and the row of the schedule moves on behind it.

Any number of servers may do so at once, and each may die at any point. A start has a key of its schedule and time, so
that a store takes it once; whoever finds it taken moves the row on as if it had started it.
"""

from collections import Counter
from collections.abc import Callable, Iterator

from noetl.ports import Clock, Store, StoreRefused
from noetl.ports.namespaces import QuotaExceeded
from noetl.ports.schedules import QUOTA, REFUSED, ScheduleRow, Schedules, UnstartedTime
from noetl.server.checked_documents import BadDocument
from noetl.server.schedules.document import Schedule, schedule_of
from noetl.server.schedules.due import due, jitter_of, key_of
from noetl.server.schedules.quota_waits import QuotaWaits
from noetl_ir.expr import Json
from noetl_ir.records import NamedTuple

MOST_STARTS = 200
"""Starts of one schedule in one look: the others get their turn."""


FOR_EVER = 1 << 62
"""A moment that never comes, in microseconds."""


class StartRefused(Exception):
    """A start cannot be made now; the text says why. `quota` is the quota of its namespace that hinders it."""

    def __init__(self, text: str, quota: QuotaExceeded | None = None) -> None:
        super().__init__(text)
        self.quota = quota


class ScheduledStart(NamedTuple):
    """A start: of what, with which payload, under which key; `started_by` is what the execution says of where it comes
    from. `due` is when it was to be made, in microseconds since the epoch; 0 where it was asked for afterwards.
    """

    schedule: Schedule
    payload: dict[str, Json]
    key: str
    started_by: dict[str, Json]
    due: int = 0


class ScheduleStarter:
    """Starts what is due. `begin` makes a start and gives the id of its execution, that of an earlier one with its key;
    it raises StartRefused. `cancel` ends an execution. `say` hears of what could not be started, `passed` how many
    times were not started, and why.
    """

    def __init__(
        self,
        store: Store,
        schedules: Schedules,
        clock: Clock,
        begin: Callable[[ScheduledStart], str],
        cancel: Callable[[str], None],
        say: Callable[[str], None] = lambda text: None,
        passed: Callable[[str, int], None] = lambda why, count: None,
    ) -> None:
        self._store = store
        self._schedules = schedules
        self._clock = clock
        self._begin = begin
        self._cancel = cancel
        self._say = say
        self._passed = passed
        # To read a document and its calendar takes a hundred times as long as to see that its row is as it was.
        self._until: dict[str, tuple[ScheduleRow, int]] = {}
        self._waits = QuotaWaits()

    def look(self) -> None:
        """Start all that is due. Raises StoreFailure."""
        known, self._until = self._until, {}
        for row in self._waits.in_turn(self._schedules.rows()):
            if row.paused or self._waits.has_to_wait(row.name, self._clock.now()):
                continue
            seen, until = known.get(row.name, (None, 0))
            if seen == row and self._clock.now() < until:
                self._until[row.name] = row, until
                continue
            try:
                self._deal_with(row)
            except (StoreRefused, ArithmeticError, ValueError, TypeError, KeyError) as problem:
                # Of this schedule alone: the others have their times.
                self._trouble(row, f"it cannot be carried out: {type(problem).__name__}: {problem}")

    def _deal_with(self, row: ScheduleRow) -> None:
        try:
            schedule = schedule_of(row.document)
        except BadDocument as problem:  # a newer version may have put it there
            self._trouble(row, f"it is no schedule: {problem}")
            return
        for _ in range(MOST_STARTS):
            found = due(schedule, row, self._clock.now(), since=self._running_since(row))
            after = row._replace(cursor=found.cursor, trouble="" if found.time is not None else row.trouble)
            unstarted = found.unstarted(row.last, row.waiting)
            after = after.with_unstarted(unstarted)
            if found.time is not None:
                try:
                    if found.cancels:
                        self._cancel(row.last)
                    after = after._replace(last=self._begin(start_at(schedule, found.time)))
                except StartRefused as problem:
                    # It stays due: what is lacking may come in time, and then it is the newest time that was missed.
                    if problem.quota is not None:
                        self._waits.refuse(row.name, problem.quota, self._clock.now())
                    why = REFUSED if problem.quota is None else QUOTA
                    waits = UnstartedTime(found.time, why)
                    self._trouble(row, f"{schedule.calendar.text_of(found.time)}: {problem}", str(problem), waits)
                    return
            self._waits.settle(row.name)
            if after == row:
                coming = next(schedule.calendar.behind(row.cursor), None)
                self._until[row.name] = row, FOR_EVER if coming is None else coming
                return
            # Another server moved it, or a person changed it: the next look begins with what stands there then.
            if not self._schedules.move(row, after):
                return
            self._tell_passed(row, schedule, unstarted)
            row = after

    def _tell_passed(self, row: ScheduleRow, schedule: Schedule, times: list[UnstartedTime]) -> None:
        """Count the times that are passed, and say so of those that a refusal has cost."""
        for why, count in Counter([each.why for each in times]).items():
            self._passed(why, count)
            if why in (QUOTA, REFUSED):
                last = schedule.calendar.text_of(max(each.time for each in times if each.why == why))
                told = f"{count} times up to {last} are not started" if count > 1 else f"{last} is not started"
                self._say(f"schedule {row.name}: {told}: refused for too long (`catch_up: {schedule.catch_up}`)")

    def is_running(self, row: ScheduleRow) -> bool:
        """Whether the execution that a schedule started last is not over."""
        return self._running_since(row) is not None

    def _running_since(self, row: ScheduleRow) -> int | None:
        found = self._store.execution(row.last) if row.last else None
        return found.started if found is not None and found.ended is None else None

    def backfill(self, row: ScheduleRow, times: Iterator[int]) -> Iterator[tuple[int, str]]:
        """Start times that were dealt with, in their order; each with its execution, that of its first start where it
        had one. Raises StartRefused, StoreFailure.
        """
        schedule = schedule_of(row.document)
        for time in times:
            yield time, self._begin(start_at(schedule, time, backfill=True))

    def start_now(self, row: ScheduleRow, key: str) -> str:
        """Start what a schedule starts, with now as its time, whatever runs; what has one key is one start. Raises
        StartRefused, StoreFailure.
        """
        schedule, now = schedule_of(row.document), self._clock.now()
        started_by: dict[str, Json] = {
            "schedule": schedule.name, "time": schedule.calendar.text_of(now), "asked": True,
        }  # fmt: skip
        key = f"{key_of(schedule.name, 0)}\0{key}"
        return self._begin(ScheduledStart(schedule, schedule.payload_at(now), key, started_by))

    def _trouble(self, row: ScheduleRow, text: str, why: str = "", waits: UnstartedTime | None = None) -> None:
        """Say what hinders a schedule, and once where only the time is another one (`why` is the rest). `waits` is the
        time that it hinders; of the times behind that one the row needs to know nothing.
        """
        is_known = row.trouble.endswith(f": {why}") if why else row.trouble == text
        after = row if is_known else row._replace(trouble=text)
        if waits is not None and not (row.waiting and row.waiting[-1].why == waits.why):
            after = after.with_unstarted([waits])
        if after != row and self._schedules.move(row, after) and not is_known:
            self._say(f"schedule {row.name}: {text}")


def start_at(schedule: Schedule, time: int, *, backfill: bool = False) -> ScheduledStart:
    """The start at a time."""
    started_by: dict[str, Json] = {"schedule": schedule.name, "time": schedule.calendar.text_of(time)}
    if backfill:
        started_by["backfill"] = True
    due = 0 if backfill else time + jitter_of(schedule, time)
    return ScheduledStart(schedule, schedule.payload_at(time), key_of(schedule.name, time), started_by, due)
