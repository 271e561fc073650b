"""How executions are found in a PostgreSQL database, and what they are found by."""

from collections.abc import Sequence

from noetl.clients.conditions import SqlDialect, by_count, counted_by, like_pattern, selection_of
from noetl.ports import ExecutionRow, Wanted
from noetl.ports.queries import ExecutionAttribute
from noetl.store import SELECT_EXECUTIONS
from noetl.store.postgres.access import DatabaseAccess
from noetl.store.postgres.pool import PostgresConnection
from noetl.store.postgres.texts import named_query, read, read_row, written

_DIALECT = SqlDialect(
    'lower(playbook COLLATE "C")', "{} LIKE {} ESCAPE '!'", lambda pattern: written(like_pattern(pattern)), written,
    ' COLLATE "C"',
)  # fmt: skip
_KEEP = """
INSERT INTO attributes SELECT %(number)s, fresh.*
FROM unnest(%(names)b::text[], %(kinds)b::text[], %(texts)b::text[], %(values)b::double precision[]) AS fresh
"""
_OF = """
SELECT execution_id, name, kind, text, value FROM executions JOIN attributes ON execution = number
WHERE execution_id = ANY(%s) ORDER BY name
"""


class PostgresFinding:
    """Finds executions of a store."""

    def __init__(self, access: DatabaseAccess) -> None:
        self._access = access

    def executions(self, wanted: Wanted) -> tuple[ExecutionRow, ...]:
        """`Store.executions`."""
        where, values = selection_of(wanted, _DIALECT)
        query = f"{SELECT_EXECUTIONS} WHERE {where} ORDER BY started DESC, number DESC LIMIT NULLIF(:limit, 0)"
        rows = self._access.rows(named_query(query), {**values, "limit": wanted.limit})
        return tuple([ExecutionRow(*read_row(row)) for row in rows])

    def tally(self, wanted: Wanted, group: str) -> tuple[tuple[str | None, int], ...]:
        """`Store.tally`."""
        where, values = selection_of(wanted, _DIALECT)
        query = named_query(counted_by(group, where))
        rows = self._access.rows(query, {**values, "group": written(group)})
        return by_count([(value if value is None else read(value), count) for value, count in rows])

    def attributes(self, execution_ids: Sequence[str]) -> dict[str, tuple[ExecutionAttribute, ...]]:
        """`Store.attributes`."""
        found: dict[str, list[ExecutionAttribute]] = {}
        for name, *row in self._access.rows(_OF, ([*map(written, execution_ids)],)):
            found.setdefault(read(name), []).append(ExecutionAttribute(*read_row(tuple(row))))
        return {name: tuple(rows) for name, rows in found.items()}


def keep_attributes(connection: PostgresConnection, number: int, attributes: Sequence[ExecutionAttribute]) -> None:
    """Have an execution found by these attributes, and no others."""
    connection.execute("DELETE FROM attributes WHERE execution = %s", (number,))
    if attributes:
        names, kinds, texts, values = map(list, zip(*attributes, strict=True))
        arrays = {"names": [*map(written, names)], "kinds": kinds, "texts": [*map(written, texts)], "values": values}
        connection.execute(_KEEP, {"number": number, **arrays})
