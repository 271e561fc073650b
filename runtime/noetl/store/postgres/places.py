"""Places under keys: rows that count as long as their executions are not over."""

import json
from collections.abc import Callable, Collection
from typing import Any

from noetl.ports.places import PlaceRow
from noetl.store.postgres.access import DatabaseAccess
from noetl.store.postgres.owners import PLACES_LOCK
from noetl.store.postgres.pool import PostgresConnection
from noetl.store.postgres.texts import read, written

_OPEN = """
SELECT p.key, p.execution_id, p.root, p.placed, p.most, p.on_conflict, p.above, p.number
FROM places p JOIN executions x ON x.execution_id = p.execution_id WHERE x.ended IS NULL ORDER BY p.number
"""
# What is over is swept away with each change, so that the table stays as small as what there is to do.
_SWEEP = "DELETE FROM places p USING executions x WHERE x.execution_id = p.execution_id AND x.ended IS NOT NULL"
_PUT = """
INSERT INTO places (key, execution_id, root, placed, most, on_conflict, above)
VALUES (%(key)s, %(name)s, %(root)s, %(placed)s, %(most)s, %(on_conflict)s, %(above)s)
ON CONFLICT (execution_id, key) DO UPDATE SET root = excluded.root, placed = excluded.placed, most = excluded.most,
  on_conflict = excluded.on_conflict, above = excluded.above
"""


class PlaceRows:
    """The places of a store. A change that is repeated, as its answer was lost, finds what it did."""

    def __init__(self, access: DatabaseAccess) -> None:
        self._access = access

    def places(self) -> tuple[PlaceRow, ...]:
        """`Store.places`."""
        return tuple(map(_row, self._access.rows(_OPEN)))

    def change(self, work: Callable[[tuple[PlaceRow, ...]], Collection[PlaceRow]]) -> None:
        """`Store.change_places`."""
        self._access.reach("places.before_write")
        lock = {"schema": self._access.pool.address.namespace}

        def changed(connection: PostgresConnection) -> None:
            with connection.transaction():
                connection.execute(PLACES_LOCK, lock)
                connection.execute(_SWEEP)
                for row in work(tuple(map(_row, connection.execute(_OPEN).fetchall()))):
                    connection.execute(_PUT, _values(row))
                self._access.reach("places.before_commit")

        self._access.run(changed)
        self._access.reach("places.after_commit")


def _values(row: PlaceRow) -> dict[str, Any]:
    return {
        "key": written(row.key), "name": written(row.execution_id), "root": written(row.root), "placed": row.placed,
        "most": min(row.limit, (1 << 63) - 1), "on_conflict": row.on_conflict, "above": written(json.dumps(row.above)),
    }  # fmt: skip


def _row(values: tuple[Any, ...]) -> PlaceRow:
    key, name, root, placed, most, on_conflict, above, number = values
    return PlaceRow(
        read(key), read(name), read(root), placed, most, on_conflict, tuple(json.loads(read(above))), number
    )
