"""The outbox of the store in memory."""

import json
from collections.abc import Callable, Collection, Sequence
from contextlib import AbstractContextManager
from itertools import islice

from noetl.ports import ExecutionRow
from noetl.ports.outbox import OutboxRow, WantedOutbox


class MemoryOutbox:
    """`Outbox` in a dictionary. `changing` and `looking` are what a change and a look are made in."""

    def __init__(
        self, changing: Callable[[], AbstractContextManager[None]], looking: Callable[[], AbstractContextManager[None]]
    ) -> None:
        self._changing = changing
        self._looking = looking
        self._topics: dict[str, bool] = {}
        self._rows: dict[int, OutboxRow] = {}
        self._count = 0

    def watch_ends(self, topic: str, *, top: bool) -> None:
        """`Outbox.watch_ends`."""
        with self._changing():
            self._topics[topic] = top

    def unwatch_ends(self, topic: str) -> None:
        """`Outbox.unwatch_ends`."""
        with self._changing():
            self._topics.pop(topic, None)
            self._rows = {number: row for number, row in self._rows.items() if row.topic != topic}

    def watched_ends(self) -> tuple[str, ...]:
        """`Outbox.watched_ends`."""
        with self._looking():
            return tuple(sorted(self._topics))

    def execution_ended(self, row: ExecutionRow) -> None:
        """Put the rows of an execution that ends, within the change that ends it."""
        for topic, top in self._topics.items():
            if not top or row.parent_execution_id is None:
                self._put(OutboxRow(0, topic, row.execution_id, None, row.ended or 0, 0))

    def execution_purged(self, execution_id: str) -> None:
        """Remove the rows of the end of an execution, within the change that purges it."""
        is_end = {(topic, execution_id) for topic in self._topics}
        self._rows = {number: row for number, row in self._rows.items() if (row.topic, row.subject) not in is_end}

    def put_outbox(self, rows: Sequence[OutboxRow], *, instead_of: int = 0) -> None:
        """`Outbox.put_outbox`."""
        with self._changing():
            self.put_rows(rows, instead_of)

    def put_rows(self, rows: Sequence[OutboxRow], instead_of: int) -> None:
        """`Outbox.put_outbox` within a change."""
        for row in rows:
            self._put(row._replace(body=json.loads(json.dumps(row.body))))
        self._rows.pop(instead_of, None)

    def take_outbox(
        self, topics: Collection[str], now: int, until: int, limit: int, *, without: Collection[str] = ()
    ) -> tuple[OutboxRow, ...]:
        """`Outbox.take_outbox`."""
        with self._changing():
            rows = [row for row in self._rows.values() if _is_of(row, topics) and row.topic not in without]
            due = [row for row in rows if not row.is_dead and row.due <= now]
            found = sorted(due, key=lambda row: (row.due, row.number))[:limit]
            for row in found:
                self._rows[row.number] = row._replace(due=until, tries=row.tries + 1)
            return tuple(found)

    def settle_outbox(self, number: int) -> None:
        """`Outbox.settle_outbox`."""
        with self._changing():
            self._rows.pop(number, None)

    def put_off_outbox(self, number: int, due: int, trouble: str, *, dead: bool = False) -> None:
        """`Outbox.put_off_outbox`."""
        with self._changing():
            if (row := self._rows.get(number)) is not None:
                self._rows[number] = row._replace(due=due, trouble=trouble, is_dead=dead)

    def outbox_rows(self, wanted: WantedOutbox) -> tuple[OutboxRow, ...]:
        """`Outbox.outbox_rows`."""
        with self._looking():
            rows = (row for _, row in sorted(self._rows.items()) if _is_wanted(row, wanted))
            return tuple(islice(rows, wanted.limit or None))

    def revive_outbox(self, number: int, now: int) -> bool:
        """`Outbox.revive_outbox`."""
        with self._changing():
            row = self._rows.get(number)
            if row is None or not row.is_dead:
                return False
            self._rows[number] = row._replace(is_dead=False, tries=0, due=now)
            return True

    def _put(self, row: OutboxRow) -> None:
        if not any((row.topic, row.subject) == (there.topic, there.subject) for there in self._rows.values()):
            self._count += 1
            self._rows[self._count] = row._replace(number=self._count)


def _is_of(row: OutboxRow, topics: Collection[str]) -> bool:
    return any(row.topic == topic or (topic.endswith(":") and row.topic.startswith(topic)) for topic in topics)


def _is_wanted(row: OutboxRow, wanted: WantedOutbox) -> bool:
    return (
        wanted.topic in ("", row.topic)
        and row.topic.startswith(wanted.prefix)
        and wanted.dead in (None, row.is_dead)
        and row.number > wanted.after
    )
