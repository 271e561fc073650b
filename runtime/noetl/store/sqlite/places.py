"""Places under keys: rows that count as long as their executions are not over."""

import sqlite3
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Any

from noetl.ports.places import PlaceRow

if TYPE_CHECKING:
    from noetl.store.sqlite import SqliteStore

_OPEN = """
SELECT p.key, p.execution_id, p.root, p.placed, p.most, p.on_conflict, p.above, p.number
FROM places p JOIN executions x ON x.execution_id = p.execution_id WHERE x.ended IS NULL ORDER BY p.number
"""
# What is over is swept away with each change, so that the table stays as small as what there is to do.
_SWEEP = """
DELETE FROM places WHERE execution_id IN (
  SELECT p.execution_id FROM places p JOIN executions x ON x.execution_id = p.execution_id WHERE x.ended IS NOT NULL)
"""
_CHANGE = (
    "UPDATE places SET root = ?, placed = ?, most = ?, on_conflict = ?, above = ? WHERE execution_id = ? AND key = ?"
)
_ADD = "INSERT INTO places (root, placed, most, on_conflict, above, execution_id, key) VALUES (?, ?, ?, ?, ?, ?, ?)"


class SqlitePlaces:
    """The places of a store."""

    def __init__(self, store: "SqliteStore") -> None:
        self._store = store

    def places(self) -> tuple[PlaceRow, ...]:
        """`Store.places`."""
        return tuple(map(_row, self._store.rows(_OPEN, ())))

    def change(self, work: Callable[[tuple[PlaceRow, ...]], Collection[PlaceRow]]) -> None:
        """`Store.change_places`."""
        import json

        def changed(cursor: sqlite3.Cursor) -> None:
            cursor.execute(_SWEEP)
            for row in work(tuple(map(_row, cursor.execute(_OPEN).fetchall()))):
                most = min(row.limit, (1 << 63) - 1)
                values = row.root, row.placed, most, row.on_conflict, json.dumps(row.above), row.execution_id, row.key
                if not cursor.execute(_CHANGE, values).rowcount:
                    cursor.execute(_ADD, values)
            self._store.reach("places.after_write")

        self._store.write("places", changed)


def _row(values: tuple[Any, ...]) -> PlaceRow:
    import json

    key, execution_id, root, placed, most, on_conflict, above, number = values
    return PlaceRow(key, execution_id, root, bool(placed), most, on_conflict, tuple(json.loads(above)), number)
