"""The outbox of a PostgreSQL database."""

from noetl.clients.outbox_rows import SqlOutbox
from noetl.store.postgres.transaction import PostgresPart


class PostgresOutbox(PostgresPart, SqlOutbox):
    """The outbox of a store."""

    operation = "outbox"
    locking = "FOR UPDATE SKIP LOCKED"
