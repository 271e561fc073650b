"""The notifications of a PostgreSQL database."""

from noetl.clients.notification_rows import SqlNotifications
from noetl.store.postgres.transaction import PostgresPart


class PostgresNotifications(PostgresPart, SqlNotifications):
    """The notifications of a store."""

    operation = "notification"
