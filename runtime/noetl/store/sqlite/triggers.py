"""The triggers of a SQLite file."""

from noetl.clients.trigger_rows import SqlTriggers
from noetl.store.sqlite.transaction import SqlitePart


class SqliteTriggers(SqlitePart, SqlTriggers):
    """The triggers of a store."""

    operation = "trigger"
