"""A transaction of a database, as the parts that share their SQL with other stores use it."""

from collections.abc import Mapping
from typing import Any

from noetl.store.postgres.pool import PostgresConnection
from noetl.store.postgres.texts import named_query, read_row, written_values


class PostgresTransaction:
    """`RowTransaction`."""

    def __init__(self, connection: PostgresConnection) -> None:
        self._connection = connection

    def rows(self, query: str, values: Mapping[str, Any]) -> list[tuple[Any, ...]]:
        """The rows of a query."""
        done = self._connection.execute(named_query(query), written_values(values))
        return [read_row(row) for row in done.fetchall()] if done.description else []
