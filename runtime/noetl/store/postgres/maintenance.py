"""The maintenance of a PostgreSQL database."""

from noetl.ports import StoreRefused
from noetl.store.postgres.access import DatabaseAccess
from noetl.store.postgres.pool import PostgresConnection

_SIZE = """
SELECT coalesce(sum(pg_total_relation_size(oid)), 0)::bigint FROM pg_class
WHERE relnamespace = to_regnamespace(%(schema)s) AND relkind = 'r'
"""
_TABLES = """
SELECT format('%%I.%%I', nspname, relname) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.oid = to_regnamespace(%(schema)s) AND relkind = 'r' ORDER BY 1
"""
# A check of PostgreSQL's own, which is not installed everywhere, looks at its files; this one at what our rows say.
_ORPHANS = (
    ("events", "SELECT count(*) FROM (SELECT DISTINCT execution FROM events) e"
     " WHERE NOT EXISTS (SELECT FROM executions WHERE number = e.execution)"
     " AND NOT EXISTS (SELECT FROM purged WHERE number = e.execution)"),
    ("catalogue", "SELECT count(*) FROM catalogue c WHERE NOT EXISTS (SELECT FROM plans WHERE digest = c.digest)"),
)  # fmt: skip


class PostgresMaintenance:
    """`Maintenance` of a store."""

    def __init__(self, access: DatabaseAccess) -> None:
        self._access = access

    def integrity(self) -> tuple[str, ...]:
        """`Maintenance.integrity`."""
        counts = [(table, int(self._access.rows(query)[0][0])) for table, query in _ORPHANS]
        return tuple([f"{count} of `{table}` name what is not there" for table, count in counts if count])

    def vacuum(self) -> tuple[int, int]:
        """`Maintenance.vacuum`."""
        before = self._size()
        tables = [str(name) for (name,) in self._access.rows(_TABLES, self._schema())]

        def vacuumed(connection: PostgresConnection) -> None:
            connection.execute("SET statement_timeout = 0")
            try:
                for name in tables:
                    connection.execute(f"VACUUM (ANALYZE) {name}")  # no transaction takes it
            finally:
                connection.execute("RESET statement_timeout")

        self._access.run(vacuumed)
        return before, self._size()

    def backup(self, path: str) -> None:
        """`Maintenance.backup`: refused, as PostgreSQL has its own way."""
        schema = self._access.pool.address.schema
        raise StoreRefused(f"PostgreSQL copies itself: pg_dump --schema={schema} --format=custom --file={path} URL")

    def _size(self) -> int:
        return int(self._access.rows(_SIZE, self._schema())[0][0])

    def _schema(self) -> dict[str, str]:
        return {"schema": self._access.pool.address.namespace}
