"""Indexes find what waits: the first of many rows costs what the first of few costs."""

import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pytest

from noetl.app.adapters import open_store
from noetl.ports.notifications import NotificationRow, Notifying, ToldState
from noetl.ports.outbox import Telling, WantedOutbox
from noetl.ports.triggers import Triggered
from noetl.store.postgres.address import address_of
from noetl.store.postgres.texts import named_query
from noetl.store.postgres.transaction import PostgresPart
from noetl.store.sqlite.transaction import SqlitePart
from services import postgres

MANY = 20_000
NUMBERS = f"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {MANY})"
FILL = (
    "INSERT INTO outbox (topic, subject, body, at, due, tries, trouble, dead)"
    f" {NUMBERS} SELECT 'trace', 'x' || i, 'null', 1, 0, 0, '', 0 FROM n",
    f"INSERT INTO trigger_ends (trigger_name, execution_id, ended) {NUMBERS} SELECT 'next', 'x' || i, 1 FROM n",
)
Plan = Callable[[str, Mapping[str, Any]], str]
"""The plan of a query and its values."""


@pytest.fixture(params=("sqlite", "postgres"))
def filled(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[str, Plan]]:
    """The URL of a store in which much waits, and what tells its plans."""
    url = f"sqlite:///{tmp_path}/x.db" if request.param == "sqlite" else postgres().store_url()
    open_store(url).close()
    if request.param == "sqlite":
        with closing(sqlite3.connect(tmp_path / "x.db")) as database:
            for statement in FILL:
                database.execute(statement)
            database.commit()
            yield url, lambda query, values: str(database.execute(f"EXPLAIN QUERY PLAN {query}", values).fetchall())
        return
    address = address_of(url)
    with psycopg.connect(**address.parameters, autocommit=True) as connection:  # type: ignore[arg-type]
        for text in (f"SET search_path = {address.namespace}", *FILL, "ANALYZE outbox", "ANALYZE trigger_ends"):
            connection.execute(text.encode())
        yield (
            url,
            lambda query, values: str(connection.execute(f"EXPLAIN {named_query(query)}".encode(), values).fetchall()),
        )


@pytest.fixture
def looks(filled: tuple[str, Plan], monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, Mapping[str, Any]]]:
    """The queries without a transaction that are asked, with their values."""
    part: Any = SqlitePart if filled[0].startswith("sqlite") else PostgresPart
    found, look = list[tuple[str, Mapping[str, Any]]](), part.look

    def looked(self: Any, query: str, values: Mapping[str, Any]) -> Any:
        found.append((query, values))
        return look(self, query, values)

    monkeypatch.setattr(part, "look", looked)
    return found


def test_no_look_at_what_waits_sorts_or_reads_all_of_it(
    filled: tuple[str, Plan], looks: list[tuple[str, Mapping[str, Any]]]
) -> None:
    url, plan = filled
    with closing(open_store(url)) as store:
        assert isinstance(store, Telling) and isinstance(store, Triggered)
        for topics in (("trace",), ("trace", "trace:"), ("notify", "notify:", "trace")):
            store.outbox.take_outbox(topics, 10, 20, 1)
        store.outbox.outbox_rows(WantedOutbox(dead=True, limit=9))
        store.outbox.outbox_rows(WantedOutbox(dead=False, limit=1))
        store.triggering.awaited_ends(9, "other")
        store.triggering.awaited_ends(1, execution_id="x9")
        store.triggering.awaited_ends(1, "next", "x9")
        store.purges.purged("x9")
    assert len(looks) == 9
    for query, values in looks:
        found = plan(query, values)
        assert not any(word in found for word in ("SCAN", "TEMP B-TREE", "Seq Scan", "Sort")), (query, found)


def test_what_was_told_of_many_is_one_query(
    filled: tuple[str, Plan], looks: list[tuple[str, Mapping[str, Any]]]
) -> None:
    with closing(open_store(filled[0])) as store:
        assert isinstance(store, Notifying)
        kept, subjects = store.notifying, [f"late x{number}" for number in range(500)]
        kept.put(NotificationRow("oncall", {}))
        assert kept.decide_told([ToldState("oncall", subjects[-1], None, {"late": True})], [])
        looks.clear()
        assert kept.told_states("oncall", subjects) == {subjects[-1]: {"late": True}}
        assert (kept.told_states("oncall", ()), len(looks)) == ({}, 1)
