"""The meanings of SQLite's errors, in plain words: the one table of translations."""

import os
import sqlite3

from noetl.host.disk_space import check_room
from noetl.ports import NoRoom, StoreFailure, StoreRefused

TEXTS = {
    sqlite3.SQLITE_FULL: "the disk is full",
    sqlite3.SQLITE_READONLY: "the file or its folder is read-only",
    sqlite3.SQLITE_BUSY: "another process has kept the database locked for too long",
    sqlite3.SQLITE_LOCKED: "another part of this process has the database locked",
    sqlite3.SQLITE_CORRUPT: "the database is damaged; restore a backup, or try `sqlite3 FILE .recover`",
    sqlite3.SQLITE_NOTADB: "the file is not a SQLite database",
    sqlite3.SQLITE_CANTOPEN: "the file cannot be opened or made; may you read and write in its folder?",
    sqlite3.SQLITE_PERM: "the file may not be used by you",
    sqlite3.SQLITE_IOERR: "the disk reported an error",
    sqlite3.SQLITE_PROTOCOL: "the file locks do not work; is the database on a network drive?",
    sqlite3.SQLITE_NOLFS: "the file is larger than the system allows",
    sqlite3.SQLITE_NOMEM: "there is not enough memory",
    sqlite3.SQLITE_TOOBIG: "a value is larger than SQLite allows (1 GB)",
    sqlite3.SQLITE_INTERRUPT: "the operation was interrupted",
    sqlite3.SQLITE_SCHEMA: "another program changed the tables of the database",
    sqlite3.SQLITE_CONSTRAINT: "the database refuses the change",
    sqlite3.SQLITE_ERROR: "the database does not have the tables of a store, or SQLite is too old",
}
"""Primary result code → what it means. The driver's own words follow in brackets."""

_REFUSED = (sqlite3.SQLITE_TOOBIG, sqlite3.SQLITE_CONSTRAINT, sqlite3.SQLITE_MISMATCH)
"""What SQLite says of what is to be stored, and of nothing else."""

_PERHAPS_FULL = (sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN)
"""What SQLite says of a file that it could not make or make longer, for want of room too."""


def failure(error: Exception, path: str) -> StoreFailure:
    """The `StoreFailure` that stands for an error of the driver about the database at `path`."""
    if isinstance(error, UnicodeError):
        return StoreRefused(f"{path}: an id or a name is not text that can be stored [{error}]")
    if isinstance(error, OverflowError):
        return StoreRefused(f"{path}: a number is larger than the store can keep [{error}]")
    # An extended code keeps the primary one in its low byte. Errors of the Python layer have none.
    code = getattr(error, "sqlite_errorcode", None)
    if isinstance(error, sqlite3.DataError):
        return StoreRefused(f"{path}: {error}")
    if code is None:
        return StoreFailure(f"{path}: {error}")
    meaning = TEXTS.get(code & 0xFF, "SQLite failed")
    text = f"{path}: {meaning} [{error}]"
    if code & 0xFF == sqlite3.SQLITE_FULL:
        return NoRoom(text, meaning)
    if code & 0xFF in _REFUSED:
        return StoreRefused(text)
    if code & 0xFF in _PERHAPS_FULL:
        try:
            check_room(os.path.dirname(path), suspected=True)
        except NoRoom as problem:
            return NoRoom(f"{path}: {problem.reason} [{error}]", problem.reason)
    return StoreFailure(text)


TRANSLATED = (sqlite3.Error, UnicodeError, OverflowError)
"""What the driver may raise that `failure` translates."""
