"""Blobs in a table beside the log: a row each, by execution and checksum. A row is whole or not there."""

import hashlib
import os
from collections.abc import Collection, Mapping

import psycopg

from noetl.host.confined_files import file_name_of
from noetl.ports import StoreFailure
from noetl.store.postgres.address import address_of
from noetl.store.postgres.pool import ConnectionPool, PostgresConnection
from noetl.store.postgres.schema import migrate
from noetl_ir.expr import Json
from noetl_ir.outcome import reference as reference_to

MOST_BYTES = 512 << 20
"""The largest blob; PostgreSQL sends a value whole, and one gigabyte is the most that it takes."""


class PostgresBlobs:
    """`Blobs` of the store at `url`. Any thread may call."""

    def __init__(self, url: str) -> None:
        address = address_of(url)
        self._pool = ConnectionPool(address)
        self._pool.once(lambda connection: migrate(connection, address))

    def put(self, execution_id: str, data: bytes) -> dict[str, Json]:
        """A blob that is there already is not written again."""
        if len(data) > MOST_BYTES:
            raise StoreFailure(f"a value of {len(data):,} bytes is larger than the store takes ({MOST_BYTES:,})")
        checksum, folder = hashlib.sha256(data).hexdigest(), file_name_of(execution_id)
        # The key is the hash of the content, so what is there is the same value. That also makes a repeat after a
        # lost answer harmless.
        insert = "INSERT INTO blobs VALUES (%s, %s, %b) ON CONFLICT DO NOTHING"
        self._pool.run(lambda connection: connection.execute(insert, (folder, checksum, data)))
        return reference_to(store="postgres", key=f"{folder}/{checksum}", size=len(data), checksum=checksum)

    def get(self, reference: Mapping[str, Json]) -> bytes:
        key, checksum = reference.get("key"), reference.get("checksum")
        folder, _, name = key.partition("/") if isinstance(key, str) and "\0" not in key else ("", "", "")
        # A reference comes out of data. One whose key and checksum differ was made by hand, and could pass for a
        # value that it is not.
        if not name or name != checksum:
            raise KeyError(f"{key!r} is not the key of a blob")
        query = "SELECT data FROM blobs WHERE folder = %s AND checksum = %s"
        row = self._pool.run(lambda connection: connection.execute(query, (folder, name), binary=True).fetchone())
        if row is None:
            raise KeyError(f"blob {key!r} is gone")
        data = bytes(row[0])
        if len(data) != reference.get("size") or hashlib.sha256(data).hexdigest() != checksum:
            raise KeyError(f"blob {key!r} was altered: it is not what the reference says")
        return data

    def check_room(self, *, suspected: bool) -> None:
        """By a row that is taken back. The server makes its table longer for it."""
        # A write that fails is the only sure sign: no statement tells how much room a server has.
        if suspected:
            self._pool.once(_try_to_write)

    def uncollected(self, after: str, limit: int) -> list[str]:
        """A row without a checksum notes how many there were when it was collected."""
        rows = self._pool.run(lambda connection: connection.execute(_UNCOLLECTED, (after, limit)).fetchall())
        return [str(folder) for (folder,) in rows]

    def names(self, folder: str) -> set[str]:
        query = "SELECT checksum FROM blobs WHERE folder = %s AND checksum <> ''"
        return {name for (name,) in self._pool.run(lambda connection: connection.execute(query, (folder,)).fetchall())}

    def content(self, folder: str, name: str) -> bytes:
        query = "SELECT data FROM blobs WHERE folder = %s AND checksum = %s"
        row = self._pool.run(lambda connection: connection.execute(query, (folder, name), binary=True).fetchone())
        if row is None:
            raise KeyError(f"blob {folder}/{name} is gone")
        return bytes(row[0])

    def collect(self, folder: str, names: Collection[str]) -> int:
        return self._pool.run(lambda connection: _collect(connection, folder, [*names]))

    def remove(self, execution_id: str) -> int:
        """`Removable.remove`."""
        delete = "DELETE FROM blobs WHERE folder = %s RETURNING length(data)"
        folder = (file_name_of(execution_id),)
        rows = self._pool.run(lambda connection: connection.execute(delete, folder).fetchall())
        return sum([int(length) for (length,) in rows])

    def close(self) -> None:
        self._pool.close()


_UNCOLLECTED = """
SELECT folder FROM blobs WHERE folder > %s AND folder <> '=room' GROUP BY folder
HAVING count(*) FILTER (WHERE checksum <> '')::text
  IS DISTINCT FROM max(CASE WHEN checksum = '' THEN convert_from(data, 'UTF8') END)
ORDER BY folder LIMIT %s
"""


def _collect(connection: PostgresConnection, folder: str, names: list[str]) -> int:
    with connection.transaction():
        delete = "DELETE FROM blobs WHERE folder = %s AND checksum = ANY(%s) RETURNING length(data)"
        size = sum(int(length) for (length,) in connection.execute(delete, (folder, names)).fetchall())
        # The note is made anew last: its count is that of what is left.
        connection.execute("DELETE FROM blobs WHERE folder = %s AND checksum = ''", (folder,))
        connection.execute(
            "INSERT INTO blobs SELECT %s, '', convert_to(count(*)::text, 'UTF8') FROM blobs WHERE folder = %s"
            " HAVING count(*) > 0",
            (folder, folder),
        )
    return size


def _try_to_write(connection: PostgresConnection) -> None:
    """Write what nobody will read, and take it back. Chance does not compress."""
    with connection.transaction() as transaction:
        connection.execute("INSERT INTO blobs VALUES ('=room', %s, %b)", (os.urandom(16).hex(), os.urandom(1 << 16)))
        raise psycopg.Rollback(transaction)
