"""The contract of every store about places under keys: `Store.places` and `Store.change_places`."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from noetl.ports import ExecutionRow, Store
from noetl.ports.places import PlaceRow

ROW = ExecutionRow("e1", "demo/one", "d" * 64, "running", None, 1_000, None)
Open = Callable[..., Store]


PLACE = PlaceRow("k \0ö", "e1", "e1", placed=True, limit=3, on_conflict="skip", above=("a", "b\0"))


def test_places_count_in_their_order_as_long_as_their_executions_are_not_over(open_store: Open) -> None:
    store = open_store()
    for name in ("e2", "e3", "e1"):
        store.create(ROW._replace(execution_id=name))
    store.change_places(
        lambda rows: (PLACE, PLACE._replace(key="other", placed=False), PLACE._replace(execution_id="none"))
    )
    store.change_places(lambda rows: [PLACE._replace(execution_id="e2", placed=False)])
    again = open_store()
    rows = again.places()
    numbers = [row.number for row in rows]
    assert numbers == sorted({*numbers}) and 0 not in numbers
    assert [row._replace(number=0) for row in rows] == [
        PLACE, PLACE._replace(key="other", placed=False), PLACE._replace(execution_id="e2", placed=False),
    ]  # fmt: skip
    again.change_places(lambda seen: [rows[2]._replace(placed=True)] if seen == rows else [])
    assert store.places() == (*rows[:2], rows[2]._replace(placed=True))
    store.append("e1", 0, [("s1", b"x")], status="completed", ended=9)
    assert [row.execution_id for row in again.places()] == ["e2"]


def test_of_two_who_change_places_at_once_one_sees_what_the_other_did(open_store: Open) -> None:
    store = open_store()
    for number in range(8):
        store.create(ROW._replace(execution_id=f"x{number}"))

    def take(name: str) -> None:
        def work(rows: tuple[PlaceRow, ...]) -> list[PlaceRow]:
            mine = [row for row in rows if row.execution_id == name]
            free = not any(row.placed for row in rows)
            return [(mine[0] if mine else PLACE)._replace(execution_id=name, root=name, placed=free)]

        store.change_places(work)

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(take, [f"x{number}" for number in range(8)]))
    rows = store.places()
    assert (len(rows), [row.placed for row in rows]) == (8, [True, *[False] * 7])


def test_a_change_of_places_that_fails_changes_nothing(open_store: Open) -> None:
    store = open_store()
    store.create(ROW)

    def fail(rows: tuple[PlaceRow, ...]) -> list[PlaceRow]:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        store.change_places(fail)
    assert store.places() == ()
    store.change_places(lambda rows: [PLACE])
    assert len(store.places()) == 1
