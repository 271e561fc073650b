"""The mailbox of a PostgreSQL database: its changes take the lock of the inbox, so that none comes between another."""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from noetl.clients.mailbox_rows import SqlMailbox, Transaction
from noetl.store.postgres.access import DatabaseAccess
from noetl.store.postgres.inbox import InboxRows
from noetl.store.postgres.owners import INBOX_LOCK
from noetl.store.postgres.pool import PostgresConnection
from noetl.store.postgres.texts import named_query, read_row, written_values

_NOW = "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint"
_T = TypeVar("_T")


class _Transaction:
    """`Transaction`."""

    def __init__(self, inbox: InboxRows, connection: PostgresConnection, now: int) -> None:
        self._inbox = inbox
        self._connection = connection
        self.now = now

    def rows(self, query: str, values: Mapping[str, Any]) -> list[tuple[Any, ...]]:
        done = self._connection.execute(named_query(query), written_values(values))
        return [read_row(row) for row in done.fetchall()] if done.description else []

    def leave(self, execution_id: str, body: str, once: str) -> int | None:
        return self._inbox.leave(self._connection, execution_id, "signal", body, self._inbox.token(once))

    def sent(self, once: str) -> str | None:
        query = "SELECT body FROM inbox WHERE token = %(token)s"
        row = self._connection.execute(query, {"token": self._inbox.token(once)}).fetchone()
        return None if row is None else str(row[0])


class PostgresMailbox(SqlMailbox):
    """The mailbox of a store. A change that is repeated, as its answer was lost, finds what it did."""

    def __init__(self, access: DatabaseAccess, inbox: InboxRows) -> None:
        self._access = access
        self._inbox = inbox

    def look(self, query: str, values: Mapping[str, Any]) -> list[tuple[Any, ...]]:
        """`SqlMailbox.look`."""
        return [read_row(row) for row in self._access.rows(named_query(query), written_values(values))]

    def now(self) -> int:
        """`SqlMailbox.now`."""
        return int(self._access.rows(_NOW, {})[0][0])

    def change(self, work: Callable[[Transaction], _T]) -> _T:
        """`SqlMailbox.change`."""
        self._access.reach("mail.before_write")
        lock = {"schema": self._access.pool.address.namespace}

        def changed(connection: PostgresConnection) -> _T:
            with connection.transaction():
                # It may put a row into an inbox, and those become visible in the order of their numbers.
                connection.execute(INBOX_LOCK, lock)
                (now,) = connection.execute(_NOW).fetchone() or (0,)
                done = work(_Transaction(self._inbox, connection, int(now)))
                self._access.reach("mail.before_commit")
                return done

        done = self._access.run(changed)
        self._access.reach("mail.after_commit")
        return done
