"""The row of a deed, within the transaction of a SQLite file that it goes with."""

import sqlite3

from noetl.ports.actors import actor_now


def record_deed(cursor: sqlite3.Cursor, deed: str, subject: str) -> None:
    """Record a change within its transaction, where somebody acts."""
    if actor_now() is not None:
        from noetl.clients import deed_rows
        from noetl.store.sqlite.transaction import SqliteTransaction

        deed_rows.record_deed(SqliteTransaction(cursor), deed, subject)
