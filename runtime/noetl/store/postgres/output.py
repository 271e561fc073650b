"""Task output in a table beside the log: a chunk a row, numbered from 1 in its execution."""

import json
from collections.abc import Sequence
from typing import Any

from noetl.ports.output import AttemptKey, OutputChunk, OutputRow, by_execution, fresh_chunks, size_of
from noetl.store.postgres.address import address_of
from noetl.store.postgres.pool import ConnectionPool, PostgresConnection
from noetl.store.postgres.schema import migrate
from noetl.store.postgres.texts import read, written

# The row of the totals is locked for as long as the transaction lasts. So two servers that keep the output of one
# execution do it one after the other, and who reads behind a position misses nothing.
_BEGIN = "INSERT INTO output_totals VALUES (%s, 0, 0) ON CONFLICT DO NOTHING"
_TOTALS = "SELECT chunks, used FROM output_totals WHERE execution_id = %s FOR UPDATE"
_ENDS = "SELECT attempt, max(ends) FROM output WHERE execution_id = %s AND attempt = ANY(%s) GROUP BY attempt"
_ADD = "INSERT INTO output VALUES (%s, %s, %s, %s, %s, %s, %s, %s)"
_COUNT = "UPDATE output_totals SET chunks = %s, used = %s WHERE execution_id = %s"
_READ = """
SELECT number, attempt, stream, starts, at, text FROM output WHERE execution_id = %s AND number > %s
ORDER BY number LIMIT %s
"""


class PostgresOutputs:
    """`Outputs` of the store at `url`."""

    def __init__(self, url: str) -> None:
        address = address_of(url)
        self._pool = ConnectionPool(address)
        self._pool.once(lambda connection: migrate(connection, address))

    def add_chunks(self, chunks: Sequence[OutputChunk]) -> None:
        def added(connection: PostgresConnection) -> None:
            with connection.transaction():
                # Nobody waits for the disk: what a crash of the database loses of it may be lost.
                connection.execute("SET LOCAL synchronous_commit = off")
                # In one order everywhere: two transactions that lock the same executions would otherwise wait for
                # each other.
                for name, some in by_execution(chunks):
                    _add(connection, name, some)

        self._pool.run(added)

    def read(self, execution_id: str, after: int = 0, limit: int = 0) -> list[OutputRow]:
        values = written(execution_id), after, limit or None
        rows = self._pool.run(lambda connection: connection.execute(_READ, values, binary=True).fetchall())
        return [_row(execution_id, row) for row in rows]

    def last_position(self, execution_id: str) -> int:
        query, values = "SELECT chunks FROM output_totals WHERE execution_id = %s", (written(execution_id),)
        row = self._pool.run(lambda connection: connection.execute(query, values).fetchone())
        return 0 if row is None else int(row[0])

    def remove(self, execution_id: str) -> int:
        """`Removable.remove`."""

        def removed(connection: PostgresConnection) -> int:
            name = (written(execution_id),)
            with connection.transaction():
                # Output that comes at the same time waits for the row of the totals, or is waited for.
                _, used = connection.execute(_TOTALS, name).fetchone() or (0, 0)
                connection.execute("DELETE FROM output WHERE execution_id = %s", name)
                connection.execute("DELETE FROM output_totals WHERE execution_id = %s", name)
            return int(used)

        return self._pool.run(removed)

    def close(self) -> None:
        """Let go of the connections."""
        self._pool.close()


def _add(connection: PostgresConnection, execution_id: str, chunks: list[OutputChunk]) -> None:
    name = written(execution_id)
    connection.execute(_BEGIN, (name,))
    number, used = connection.execute(_TOTALS, (name,)).fetchone() or (0, 0)
    keys = {_attempt(chunk.key): chunk.key for chunk in chunks}
    ends = {keys[attempt]: end for attempt, end in connection.execute(_ENDS, (name, [*keys])).fetchall()}
    fresh = fresh_chunks(chunks, ends, used)
    with connection.cursor() as cursor:
        cursor.executemany(_ADD, [
            (name, at, _attempt(chunk.key), chunk.stream, chunk.offset, chunk.until, chunk.at, written(chunk.text))
            for at, chunk in enumerate(fresh, number + 1)
        ])  # fmt: skip
    connection.execute(_COUNT, (number + len(fresh), used + sum(map(size_of, fresh)), name))


def _attempt(key: AttemptKey) -> str:
    """The stored form of an attempt."""
    return json.dumps(key)


def _row(execution_id: str, values: tuple[Any, ...]) -> OutputRow:
    number, attempt, stream, starts, at, text = values
    step, run, path, task, visit, tried, claim = json.loads(attempt)
    key = step, run, tuple(path), task, visit, tried, claim
    return OutputRow(number, OutputChunk(execution_id, *key, stream, starts, at, read(text)))
