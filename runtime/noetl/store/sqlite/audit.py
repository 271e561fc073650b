"""The audit of a SQLite file."""

from noetl.clients.audit_rows import SqlAudit
from noetl.store.sqlite.transaction import SqlitePart


class SqliteAudit(SqlitePart, SqlAudit):
    """The audit of a store."""

    operation = "audit"
