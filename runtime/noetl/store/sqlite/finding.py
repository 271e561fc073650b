"""How executions are found in a SQLite file, and what they are found by."""

import sqlite3
from collections.abc import Sequence
from typing import TYPE_CHECKING

from noetl.clients.conditions import SqlDialect, asks_open, by_count, condition_of, counted_by, selection_of
from noetl.ports import ExecutionRow, Wanted
from noetl.ports.queries import ExecutionAttribute, tokens_of
from noetl.store import SELECT_EXECUTIONS

if TYPE_CHECKING:
    from noetl.store.sqlite import SqliteStore


def _globbed(pattern: str) -> str:
    """A pattern as GLOB has it, where a sign that has a meaning stands in brackets."""
    return "".join(
        token if len(token) == 1 else f"[{token[1]}]" if token[1] in "*?[" else token[1] for token in tokens_of(pattern)
    )


_DIALECT = SqlDialect("lower(playbook)", "{} GLOB {}", _globbed, lambda text: text)
_KEEP = "INSERT INTO attributes VALUES (?, ?, ?, ?, ?)"
_MANY = 500
"""How many ids stand in one query."""


class SqliteFinding:
    """Finds executions of a store."""

    def __init__(self, store: "SqliteStore") -> None:
        self._store = store

    def executions(self, wanted: Wanted) -> tuple[ExecutionRow, ...]:
        """`Store.executions`."""
        where, values = selection_of(wanted, _DIALECT)
        # SQLite takes the index over `started` where both would do, and walks all executions that are over to find
        # the few that are not.
        index = "INDEXED BY executions_open" if asks_open(condition_of(wanted)) else ""
        query = f"{SELECT_EXECUTIONS} {index} WHERE {where} ORDER BY started DESC, number DESC LIMIT :limit"
        return tuple(ExecutionRow(*row) for row in self._store.rows(query, {**values, "limit": wanted.limit or -1}))

    def tally(self, wanted: Wanted, group: str) -> tuple[tuple[str | None, int], ...]:
        """`Store.tally`."""
        where, values = selection_of(wanted, _DIALECT)
        return by_count(self._store.rows(counted_by(group, where), {**values, "group": group}))

    def attributes(self, execution_ids: Sequence[str]) -> dict[str, tuple[ExecutionAttribute, ...]]:
        """`Store.attributes`."""
        found: dict[str, list[ExecutionAttribute]] = {}
        for at in range(0, len(execution_ids), _MANY):
            some = execution_ids[at : at + _MANY]
            query = (
                "SELECT execution_id, name, kind, text, value FROM executions JOIN attributes ON execution = number"
                f" WHERE execution_id IN ({', '.join('?' * len(some))}) ORDER BY name"
            )
            for name, *row in self._store.rows(query, some):
                found.setdefault(name, []).append(ExecutionAttribute(*row))
        return {name: tuple(rows) for name, rows in found.items()}


def keep_attributes(cursor: sqlite3.Cursor, number: int, attributes: Sequence[ExecutionAttribute]) -> None:
    """Have an execution found by these attributes, and no others."""
    cursor.execute("DELETE FROM attributes WHERE execution = ?", (number,))
    cursor.executemany(_KEEP, [(number, *each) for each in attributes])
