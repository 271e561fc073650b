"""Open the database: whose it is, its mode and schema, and what the last process left behind.

A write-ahead log with damage in its middle must not be lost by accident: SQLite folds what it can read of
it into the database and deletes it as soon as the last connection closes. So it is copied to
`FILE-wal.damaged` first, and as long as that copy lies there the database is refused.
"""

import os
import sqlite3
import time

from noetl.host.disk_space import FULL
from noetl.host.engine_files import make_folder, touch
from noetl.ports import NoRoom, StoreFailure
from noetl.store.sqlite import schema, wal
from noetl.store.sqlite.failures import TRANSLATED, failure
from noetl_ir.records import NamedTuple

BUSY_TIMEOUT = 10.0
"""How long to wait for another process's transaction, in seconds."""

CHECKPOINT = 250
"""Pages of write-ahead log before it is folded into the database and begun anew. Syncing what is written over takes
half of the time that a file that grows takes, so the log is to be short; each folding is two syncs more."""


class OpenedDatabase(NamedTuple):
    """A connection, a word about a commit that was cut off, and why it is only to be read through, if it is."""

    connection: sqlite3.Connection
    dropped: str | None
    problem: NoRoom | None = None


def connect(path: str) -> OpenedDatabase:
    """A connection to the store at `path`, made if need be. On a full disk one for reading, until there is room."""
    try:
        return OpenedDatabase(*_connected(path))
    except NoRoom as problem:
        found = _to_read(path)
        if found is None:
            raise
        return OpenedDatabase(found, None, problem)


def _to_read(path: str) -> sqlite3.Connection | None:
    """A connection that makes no file, where one can be had. SQLite needs a file beside the database that processes
    share; without one it reads a database that nobody writes to now, or one that is locked against all others.
    """
    # Nobody writes, so the file is as good as immutable, and SQLite needs no `-shm`, for which there is no room.
    if not os.path.exists(path + "-wal") or os.path.getsize(path + "-wal") == 0:
        return _reading(path, "&immutable=1", "NORMAL")
    return _reading(path, "", "NORMAL") or _reading(path, "", "EXCLUSIVE")


def _reading(path: str, options: str, locking: str) -> sqlite3.Connection | None:
    """A connection that only reads, and has read something."""
    address = f"file:{_quoted(os.path.abspath(path))}?mode=rw{options}"
    try:
        connection = sqlite3.connect(address, BUSY_TIMEOUT, isolation_level=None, check_same_thread=False, uri=True)
    except TRANSLATED:
        return None
    try:
        cursor = connection.cursor()
        cursor.execute(f"PRAGMA locking_mode = {locking}")
        cursor.execute("PRAGMA query_only = 1")
        if schema.version_of(cursor, path) == schema.VERSION:
            return connection
    except (StoreFailure, *TRANSLATED):
        pass
    connection.close()
    return None


def _connected(path: str) -> tuple[sqlite3.Connection, str | None]:
    """The connection of old and new processes alike. Raises StoreFailure."""
    refused = path + "-wal.damaged"
    try:
        if folder := os.path.dirname(path):
            make_folder(folder)
        if os.path.exists(refused):
            raise _damage(path, "commits are missing that lay behind a damaged place in its write-ahead log")
        touch(path)  # the logs beside it get the rights that it has
        connection = sqlite3.connect(path, BUSY_TIMEOUT, isolation_level=None, check_same_thread=False)
    except OSError as error:
        text = f"{path}: the folder cannot be used [{error}]"
        if reason := FULL.get(error.errno or 0):
            raise NoRoom(text, reason) from error
        raise StoreFailure(text) from error
    except TRANSLATED as error:
        raise failure(error, path) from error
    try:
        return connection, _prepare(connection.cursor(), path)
    except TRANSLATED as error:
        connection.close()
        raise failure(error, path) from error
    except wal.DamagedWal as error:
        _keep(path + "-wal", refused)
        connection.close()
        raise _damage(path, str(error)) from error
    except BaseException:
        connection.close()
        raise


def _prepare(cursor: sqlite3.Cursor, path: str) -> str | None:
    # Nothing is written before it is known whose database this is, and that its log is whole.
    schema.version_of(cursor, path)
    left = wal.tail(cursor, path)
    if _write_ahead(cursor) != ("wal",):
        raise StoreFailure(f"{path}: SQLite cannot keep a write-ahead log there")
    cursor.execute("PRAGMA synchronous = FULL")
    cursor.execute(f"PRAGMA wal_autocheckpoint = {CHECKPOINT}")
    schema.migrate(cursor, path)
    return _drop(cursor, path, left) if left.torn else None


def _write_ahead(cursor: sqlite3.Cursor) -> object:
    """Have a log written ahead; what the mode is then."""
    until = time.monotonic() + BUSY_TIMEOUT
    while True:
        try:
            return cursor.execute("PRAGMA journal_mode = WAL").fetchone()
        except sqlite3.OperationalError as error:
            # SQLite itself does not wait here for others that make a new database at the same time: of two that hold
            # the lock of readers and want that of a writer it refuses one at once.
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > until:
                raise
            time.sleep(0.01)


def _drop(cursor: sqlite3.Cursor, path: str, left: wal.Tail) -> str | None:
    """Begin the write-ahead log anew, so that no rest of a torn commit stays; None when others use it."""
    # Asked again: between the first look and now another process may have begun to write behind the torn commit.
    if wal.tail(cursor, path) != left:
        return None
    # Whoever reads now keeps the log from being cut. Then it is left: what is torn is not read by SQLite either.
    cursor.execute("PRAGMA busy_timeout = 0")
    (busy, _, _) = cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    cursor.execute(f"PRAGMA busy_timeout = {int(BUSY_TIMEOUT * 1000)}")
    return None if busy else f"{path}: a commit that was cut off, and so never acknowledged, was dropped"


def _keep(log: str, copy: str) -> None:
    touch(copy + ".part")
    with open(log, "rb") as source, open(copy + ".part", "wb") as target:
        while block := source.read(1 << 20):
            target.write(block)
        target.flush()
        # The copy is the only evidence once SQLite has folded the log, so it is on disk before the connection closes.
        os.fsync(target.fileno())
    os.rename(copy + ".part", copy)


def _damage(path: str, reason: str) -> StoreFailure:
    return StoreFailure(
        f"{path}: the database is damaged: {reason}. The log was kept as {path}-wal.damaged;"
        " restore a backup, or remove that file to go on without these commits"
    )


def _quoted(path: str) -> str:
    """A path as a URL has it."""
    if path.isascii() and path.replace("/", "").replace("-", "").replace("_", "").replace(".", "").isalnum():
        return path
    from urllib.parse import quote  # not at every start

    return quote(path)
