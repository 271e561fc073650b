"""The purges of a PostgreSQL database."""

from collections.abc import Callable, Mapping
from typing import Any

from noetl.clients.purge_rows import RowTransaction, SqlPurges
from noetl.store.postgres.access import DatabaseAccess
from noetl.store.postgres.pool import PostgresConnection
from noetl.store.postgres.texts import named_query, read_row, written_values
from noetl.store.postgres.transaction import PostgresTransaction

_SWEEP = """
DELETE FROM events WHERE execution = %(number)s AND position IN
  (SELECT position FROM events WHERE execution = %(number)s ORDER BY position LIMIT %(limit)s)
"""


class PostgresPurges(SqlPurges):
    """The purges of a store. A change that is repeated, as its answer was lost, finds nothing more to do."""

    def __init__(self, access: DatabaseAccess) -> None:
        self._access = access

    def look(self, query: str, values: Mapping[str, Any]) -> list[tuple[Any, ...]]:
        """`SqlPurges.look`."""
        return [read_row(row) for row in self._access.rows(named_query(query), written_values(values))]

    def change(self, work: Callable[[RowTransaction], None]) -> None:
        """`SqlPurges.change`."""
        self._access.reach("purge.before_write")

        def changed(connection: PostgresConnection) -> None:
            with connection.transaction():
                work(PostgresTransaction(connection))
                self._access.reach("purge.before_commit")

        self._access.run(changed)
        self._access.reach("purge.after_commit")

    def remove_events(self, number: int, limit: int) -> bool:
        """`SqlPurges.remove_events`."""
        values = {"number": number, "limit": limit}
        return self._access.run(lambda connection: connection.execute(_SWEEP, values).rowcount < limit)
