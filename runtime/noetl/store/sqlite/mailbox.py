"""The mailbox of a SQLite file: each change is one transaction, which no other writer comes between."""

import sqlite3
import time
from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from noetl.clients import mailbox_rows
from noetl.ports import Over
from noetl.ports.mailbox import Correspondence, Letter, OpenWait

if TYPE_CHECKING:
    from noetl.store.sqlite import SqliteStore

_SENT = "SELECT 1 FROM inbox WHERE once = :once"
_T = TypeVar("_T")


class _Transaction:
    """`mailbox_rows.Transaction`."""

    def __init__(self, store: "SqliteStore", cursor: sqlite3.Cursor) -> None:
        self._store = store
        self._cursor = cursor
        self.now = time.time_ns() // 1000

    def rows(self, query: str, values: Mapping[str, Any]) -> list[tuple[Any, ...]]:
        return self._cursor.execute(query, values).fetchall()

    def leave(self, execution_id: str, body: str, once: str) -> int | None:
        try:
            return self._store.leave(self._cursor, execution_id, "signal", body, once)
        except Over:
            return None

    def is_sent(self, once: str) -> bool:
        return bool(self.rows(_SENT, {"once": once}))


class SqliteMailbox:
    """The mailbox of a store."""

    def __init__(self, store: "SqliteStore") -> None:
        self._store = store

    def post_letter(self, letter: Letter, now: int | None = None) -> bool:
        """`Mailbox.post_letter`."""
        return self._change(lambda tx: mailbox_rows.post_letter(tx, letter, now))

    def await_letter(self, wait: OpenWait, now: int | None = None) -> bool:
        """`Mailbox.await_letter`."""
        return self._change(lambda tx: mailbox_rows.await_letter(tx, wait, now))

    def settle_mail(self, execution_id: str, calls: Collection[str], rows: Collection[int]) -> None:
        """`Mailbox.settle_mail`."""
        self._change(lambda tx: mailbox_rows.settle_mail(tx, execution_id, calls, rows))

    def return_letter(self, execution_id: str, row: int, now: int | None = None) -> None:
        """`Mailbox.return_letter`."""
        self._change(lambda tx: mailbox_rows.return_letter(tx, execution_id, row, now))

    def correspondence(self, execution_id: str) -> Correspondence:
        """`Mailbox.correspondence`."""
        of = {"execution_id": execution_id}
        return mailbox_rows.correspondence(
            self._store.rows(mailbox_rows.ROWS_OF, of), self._store.rows(mailbox_rows.CALLS_OF, of)
        )

    def stranded_letters(self) -> tuple[tuple[str, int], ...]:
        """`Mailbox.stranded_letters`."""
        return tuple([(name, int(row)) for name, row in self._store.rows(mailbox_rows.STRANDED, ())])

    def _change(self, work: Callable[[mailbox_rows.Transaction], _T]) -> _T:
        def changed(cursor: sqlite3.Cursor) -> _T:
            done = work(_Transaction(self._store, cursor))
            self._store.reach("mail.after_write")
            return done

        return self._store.write("mail", changed)
