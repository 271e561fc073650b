"""The namespaces of the store in memory."""

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager

from noetl.clients.quotas import check_open, check_paused, check_starts
from noetl.clients.token_bucket import START, Bucket, filled, full
from noetl.ports import ExecutionRow
from noetl.ports.namespaces import NamespaceRow, NamespaceUse, PrefixTaken
from noetl.store.memory.standing import MemoryStanding


class MemoryNamespaces(MemoryStanding[NamespaceRow]):
    """`Namespaces` in dictionaries. `executions` gives the rows of all, and `now` the time."""

    noun = "namespace"

    def __init__(
        self,
        changing: Callable[[], AbstractContextManager[None]],
        looking: Callable[[], AbstractContextManager[None]],
        record_deed: Callable[[str, str], None],
        executions: Callable[[], Iterable[ExecutionRow]],
        now: Callable[[], int],
    ) -> None:
        super().__init__(changing, looking, record_deed)
        self._executions = executions
        self._now = now
        self._buckets: dict[str, Bucket] = {}

    def put(self, row: NamespaceRow) -> None:
        """`Standing.put`."""
        for other in self.rows():
            if other.prefix == row.prefix and other.name != row.name:
                raise PrefixTaken(other.name)
        super().put(row)

    def forget_beside(self, name: str) -> None:
        """`MemoryStanding.forget_beside`."""
        self._buckets.pop(name, None)

    def uses(self, rows: Sequence[NamespaceRow]) -> tuple[NamespaceUse, ...]:
        """`Namespaces.uses`."""
        with self._looking():
            return tuple([NamespaceUse(self._open(row), self._starts_left(row)) for row in rows])

    def check_start(self, started: ExecutionRow) -> None:
        """Take a place for an execution, within the change that adds it. Raises QuotaExceeded: then it is not added."""
        row = self._of(started.playbook) if started.parent_execution_id is None else None
        if row is None:
            return
        check_paused(row)
        if row.open_executions:
            check_open(row, self._open(row) + (started.ended is None))
        if row.starts_per_minute:
            bucket = self._buckets.get(row.name) or full(row.burst, started.started)
            self._buckets[row.name] = check_starts(row, bucket, started.started)

    def _of(self, playbook: str) -> NamespaceRow | None:
        """The namespace of a playbook: that of the longest prefix."""
        fitting = [row for row in self._rows.values() if playbook.startswith(row.prefix)]
        return max(fitting, key=lambda row: len(row.prefix), default=None)

    def _open(self, row: NamespaceRow) -> int:
        return sum(
            each.ended is None and each.parent_execution_id is None and self._of(each.playbook) == row
            for each in self._executions()
        )

    def _starts_left(self, row: NamespaceRow) -> int | None:
        if not row.starts_per_minute:
            return None
        now = self._now()
        bucket = self._buckets.get(row.name) or full(row.burst, now)
        return filled(bucket, row.starts_per_minute, row.burst, now).parts // START
