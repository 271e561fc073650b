"""The purges of a SQLite file."""

import sqlite3
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from noetl.clients.purge_rows import RowTransaction, SqlPurges
from noetl.store.sqlite.transaction import SqliteTransaction

if TYPE_CHECKING:
    from noetl.store.sqlite import SqliteStore

_SWEEP = """
DELETE FROM events WHERE key IN
  (SELECT key FROM events WHERE key > ?1 << 32 AND key < (?1 + 1) << 32 ORDER BY key LIMIT ?2)
"""


class SqlitePurges(SqlPurges):
    """The purges of a store."""

    def __init__(self, store: "SqliteStore") -> None:
        self._store = store

    def look(self, query: str, values: Mapping[str, Any]) -> list[tuple[Any, ...]]:
        """`SqlPurges.look`."""
        return self._store.rows(query, values)

    def change(self, work: Callable[[RowTransaction], None]) -> None:
        """`SqlPurges.change`."""

        def changed(cursor: sqlite3.Cursor) -> None:
            work(SqliteTransaction(cursor))
            # Who once took one of them from an owner that stood still owns it no more.
            cursor.execute("DELETE FROM taken WHERE execution_id IN (SELECT execution_id FROM purged)")
            self._store.reach("purge.after_write")

        self._store.write("purge", changed)

    def remove_events(self, number: int, limit: int) -> bool:
        """`SqlPurges.remove_events`."""
        return self._store.write("sweep", lambda cursor: cursor.execute(_SWEEP, (number, limit)).rowcount < limit)
