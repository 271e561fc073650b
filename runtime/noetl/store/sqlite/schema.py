"""Bring a database to the schema that this program writes: `store/sql/sqlite_NNNN_<name>.sql`, in order.

All that a database lacks is one transaction, in which each migration notes itself in the table `migrations`: a new one
costs one commit, and an older one is as it was or as this program writes it. A database of another program and one with
a newer schema are refused untouched.
"""

import os
import sqlite3

from noetl.ports import StoreFailure

_FOLDER = os.path.join(os.path.dirname(os.path.dirname(__file__)), "sql")
VERSION = 26
"""The newest schema; opening a database that has it reads no SQL file."""

APPLICATION = 0x4E6F4554
"""The application id in the head of our databases: `NoET`."""


def version_of(cursor: sqlite3.Cursor, path: str) -> int:
    """The schema of the database, 0 for an empty one."""
    # In this order: whoever makes the tables sets the id in the same transaction.
    (tables,) = cursor.execute("SELECT count(*) FROM sqlite_master").fetchone()
    (application,) = cursor.execute("PRAGMA application_id").fetchone()
    # Without tables and without an id it is an empty file, which may be anybody's: it becomes ours with the first
    # migration.
    if application != APPLICATION:
        if application or tables:
            raise StoreFailure(f"{path}: the file is a database of another program")
        return 0
    (version,) = cursor.execute("SELECT max(version) FROM migrations").fetchone()
    if version > VERSION:
        raise StoreFailure(
            f"{path}: a newer noetl wrote this database (schema {version}, this one knows {VERSION}); "
            "use that one, or another --store"
        )
    return int(version)


def migrate(cursor: sqlite3.Cursor, path: str) -> None:
    """Check whose database this is and apply the migrations that it lacks."""
    found = version_of(cursor, path)
    if found == VERSION:
        return
    cursor.execute("BEGIN IMMEDIATE")
    try:
        # Another process may have been first while this one waited for the lock.
        found = version_of(cursor, path)
        for version, name in files():
            if version > found:
                _apply(cursor, version, name)
        cursor.execute("COMMIT")
    except BaseException:
        if cursor.connection.in_transaction:
            cursor.execute("ROLLBACK")
        raise


def files() -> list[tuple[int, str]]:
    names = sorted(name for name in os.listdir(_FOLDER) if name.startswith("sqlite_") and name.endswith(".sql"))
    return [(int(name.split("_")[1]), name) for name in names]


def _apply(cursor: sqlite3.Cursor, version: int, name: str) -> None:
    with open(os.path.join(_FOLDER, name), encoding="utf-8") as file:
        script = file.read()
    for statement in statements(script):
        cursor.execute(statement)
    cursor.execute("INSERT INTO migrations VALUES (?, ?)", (version, name))


def statements(script: str) -> list[str]:
    """The statements of a script, each ending at a semicolon at the end of a line."""
    found, part = [], ""
    for line in script.splitlines(keepends=True):
        part += line
        if line.rstrip().endswith(";") and sqlite3.complete_statement(part):
            found.append(part)
            part = ""
    return found
