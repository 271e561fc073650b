"""A transaction of a SQLite file, as the parts that share their SQL with other stores use it."""

import sqlite3
from collections.abc import Mapping
from typing import Any


class SqliteTransaction:
    """`RowTransaction`."""

    def __init__(self, cursor: sqlite3.Cursor) -> None:
        self._cursor = cursor

    def rows(self, query: str, values: Mapping[str, Any]) -> list[tuple[Any, ...]]:
        """The rows of a query."""
        return self._cursor.execute(query, values).fetchall()
