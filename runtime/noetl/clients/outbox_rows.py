"""The outbox of the stores that speak SQL."""

import json
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from noetl.clients.row_transaction import RowTransaction, SqlPart
from noetl.ports import StoreFailure
from noetl.ports.outbox import OutboxRow, WantedOutbox

_COLUMNS = "number, topic, subject, body, at, due, tries, trouble, dead"
_PUT = """
INSERT INTO outbox (topic, subject, body, at, due, tries, trouble, dead)
VALUES (:topic, :subject, :body, :at, :due, :tries, :trouble, :dead) ON CONFLICT (topic, subject) DO NOTHING
"""
_DUE = """
SELECT {columns} FROM outbox {indexed} WHERE dead = 0 AND due <= :now AND ({topics}) {without}
ORDER BY due, number LIMIT :limit
"""
_TAKE = "UPDATE outbox SET due = :until, tries = tries + 1 WHERE number = :number"
_LIST = "SELECT {columns} FROM outbox WHERE {where} ORDER BY number {limit}"
_WATCH = """
INSERT INTO outbox_topics (topic, top) VALUES (:topic, :top) ON CONFLICT (topic) DO UPDATE SET top = excluded.top
"""


class SqlOutbox(SqlPart):
    """The `Outbox` of a store that speaks SQL."""

    indexed = ""
    """How a query names the index that finds what is due, where the store has to be told."""

    def watch_ends(self, topic: str, *, top: bool) -> None:
        """`Outbox.watch_ends`."""
        self.change(lambda tx: _done(tx, _WATCH, {"topic": topic, "top": int(top)}))

    def unwatch_ends(self, topic: str) -> None:
        """`Outbox.unwatch_ends`."""

        def unwatched(tx: RowTransaction) -> None:
            tx.rows("DELETE FROM outbox_topics WHERE topic = :topic", {"topic": topic})
            tx.rows("DELETE FROM outbox WHERE topic = :topic", {"topic": topic})

        self.change(unwatched)

    def watched_ends(self) -> tuple[str, ...]:
        """`Outbox.watched_ends`."""
        return tuple([str(topic) for (topic,) in self.look("SELECT topic FROM outbox_topics ORDER BY topic", {})])

    def put_outbox(self, rows: Sequence[OutboxRow], *, instead_of: int = 0) -> None:
        """`Outbox.put_outbox`."""
        self.change(lambda tx: put_rows(tx, rows, instead_of))

    def take_outbox(
        self, topics: Collection[str], now: int, until: int, limit: int, *, without: Collection[str] = ()
    ) -> tuple[OutboxRow, ...]:
        """`Outbox.take_outbox`."""
        if not topics:
            return ()
        names = {f"topic{number}": topic for number, topic in enumerate(topics)}
        beyond = {f"{name}_end": topic[:-1] + ";" for name, topic in names.items() if topic.endswith(":")}
        where = [
            f"(topic >= :{name} AND topic < :{name}_end)" if f"{name}_end" in beyond else f"topic = :{name}"
            for name in names
        ]
        others = {f"other{number}": topic for number, topic in enumerate(without)}
        but = f"AND topic NOT IN ({', '.join([f':{name}' for name in others])})" if others else ""
        query = _DUE.format(columns=_COLUMNS, indexed=self.indexed, topics=" OR ".join(where), without=but)
        values = {**names, **beyond, **others, "now": now, "limit": limit}
        # Looked at first, without a transaction: nearly always there is nothing.
        if not self.look(query, values):
            return ()
        found: list[OutboxRow] = []

        def taken(tx: RowTransaction) -> None:
            found[:] = [_row(row) for row in tx.rows(f"{query} {self.locking}", values)]
            for row in found:
                tx.rows(_TAKE, {"until": until, "number": row.number})

        self.change(taken)
        return tuple(found)

    def settle_outbox(self, number: int) -> None:
        """`Outbox.settle_outbox`."""
        self.change(lambda tx: _done(tx, "DELETE FROM outbox WHERE number = :number", {"number": number}))

    def put_off_outbox(self, number: int, due: int, trouble: str, *, dead: bool = False) -> None:
        """`Outbox.put_off_outbox`."""
        query = "UPDATE outbox SET due = :due, trouble = :trouble, dead = :dead WHERE number = :number"
        values = {"due": due, "trouble": trouble, "dead": int(dead), "number": number}
        self.change(lambda tx: _done(tx, query, values))

    def outbox_rows(self, wanted: WantedOutbox) -> tuple[OutboxRow, ...]:
        """`Outbox.outbox_rows`."""
        where, values = ["number > :after"], dict[str, Any](after=wanted.after)
        if wanted.topic:
            where.append("topic = :topic")
            values["topic"] = wanted.topic
        if wanted.prefix:
            where.append("topic >= :prefix AND topic < :beyond")
            values |= {"prefix": wanted.prefix, "beyond": wanted.prefix[:-1] + chr(ord(wanted.prefix[-1]) + 1)}
        if wanted.dead is not None:
            where.append(f"dead = {int(wanted.dead)}")  # written out: the indexes are of one of the two
        if wanted.limit:
            values["limit"] = wanted.limit
        limit = "LIMIT :limit" if wanted.limit else ""
        query = _LIST.format(columns=_COLUMNS, where=" AND ".join(where), limit=limit)
        return tuple([_row(row) for row in self.look(query, values)])

    def revive_outbox(self, number: int, now: int) -> bool:
        """`Outbox.revive_outbox`."""
        found: list[bool] = []

        def revived(tx: RowTransaction) -> None:
            named = {"number": number}
            found.append(bool(tx.rows("SELECT 1 FROM outbox WHERE number = :number AND dead = 1", named)))
            query = "UPDATE outbox SET dead = 0, tries = 0, due = :now WHERE number = :number AND dead = 1"
            tx.rows(query, {**named, "now": now})

        self.change(revived)
        return found[-1]


def put_rows(tx: RowTransaction, rows: Sequence[OutboxRow], instead_of: int) -> None:
    """`Outbox.put_outbox` within a transaction."""
    for row in rows:
        tx.rows(_PUT, _values(row))
    if instead_of:
        tx.rows("DELETE FROM outbox WHERE number = :number", {"number": instead_of})


def _done(tx: RowTransaction, query: str, values: Mapping[str, Any]) -> None:
    tx.rows(query, values)


def _values(row: OutboxRow) -> dict[str, Any]:
    values = {**row._asdict(), "body": json.dumps(row.body, sort_keys=True), "dead": int(row.is_dead)}
    del values["number"], values["is_dead"]
    return values


def _row(values: tuple[Any, ...]) -> OutboxRow:
    number, topic, subject, body, at, due, tries, trouble, dead = values
    try:
        return OutboxRow(number, topic, subject, json.loads(body), at, due, tries, trouble, bool(dead))
    except (ValueError, RecursionError) as problem:
        raise StoreFailure(f"the row {number} of the outbox is damaged [{problem}]") from problem
