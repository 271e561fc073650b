"""The namespaces of the stores that speak SQL, and their quotas, in the transaction that adds an execution."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from noetl.clients.quotas import check_open, check_paused, check_starts
from noetl.clients.row_transaction import RowTransaction
from noetl.clients.standing_rows import StandingRows
from noetl.clients.token_bucket import START, Bucket, filled, full
from noetl.ports.namespaces import NamespaceRow, NamespaceUse, PrefixTaken
from noetl_ir.records import NamedTuple

_COLUMNS = ", ".join(NamespaceRow._fields)
_OTHER = "SELECT name FROM namespaces WHERE prefix = :prefix AND name <> :name"
_FIND = f"""
SELECT {_COLUMNS} FROM namespaces WHERE substr(CAST(:playbook AS text), 1, length(prefix)) = prefix
ORDER BY length(prefix) DESC LIMIT 1
"""
_BELOW = """
SELECT prefix FROM namespaces WHERE prefix <> :prefix AND substr(prefix, 1, length(CAST(:prefix AS text))) = :prefix
"""
_COUNT = """
SELECT count(*) FROM (
  SELECT 1 FROM executions {indexed} WHERE ended IS NULL AND parent_execution_id IS NULL
    AND {path} >= :prefix AND {path} < :beyond {without} {limit}) AS found
"""
_STARTS = "SELECT parts, at FROM namespace_starts WHERE name = :name"
_TAKE = """
INSERT INTO namespace_starts (name, parts, at) VALUES (:name, :parts, :at)
ON CONFLICT (name) DO UPDATE SET parts = excluded.parts, at = excluded.at
"""


class QuotaDialect(NamedTuple):
    """The words of a store of its own: how a query locks a row, the path of an execution as prefixes are compared
    with it, the index over what is open, and the time by the one clock of all servers (`:now` is the caller's).
    """

    locking: str = ""
    path: str = "playbook"
    indexed: str = "INDEXED BY executions_open"
    now: str = ":now"


class SqlNamespaces(StandingRows[NamespaceRow]):
    """The `Namespaces` of a store that speaks SQL."""

    noun = "namespace"
    columns = NamespaceRow._fields
    beside = (("namespace_starts", "name"),)
    dialect = QuotaDialect()

    def values_of(self, row: NamespaceRow) -> Mapping[str, Any]:
        """`StandingRows.values_of`."""
        return {**row._asdict(), "document": json.dumps(row.document, sort_keys=True), "paused": int(row.paused)}

    def row_of(self, values: tuple[Any, ...]) -> NamespaceRow:
        """`StandingRows.row_of`."""
        return _row(values)

    def uses(self, rows: Sequence[NamespaceRow]) -> tuple[NamespaceUse, ...]:
        """`Namespaces.uses`."""
        return tuple([self._use(row) for row in rows])

    def _use(self, row: NamespaceRow) -> NamespaceUse:
        below = [prefix for (prefix,) in self.look(_BELOW, {"prefix": row.prefix})]
        ((count,),) = self.look(*_count_of(self.dialect, row.prefix, below))
        if not row.starts_per_minute:
            return NamespaceUse(int(count), None)
        ((now,),) = self.look(f"SELECT {self.dialect.now}", {"now": self.now()})
        there = self.look(_STARTS, {"name": row.name})
        bucket = Bucket(*there[0]) if there else full(row.burst, now)
        return NamespaceUse(int(count), filled(bucket, row.starts_per_minute, row.burst, now).parts // START)

    def now(self) -> int:
        """The time by the clock of this process."""
        import time

        return time.time_ns() // 1000

    def _write(self, tx: RowTransaction, row: NamespaceRow) -> None:
        if other := tx.rows(_OTHER, {"prefix": row.prefix, "name": row.name}):
            raise PrefixTaken(other[0][0])
        super()._write(tx, row)


def check_quotas(tx: RowTransaction, dialect: QuotaDialect, playbook: str, now: int) -> None:
    """Take a place for an execution that this transaction has added. Raises QuotaExceeded: then it is to be undone."""
    # Again where it was deleted before it could be locked.
    while found := tx.rows(_FIND, {"playbook": playbook}):
        row = _row(found[0])
        if not (row.paused or row.open_executions or row.starts_per_minute):
            return
        query = f"SELECT {_COLUMNS}, {dialect.now} FROM namespaces WHERE name = :name {dialect.locking}"
        if locked := tx.rows(query, {"name": row.name, "now": now}):
            *values, time = locked[0]
            _check(tx, dialect, _row(tuple(values)), int(time))
            return


def _check(tx: RowTransaction, dialect: QuotaDialect, row: NamespaceRow, now: int) -> None:
    check_paused(row)
    if row.open_executions:
        below = [prefix for (prefix,) in tx.rows(_BELOW, {"prefix": row.prefix})]
        # Counted as far as it matters: this one is among them.
        ((count,),) = tx.rows(*_count_of(dialect, row.prefix, below, most=row.open_executions + 1))
        check_open(row, int(count))
    if row.starts_per_minute:
        there = tx.rows(_STARTS, {"name": row.name})
        bucket = check_starts(row, Bucket(*there[0]) if there else full(row.burst, now), now)
        tx.rows(_TAKE, {"name": row.name, **bucket._asdict()})


def _count_of(
    dialect: QuotaDialect, prefix: str, below: Sequence[str], *, most: int = 0
) -> tuple[str, Mapping[str, Any]]:
    """The query that counts what is open below a prefix, and not below longer ones, with its values."""
    values: dict[str, Any] = {"prefix": prefix, "beyond": beyond(prefix)}
    without = ""
    for number, inner in enumerate(below):
        values |= {f"inner{number}": inner, f"beyond{number}": beyond(inner)}
        without += f" AND NOT ({dialect.path} >= :inner{number} AND {dialect.path} < :beyond{number})"
    if most:
        values["most"] = most
    limit = "LIMIT :most" if most else ""
    query = _COUNT.format(indexed=dialect.indexed, path=dialect.path, without=without, limit=limit)
    return query, values


def beyond(prefix: str) -> str:
    """The first text behind all that begin with a prefix, which ends in a slash."""
    return prefix[:-1] + chr(ord(prefix[-1]) + 1)


def _row(values: tuple[Any, ...]) -> NamespaceRow:
    name, document, prefix, paused, *numbers = values
    return NamespaceRow(name, json.loads(document), prefix, bool(paused), *map(int, numbers))
