"""The schedules of the store in memory."""

from collections.abc import Callable
from contextlib import AbstractContextManager

from noetl.ports.schedules import ScheduleRow


class MemorySchedules:
    """`Schedules` in a dictionary. `changing` and `looking` are what a change and a look are made in."""

    def __init__(
        self,
        changing: Callable[[], AbstractContextManager[None]],
        looking: Callable[[], AbstractContextManager[None]],
        record_deed: Callable[[str, str], None],
    ) -> None:
        self._changing = changing
        self._looking = looking
        self._record_deed = record_deed
        self._rows: dict[str, ScheduleRow] = {}

    def put_schedule(self, row: ScheduleRow) -> None:
        """`Schedules.put_schedule`."""
        with self._changing():
            self._rows[row.name] = row
            self._record_deed("schedule-put", row.name)

    def remove_schedule(self, name: str) -> bool:
        """`Schedules.remove_schedule`."""
        with self._changing():
            is_there = self._rows.pop(name, None) is not None
            if is_there:
                self._record_deed("schedule-delete", name)
            return is_there

    def schedules(self, name: str = "") -> tuple[ScheduleRow, ...]:
        """`Schedules.schedules`."""
        with self._looking():
            return tuple([row for _, row in sorted(self._rows.items()) if name in ("", row.name)])

    def move_schedule(self, before: ScheduleRow, after: ScheduleRow) -> bool:
        """`Schedules.move_schedule`."""
        with self._changing():
            there = self._rows.get(before.name)
            if there == before:
                self._rows[before.name] = after
                if before.paused != after.paused:
                    self._record_deed("schedule-pause" if after.paused else "schedule-resume", after.name)
            return there in (before, after)
