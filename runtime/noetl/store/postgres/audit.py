"""The audit of a PostgreSQL database."""

from noetl.clients.audit_rows import SqlAudit
from noetl.store.postgres.transaction import PostgresPart


class PostgresAudit(PostgresPart, SqlAudit):
    """The audit of a store."""

    operation = "audit"
