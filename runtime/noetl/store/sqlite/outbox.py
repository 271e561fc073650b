"""The outbox of a SQLite file."""

from noetl.clients.outbox_rows import SqlOutbox
from noetl.store.sqlite.transaction import SqlitePart


class SqliteOutbox(SqlitePart, SqlOutbox):
    """The outbox of a store."""

    operation = "outbox"
