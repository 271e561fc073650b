"""Schedules that wait for a place in their namespace: who waited longest is tried first, and the others not before it.

Ten thousand schedules may be due in a namespace that is full. To try all of them again at each look would be all that a
server does.
"""

from collections.abc import Iterable

from noetl.ports.namespaces import QuotaExceeded
from noetl.ports.schedules import ScheduleRow

SECOND = 1_000_000


class QuotaWaits:
    """The schedules whose starts a quota refused. Times are microseconds of one clock."""

    def __init__(self) -> None:
        self._since: dict[str, tuple[int, str]] = {}
        self._full_until: dict[str, int] = {}

    def refuse(self, schedule: str, quota: QuotaExceeded, now: int) -> None:
        """A start was refused; all that wait for the same namespace wait as long as that says."""
        self._full_until[quota.namespace] = now + quota.retry_after * SECOND
        since, _ = self._since.get(schedule, (now, ""))
        self._since[schedule] = since, quota.namespace

    def settle(self, schedule: str) -> None:
        """A schedule has its start, or needs none."""
        if self._since and (found := self._since.pop(schedule, None)) is not None:
            self._full_until.pop(found[1], None)

    def has_to_wait(self, schedule: str, now: int) -> bool:
        """Whether there is no use in trying a schedule now."""
        found = self._since.get(schedule)
        return found is not None and now < self._full_until.get(found[1], 0)

    def in_turn(self, rows: Iterable[ScheduleRow]) -> Iterable[ScheduleRow]:
        """The schedules as they are to be tried: those that wait, by how long, and then the others."""
        if not self._since:
            return rows
        found = {row.name: row for row in rows}
        self._since = {name: since for name, since in self._since.items() if name in found}
        waiting = sorted(self._since, key=lambda name: self._since[name])
        return [found[name] for name in {**dict.fromkeys(waiting), **found}]
