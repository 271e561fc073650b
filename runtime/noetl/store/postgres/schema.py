"""Bring a namespace to the schema that this program writes: `store/sql/postgres_NNNN_<name>.sql`, in order.

Each migration is one transaction that also notes itself in the table `migrations`; of several servers that start at
once, one does it. A namespace of another program and one with a newer schema are refused untouched.
"""

import os

from noetl.ports import StoreFailure
from noetl.store.postgres.address import Address
from noetl.store.postgres.pool import PostgresConnection

_FOLDER = os.path.join(os.path.dirname(os.path.dirname(__file__)), "sql")
VERSION = 25
"""The newest schema; opening a database that has it reads no SQL file."""

OLDEST_SERVER = 120_000
"""The oldest PostgreSQL that will do, as its `server_version_num`."""

LOCK = 0x4E6F4554
"""The advisory lock of whoever changes tables: `NoET`."""

_STATE = """
SELECT to_regclass(%(schema)s || '.migrations') IS NOT NULL,
  EXISTS (SELECT FROM pg_class WHERE relnamespace = to_regnamespace(%(schema)s)),
  current_setting('server_encoding')
"""


def migrate(connection: PostgresConnection, address: Address) -> None:
    """Check whose namespace this is and apply the migrations that it lacks. Raises what the driver raises too."""
    if connection.info.server_version < OLDEST_SERVER:
        raise StoreFailure(f"{address.shown}: PostgreSQL {OLDEST_SERVER // 10_000} or newer is needed")
    if version_of(connection, address) == VERSION:
        return
    with connection.transaction():
        # A migration of a large table takes longer than any statement of a run may.
        connection.execute("SET LOCAL statement_timeout = 0")
        connection.execute("SET LOCAL lock_timeout = 0")
        connection.execute("SELECT pg_advisory_xact_lock(%s::bigint)", (LOCK,))
        # Another server may have been first while this one waited for the lock.
        found = version_of(connection, address)
        if found == 0:
            connection.execute(f"CREATE SCHEMA IF NOT EXISTS {address.namespace}")
        for version, name in files():
            if version > found:
                with open(os.path.join(_FOLDER, name), "rb") as file:
                    connection.execute(file.read())
                connection.execute("INSERT INTO migrations VALUES (%s, %s)", (version, name))


def version_of(connection: PostgresConnection, address: Address) -> int:
    """The schema of the namespace, 0 for one that is empty or not there."""
    (is_ours, is_used, encoding) = connection.execute(_STATE, {"schema": address.namespace}).fetchone() or (False,) * 3
    if encoding != "UTF8":
        raise StoreFailure(f"{address.shown}: the database has the encoding {encoding}; UTF8 is needed")
    if not is_ours:
        if is_used:
            raise StoreFailure(
                f"{address.shown}: the schema `{address.schema}` has tables of another program;"
                " name another one with ?schema=NAME"
            )
        return 0
    row = connection.execute("SELECT max(version) FROM migrations").fetchone()
    version = int(row[0]) if row is not None and row[0] is not None else 0
    if version > VERSION:
        raise StoreFailure(
            f"{address.shown}: a newer noetl wrote this database (schema {version}, this one knows {VERSION}); "
            "use that one, or another --store"
        )
    return version


def files() -> list[tuple[int, str]]:
    """The migrations in order: version and file name."""
    names = sorted(name for name in os.listdir(_FOLDER) if name.startswith("postgres_") and name.endswith(".sql"))
    return [(int(name.split("_")[1]), name) for name in names]
