"""The contract of triggers in stores."""

from collections.abc import Callable

import pytest

from noetl.ports import Append, ExecutionRow, Store
from noetl.ports.triggers import Triggered, TriggerLetter, TriggerRow, Triggers

ROW = TriggerRow("etl/done", "after", {"é\0": [1, None]}, {"templates": {}}, began=1_772_323_200_000_001)
LETTER = TriggerLetter(0, "etl/done", "\0trigger\0etl/done\0x", {"body": "é\0"}, "no\0ne", 7)
RUN = ExecutionRow("x1", "demo/one", "d" * 64, "running", None, 1_000, None)
Open = Callable[..., Store]


@pytest.fixture
def kept(store: Store) -> Triggers:
    return triggers_of(store)


def triggers_of(store: Store) -> Triggers:
    assert isinstance(store, Triggered)
    return store.triggering


def ends(kept: Triggers) -> list[tuple[str, str, int]]:
    return [(end.trigger, end.execution_id, end.ended) for end in kept.awaited_ends(99)]


def test_what_is_kept_comes_back_by_name(open_store: Open) -> None:
    other = ROW._replace(name="a", kind="webhook", paused=True, last="x", trouble="no\0ne")
    for row in (ROW, other):
        triggers_of(open_store()).put(row)
    again = triggers_of(open_store())
    assert again.rows() == (other, ROW)
    assert again.rows("etl/done") == (ROW,)
    assert again.rows("nobody") == ()


def test_a_row_moves_from_where_it_is_and_nowhere_else(kept: Triggers) -> None:
    kept.put(ROW)
    first, second = ROW._replace(last="x"), ROW._replace(last="y")
    assert kept.move(ROW, first)
    assert kept.move(ROW, first), "a repeat, whose answer was lost"
    assert not kept.move(ROW, second)
    assert kept.rows() == (first,)
    assert not kept.move(ROW._replace(name="nobody"), second)


def test_each_end_is_there_once_for_each_trigger_that_waits_for_ends(store: Store, kept: Triggers) -> None:
    store.create(RUN._replace(execution_id="early"), [("a", b"")])
    store.append("early", 1, [("b", b"")], status="completed", ended=5)
    for row in (ROW, ROW._replace(name="b"), ROW._replace(name="c", kind="nats"), ROW._replace(name="d", paused=True)):
        kept.put(row)
    for name in ("x1", "x2"):
        store.create(RUN._replace(execution_id=name), [("a", b"")])
    store.create(RUN._replace(execution_id="child", parent_execution_id="x1"), [("a", b"")])
    store.append("x1", 1, [("b", b"")], status="running", ended=None)
    store.append("child", 1, [("b", b"")], status="completed", ended=6)
    assert ends(kept) == []
    store.append("x1", 2, [("c", b"")], status="completed", ended=7)
    store.append_all([Append("x2", 1, [("b", b"")], "failed", 8, None)])
    assert sorted(ends(kept)) == [("b", "x1", 7), ("b", "x2", 8), ("etl/done", "x1", 7), ("etl/done", "x2", 8)]
    assert len(kept.awaited_ends(3)) == 3
    assert [end.execution_id for end in kept.awaited_ends(9, "etl/done")] == ["x1", "x2"]
    assert len(kept.awaited_ends(1, "b")) == 1 and kept.awaited_ends(9, "nobody") == ()
    assert sorted((end.trigger, end.execution_id) for end in kept.awaited_ends(9, execution_id="x2")) == [
        ("b", "x2"),
        ("etl/done", "x2"),
    ]
    assert [(end.trigger, end.execution_id) for end in kept.awaited_ends(9, "b", "x1")] == [("b", "x1")]
    assert kept.awaited_ends(9, "nobody", "x1") == kept.awaited_ends(9, "b", "nobody") == ()
    for end in kept.awaited_ends(3):
        kept.settle_end(end.number)
        kept.settle_end(end.number)
    assert len(ends(kept)) == 1


def test_one_that_is_over_at_once_has_its_end_and_one_that_is_restored_has_none(store: Store, kept: Triggers) -> None:
    kept.put(ROW)
    store.create(RUN._replace(status="failed", ended=9), [("a", b""), ("b", b"")])
    assert ends(kept) == [("etl/done", "x1", 9)]
    restored = RUN._replace(execution_id="x2", status="completed", ended=10)
    store.create(restored)
    store.append("x2", 0, [("a", b""), ("b", b"")], status="completed", ended=10)
    assert ends(kept) == [("etl/done", "x1", 9)]
    assert store.execution("x1") == RUN._replace(status="failed", ended=9)
    assert store.execution("x2") == restored


def test_a_letter_is_kept_once_and_goes_with_its_trigger(store: Store, kept: Triggers) -> None:
    kept.put(ROW)
    store.create(RUN._replace(status="failed", ended=9), [("a", b"")])
    (end,) = kept.awaited_ends(9)
    kept.settle_end(end.number, LETTER)
    kept.put_letter(LETTER)
    kept.put_letter(LETTER._replace(key="other"))
    found = kept.dead_letters("etl/done", 0, 9)
    assert [one._replace(number=0) for one in found] == [LETTER, LETTER._replace(key="other")]
    assert kept.dead_letters("etl/done", found[0].number, 9) == found[1:]
    assert ends(kept) == []
    assert kept.remove_letter(found[1].number)
    assert not kept.remove_letter(found[1].number)
    store.create(RUN._replace(execution_id="x2", status="failed", ended=9), [("a", b"")])
    assert kept.remove("etl/done")
    assert not kept.remove("etl/done")
    assert kept.dead_letters("etl/done", 0, 9) == () and ends(kept) == []


def test_the_newest_letters_stay(kept: Triggers, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("noetl.ports.triggers.MOST_LETTERS", 3)
    monkeypatch.setattr("noetl.clients.trigger_rows.MOST_LETTERS", 3)
    kept.put_letter(LETTER._replace(trigger="other", key="other"))
    for number in range(6):
        kept.put_letter(LETTER._replace(key=f"k{number}"))
    assert [one.key for one in kept.dead_letters("etl/done", 0, 9)] == ["k3", "k4", "k5"]
    assert len(kept.dead_letters("other", 0, 9)) == 1
