"""Transactions of a database, as the parts have them that share their SQL with other stores."""

from collections.abc import Callable, Mapping
from typing import Any

from noetl.clients.row_transaction import RowTransaction
from noetl.store.postgres.access import DatabaseAccess
from noetl.store.postgres.pool import PostgresConnection
from noetl.store.postgres.texts import named_query, read_row, written_values


class PostgresTransaction:
    """`RowTransaction`."""

    def __init__(self, connection: PostgresConnection) -> None:
        self._connection = connection

    def rows(self, query: str, values: Mapping[str, Any]) -> list[tuple[Any, ...]]:
        done = self._connection.execute(named_query(query), written_values(values))
        return [read_row(row) for row in done.fetchall()] if done.description else []


class PostgresPart:
    """A part of a store; `operation` is the name of its changes among the fault points. A change that is repeated, as
    its answer was lost, finds what it did.
    """

    operation = ""
    locking = "FOR UPDATE"
    """How a query locks the rows that it finds (`SqlPart.locking`): of two that change one the second waits."""

    def __init__(self, access: DatabaseAccess) -> None:
        self._access = access

    def look(self, query: str, values: Mapping[str, Any]) -> list[tuple[Any, ...]]:
        """The rows of a query, whose parameters are written `:name`."""
        return [read_row(row) for row in self._access.rows(named_query(query), written_values(values))]

    def change(self, work: Callable[[RowTransaction], None]) -> None:
        """Do something in a transaction."""
        self._access.reach(f"{self.operation}.before_write")

        def changed(connection: PostgresConnection) -> None:
            with connection.transaction():
                work(PostgresTransaction(connection))
                self._access.reach(f"{self.operation}.before_commit")

        self._access.run(changed)
        self._access.reach(f"{self.operation}.after_commit")
