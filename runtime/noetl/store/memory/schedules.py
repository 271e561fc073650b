"""The schedules of the store in memory."""

from noetl.ports.schedules import ScheduleRow
from noetl.store.memory.standing import MemoryStanding


class MemorySchedules(MemoryStanding[ScheduleRow]):
    """`Schedules` in a dictionary."""

    noun = "schedule"
