"""The schedules of a PostgreSQL database."""

from noetl.clients.schedule_rows import SqlSchedules
from noetl.store.postgres.transaction import PostgresPart


class PostgresSchedules(PostgresPart, SqlSchedules):
    """The schedules of a store."""

    operation = "schedule"
