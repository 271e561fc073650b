"""The contract of schedules in stores."""

from collections.abc import Callable

import pytest

from noetl.ports import Store
from noetl.ports.schedules import Scheduled, ScheduleRow, Schedules

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
    for row in (ROW, other):
        store.scheduling.put_schedule(row)
    again = open_store()
    assert isinstance(again, Scheduled)
    assert again.scheduling.schedules() == (other, ROW)
    assert again.scheduling.schedules("etl/nightly") == (ROW,)
    assert again.scheduling.schedules("nobody") == ()


def test_one_of_its_name_is_replaced_and_removed_once(kept: Schedules) -> None:
    kept.put_schedule(ROW)
    kept.put_schedule(ROW._replace(cursor=5))
    assert kept.schedules() == (ROW._replace(cursor=5),)
    assert kept.remove_schedule("etl/nightly")
    assert not kept.remove_schedule("etl/nightly")
    assert kept.schedules() == ()


def test_a_row_moves_from_where_it_is_and_nowhere_else(kept: Schedules) -> None:
    kept.put_schedule(ROW)
    first, second = ROW._replace(cursor=ROW.cursor + 1, last="x"), ROW._replace(cursor=ROW.cursor + 2)
    assert kept.move_schedule(ROW, first)
    assert kept.move_schedule(ROW, first), "a repeat, whose answer was lost"
    assert not kept.move_schedule(ROW, second)
    assert not kept.move_schedule(ROW._replace(paused=True), second)
    assert kept.schedules() == (first,)
    assert kept.move_schedule(first, second)
    assert not kept.move_schedule(ROW._replace(name="nobody"), second)
