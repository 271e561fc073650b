"""The maintenance of a SQLite file."""

import os
import sqlite3
from contextlib import closing, suppress
from typing import TYPE_CHECKING

from noetl.host.engine_files import touch
from noetl.ports import StoreFailure, StoreRefused
from noetl.store.sqlite.failures import TRANSLATED, failure

if TYPE_CHECKING:
    from noetl.store.sqlite import SqliteStore

_MOST = 100
"""Faults that are told; a file of which a part was overwritten has thousands."""

_PAGES = 4_096
"""Pages that are copied at a time: others commit in between, and SQLite begins the copy anew where they did."""


class SqliteMaintenance:
    """`Maintenance` of a store."""

    def __init__(self, store: "SqliteStore") -> None:
        self._store = store

    def integrity(self) -> tuple[str, ...]:
        """`Maintenance.integrity`."""
        found = [str(text) for (text,) in self._store.rows(f"PRAGMA integrity_check({_MOST})", ())]
        orphans = self._store.rows("PRAGMA foreign_key_check", ())
        found += [f"a row of `{table}` names one of `{parent}` that is not there" for table, _, parent, _ in orphans]
        return tuple([text for text in found if text != "ok"][:_MOST])

    def vacuum(self) -> tuple[int, int]:
        """`Maintenance.vacuum`."""
        before = self._size()
        try:
            with closing(self._connected()) as connection:
                connection.execute("VACUUM")
                # What it wrote lies in the write-ahead log until it is folded; whoever reads now keeps it from that.
                connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        except TRANSLATED as error:
            raise failure(error, self._store.path) from error
        return before, self._size()

    def backup(self, path: str) -> None:
        """`Maintenance.backup`."""
        if os.path.exists(path):
            raise StoreRefused(f"{path}: there is something already")
        try:
            touch(path)
            with closing(self._connected()) as connection, closing(sqlite3.connect(path)) as copy:
                connection.backup(copy, pages=_PAGES)
            handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            try:
                os.fsync(handle)
            finally:
                os.close(handle)
        except OSError as error:
            raise StoreFailure(f"{path}: the copy cannot be written [{error}]") from error
        except TRANSLATED as error:
            with suppress(OSError):
                os.unlink(path)
            raise failure(error, path) from error

    def _connected(self) -> sqlite3.Connection:
        # A connection of its own: what takes long must not keep the store's lock.
        return sqlite3.connect(self._store.path, timeout=30, isolation_level=None)

    def _size(self) -> int:
        return sum(
            [os.path.getsize(name) for name in (self._store.path, f"{self._store.path}-wal") if os.path.exists(name)]
        )
