"""The schedules of a PostgreSQL database."""

from collections.abc import Callable, Mapping
from typing import Any

from noetl.clients.purge_rows import RowTransaction
from noetl.clients.schedule_rows import SqlSchedules
from noetl.store.postgres.access import DatabaseAccess
from noetl.store.postgres.pool import PostgresConnection
from noetl.store.postgres.texts import named_query, read_row, written_values
from noetl.store.postgres.transaction import PostgresTransaction


class PostgresSchedules(SqlSchedules):
    """The schedules of a store."""

    locking = "FOR UPDATE"

    def __init__(self, access: DatabaseAccess) -> None:
        self._access = access

    def look(self, query: str, values: Mapping[str, Any]) -> list[tuple[Any, ...]]:
        """`SqlSchedules.look`."""
        return [read_row(row) for row in self._access.rows(named_query(query), written_values(values))]

    def change(self, work: Callable[[RowTransaction], None]) -> None:
        """`SqlSchedules.change`."""
        self._access.reach("schedule.before_write")

        def changed(connection: PostgresConnection) -> None:
            with connection.transaction():
                work(PostgresTransaction(connection))
                self._access.reach("schedule.before_commit")

        self._access.run(changed)
        self._access.reach("schedule.after_commit")
