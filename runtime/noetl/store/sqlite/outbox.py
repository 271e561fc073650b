"""The outbox of a SQLite file."""

from noetl.clients.outbox_rows import SqlOutbox
from noetl.store.sqlite.transaction import SqlitePart


class SqliteOutbox(SqlitePart, SqlOutbox):
    """The outbox of a store."""

    operation = "outbox"
    # SQLite takes the index over topics where one is asked for, and sorts all of its rows to find the first one.
    indexed = "INDEXED BY outbox_due"
