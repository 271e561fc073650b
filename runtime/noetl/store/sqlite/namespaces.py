"""The namespaces of a SQLite file."""

import sqlite3

from noetl.clients.namespace_rows import QuotaDialect, SqlNamespaces, check_quotas
from noetl.store.sqlite.transaction import SqlitePart, SqliteTransaction


class SqliteNamespaces(SqlitePart, SqlNamespaces):
    """The namespaces of a store."""

    operation = "namespace"


def check_start(cursor: sqlite3.Cursor, playbook: str, now: int) -> None:
    """Take a place for an execution within the transaction that adds it. Raises QuotaExceeded."""
    check_quotas(SqliteTransaction(cursor), QuotaDialect(), playbook, now)
