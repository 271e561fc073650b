"""Transactions of a SQLite file, as the parts have them that share their SQL with other stores."""

import sqlite3
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from noetl.clients.row_transaction import RowTransaction

if TYPE_CHECKING:
    from noetl.store.sqlite import SqliteStore


class SqliteTransaction:
    """`RowTransaction`."""

    def __init__(self, cursor: sqlite3.Cursor) -> None:
        self._cursor = cursor

    def rows(self, query: str, values: Mapping[str, Any]) -> list[tuple[Any, ...]]:
        return self._cursor.execute(query, values).fetchall()


class SqlitePart:
    """A part of a store; `operation` is the name of its changes among the fault points."""

    operation = ""

    def __init__(self, store: "SqliteStore") -> None:
        self._store = store

    def look(self, query: str, values: Mapping[str, Any]) -> list[tuple[Any, ...]]:
        """The rows of a query, whose parameters are written `:name`."""
        return self._store.rows(query, values)

    def change(self, work: Callable[[RowTransaction], None]) -> None:
        """Do something in a transaction."""

        def changed(cursor: sqlite3.Cursor) -> None:
            work(SqliteTransaction(cursor))
            self._store.reach(f"{self.operation}.after_write")

        self._store.write(self.operation, changed)
