"""The namespaces of a PostgreSQL database. Their bucket of starts is measured by its clock: servers have one each."""

from noetl.clients.namespace_rows import QuotaDialect, SqlNamespaces, check_quotas
from noetl.store.postgres.pool import PostgresConnection
from noetl.store.postgres.transaction import PostgresPart, PostgresTransaction

_DIALECT = QuotaDialect(
    "FOR UPDATE", 'playbook COLLATE "C"', "", "CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS bigint)"
)


class PostgresNamespaces(PostgresPart, SqlNamespaces):
    """The namespaces of a store."""

    operation = "namespace"
    dialect = _DIALECT


def check_start(connection: PostgresConnection, playbook: str) -> None:
    """Take a place for an execution within the transaction that adds it. Raises QuotaExceeded."""
    check_quotas(PostgresTransaction(connection), _DIALECT, playbook, 0)
