"""The triggers of a PostgreSQL database."""

from noetl.clients.trigger_rows import SqlTriggers
from noetl.store.postgres.transaction import PostgresPart


class PostgresTriggers(PostgresPart, SqlTriggers):
    """The triggers of a store."""

    operation = "trigger"
