"""The mailbox of a SQLite file: each change is one transaction, which no other writer comes between."""

import sqlite3
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from noetl.clients.mailbox_rows import SqlMailbox, Transaction
from noetl.ports import Over

if TYPE_CHECKING:
    from noetl.store.sqlite import SqliteStore

_T = TypeVar("_T")


def _now() -> int:
    return time.time_ns() // 1000


class _Transaction:
    """`Transaction`."""

    def __init__(self, store: "SqliteStore", cursor: sqlite3.Cursor) -> None:
        self._store = store
        self._cursor = cursor
        self.now = _now()

    def rows(self, query: str, values: Mapping[str, Any]) -> list[tuple[Any, ...]]:
        return self._cursor.execute(query, values).fetchall()

    def leave(self, execution_id: str, body: str, once: str) -> int | None:
        try:
            return self._store.leave(self._cursor, execution_id, "signal", body, once)
        except Over:
            return None

    def sent(self, once: str) -> str | None:
        rows = self.rows("SELECT body FROM inbox WHERE once = :once", {"once": once})
        return None if not rows else str(rows[0][0])


class SqliteMailbox(SqlMailbox):
    """The mailbox of a store."""

    def __init__(self, store: "SqliteStore") -> None:
        self._store = store

    def look(self, query: str, values: Mapping[str, Any]) -> list[tuple[Any, ...]]:
        """`SqlMailbox.look`."""
        return self._store.rows(query, values)

    def now(self) -> int:
        """`SqlMailbox.now`."""
        return _now()

    def change(self, work: Callable[[Transaction], _T]) -> _T:
        """`SqlMailbox.change`."""

        def changed(cursor: sqlite3.Cursor) -> _T:
            done = work(_Transaction(self._store, cursor))
            self._store.reach("mail.after_write")
            return done

        return self._store.write("mail", changed)
