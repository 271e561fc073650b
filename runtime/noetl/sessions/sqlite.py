"""Sessions in a SQLite file, for a server in one process."""

import os
import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager

from noetl.host.engine_files import make_folder
from noetl.ports import StoreFailure
from noetl.ports.user_sessions import Stale
from noetl.sessions import KeptValue

_SCHEMA = """
CREATE TABLE IF NOT EXISTS session (
  key TEXT PRIMARY KEY, user TEXT NOT NULL, data BLOB NOT NULL, revision INTEGER NOT NULL, until REAL NOT NULL
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS session_by_user ON session (user);
CREATE INDEX IF NOT EXISTS session_by_end ON session (until);
"""


class SqliteSessions:
    """A `SessionStorage` in the file at `path`, which is made readable by its owner alone."""

    def __init__(self, path: str) -> None:
        self._path = path

    def create(self, key: str, user: str, data: bytes, seconds: int) -> int:
        """Sessions that are over are removed on the way."""
        now = time.time()
        with self._opened() as connection:
            # No other process looks after the file. A file that only ever grows by its logins is cleaned by the next
            # one.
            connection.execute("DELETE FROM session WHERE until < ?", (now,))
            connection.execute("INSERT INTO session VALUES (?, ?, ?, 1, ?)", (key, user, data, now + seconds))
        return 1

    def get(self, key: str) -> KeptValue | None:
        with self._opened() as connection:
            row = connection.execute("SELECT data, revision FROM session WHERE key = ?", (key,)).fetchone()
        return None if row is None else KeptValue(*row)

    def update(self, key: str, user: str, kept: KeptValue, seconds: int) -> int:
        text = "UPDATE session SET data = ?, revision = revision + 1, until = ? WHERE key = ? AND revision = ?"
        with self._opened() as connection:
            done = connection.execute(text, (kept.data, time.time() + seconds, key, kept.revision))
        # The revision is compared in the same statement that changes the row, so no other process comes in between.
        if done.rowcount == 0:
            raise Stale
        return kept.revision + 1

    def delete(self, key: str, user: str) -> None:
        with self._opened() as connection:
            connection.execute("DELETE FROM session WHERE key = ?", (key,))

    def of_user(self, user: str, after: str, most: int) -> Sequence[tuple[str, bytes]]:
        text = "SELECT key, data FROM session WHERE user = ? AND key > ? ORDER BY key LIMIT ?"
        with self._opened() as connection:
            return connection.execute(text, (user, after, most)).fetchall()

    def close(self) -> None:
        """Each call has a connection of its own."""

    @contextmanager
    def _opened(self) -> Iterator[sqlite3.Connection]:
        """A connection in a transaction."""
        try:
            _make(self._path)
            with closing(sqlite3.connect(self._path, timeout=10)) as connection:
                connection.executescript(_SCHEMA)
                with connection:
                    yield connection
        except (sqlite3.Error, OSError) as problem:
            raise StoreFailure(f"the sessions in {self._path}: {problem}") from None


def _make(path: str) -> None:
    if not os.path.exists(path):
        make_folder(os.path.dirname(path))
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600))
