"""The schedules of a SQLite file."""

import sqlite3
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from noetl.clients.purge_rows import RowTransaction
from noetl.clients.schedule_rows import SqlSchedules
from noetl.store.sqlite.transaction import SqliteTransaction

if TYPE_CHECKING:
    from noetl.store.sqlite import SqliteStore


class SqliteSchedules(SqlSchedules):
    """The schedules of a store."""

    def __init__(self, store: "SqliteStore") -> None:
        self._store = store

    def look(self, query: str, values: Mapping[str, Any]) -> list[tuple[Any, ...]]:
        """`SqlSchedules.look`."""
        return self._store.rows(query, values)

    def change(self, work: Callable[[RowTransaction], None]) -> None:
        """`SqlSchedules.change`."""

        def changed(cursor: sqlite3.Cursor) -> None:
            work(SqliteTransaction(cursor))
            self._store.reach("schedule.after_write")

        self._store.write("schedule", changed)
