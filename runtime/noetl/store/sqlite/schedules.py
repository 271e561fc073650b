"""The schedules of a SQLite file."""

from noetl.clients.schedule_rows import SqlSchedules
from noetl.store.sqlite.transaction import SqlitePart


class SqliteSchedules(SqlitePart, SqlSchedules):
    """The schedules of a store."""

    operation = "schedule"
