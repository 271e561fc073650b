"""The contract of schedules in stores."""

from collections.abc import Callable

import pytest

from noetl.ports import Store
from noetl.ports.schedules import Scheduled, ScheduleRow, Schedules, UnstartedTime

ROW = ScheduleRow("etl/nightly", {"spec": {"payload": {"é\0": [1, 2.5, None, True]}}}, 1_772_323_200_000_001)
Open = Callable[..., Store]


@pytest.fixture
def kept(store: Store) -> Schedules:
    assert isinstance(store, Scheduled)
    return store.scheduling


def test_what_is_kept_comes_back_by_name(open_store: Open) -> None:
    store = open_store()
    assert isinstance(store, Scheduled)
    other = ROW._replace(name="a", paused=True, last="x", trouble="no\0ne", began=1_772_323_200_000_002)
    other = other.with_unstarted([UnstartedTime(5, "paused"), UnstartedTime(1_772_323_200_000_003, "skipped", "x1")])
    for row in (ROW, other):
        store.scheduling.put(row)
    again = open_store()
    assert isinstance(again, Scheduled)
    assert again.scheduling.rows() == (other, ROW)
    assert again.scheduling.rows("etl/nightly") == (ROW,)
    assert again.scheduling.rows("nobody") == ()


def test_one_of_its_name_is_replaced_and_removed_once(kept: Schedules) -> None:
    kept.put(ROW)
    kept.put(ROW._replace(cursor=5))
    assert kept.rows() == (ROW._replace(cursor=5),)
    assert kept.remove("etl/nightly")
    assert not kept.remove("etl/nightly")
    assert kept.rows() == ()


def test_a_row_moves_from_where_it_is_and_nowhere_else(kept: Schedules) -> None:
    kept.put(ROW)
    first, second = ROW._replace(cursor=ROW.cursor + 1, last="x"), ROW._replace(cursor=ROW.cursor + 2)
    assert kept.move(ROW, first)
    assert kept.move(ROW, first), "a repeat, whose answer was lost"
    assert not kept.move(ROW, second)
    assert not kept.move(ROW._replace(paused=True), second)
    assert kept.rows() == (first,)
    assert kept.move(first, second)
    assert not kept.move(ROW._replace(name="nobody"), second)
