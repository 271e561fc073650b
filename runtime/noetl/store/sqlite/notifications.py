"""The notifications of a SQLite file."""

from noetl.clients.notification_rows import SqlNotifications
from noetl.store.sqlite.transaction import SqlitePart


class SqliteNotifications(SqlitePart, SqlNotifications):
    """The notifications of a store."""

    operation = "notification"
