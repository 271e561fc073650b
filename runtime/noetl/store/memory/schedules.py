"""The schedules of the store in memory."""

from noetl.ports.schedules import ScheduleRow
from noetl.store.memory.standing import MemoryStanding


class MemorySchedules(MemoryStanding[ScheduleRow]):
    """`Schedules` in a dictionary."""

    noun = "schedule"

    def put_schedule(self, row: ScheduleRow) -> None:
        """`Schedules.put_schedule`."""
        self.put_row(row)

    def remove_schedule(self, name: str) -> bool:
        """`Schedules.remove_schedule`."""
        return self.remove_row(name)

    def schedules(self, name: str = "") -> tuple[ScheduleRow, ...]:
        """`Schedules.schedules`."""
        return self.rows_named(name)

    def move_schedule(self, before: ScheduleRow, after: ScheduleRow) -> bool:
        """`Schedules.move_schedule`."""
        return self.move_row(before, after)
