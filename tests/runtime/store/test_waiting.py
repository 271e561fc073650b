"""Indexes find what waits: the first of many rows costs what the first of few costs."""

import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pytest

from noetl.app.adapters import open_store
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


def test_no_look_at_what_waits_sorts_or_reads_all_of_it(
    filled: tuple[str, Plan], monkeypatch: pytest.MonkeyPatch
) -> None:
    url, plan = filled
    part: Any = SqlitePart if url.startswith("sqlite") else PostgresPart
    looks, look = list[tuple[str, Mapping[str, Any]]](), part.look

    def looked(self: Any, query: str, values: Mapping[str, Any]) -> Any:
        looks.append((query, values))
        return look(self, query, values)

    monkeypatch.setattr(part, "look", looked)
    with closing(open_store(url)) as store:
        assert isinstance(store, Telling) and isinstance(store, Triggered)
        for topics in (("trace",), ("trace", "trace:"), ("notify", "notify:", "trace")):
            store.outbox.take_outbox(topics, 10, 20, 1)
        store.outbox.outbox_rows(WantedOutbox(dead=True, limit=9))
        store.outbox.outbox_rows(WantedOutbox(dead=False, limit=1))
        store.triggering.awaited_ends(9, "other")
        store.triggering.awaited_ends(1, execution_id="x9")
        store.triggering.awaited_ends(1, "next", "x9")
    assert len(looks) == 8
    for query, values in looks:
        found = plan(query, values)
        assert not any(word in found for word in ("SCAN", "TEMP B-TREE", "Seq Scan", "Sort")), (query, found)
