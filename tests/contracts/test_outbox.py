"""The contract of the outbox: a row goes with what it is about, and stays until it was told."""

from collections.abc import Callable

import pytest

from noetl.ports import Conflict, ExecutionRow, Store
from noetl.ports.outbox import Outbox, OutboxRow, Telling, WantedOutbox

ROW = ExecutionRow("x1", "etl/a", "d", "running", None, 1, None)
ALL = WantedOutbox()
Open = Callable[..., Store]


def outbox_of(store: Store) -> Outbox:
    assert isinstance(store, Telling)
    return store.outbox


@pytest.fixture
def outbox(store: Store) -> Outbox:
    return outbox_of(store)


def row(topic: str, subject: str, due: int = 0, **others: object) -> OutboxRow:
    return OutboxRow(0, topic, subject, None, 1, due)._replace(**others)  # type: ignore[arg-type]


def told(outbox: Outbox, wanted: WantedOutbox = ALL) -> list[tuple[str, str]]:
    return [(each.topic, each.subject) for each in outbox.outbox_rows(wanted)]


def test_each_end_has_its_rows_and_one_that_is_restored_has_none(store: Store, outbox: Outbox) -> None:
    store.create(ROW, [("s1", b"{}")])
    store.append("x1", 1, [("s2", b"{}")], status="completed", ended=5)
    assert told(outbox) == [], "nobody watches"
    outbox.watch_ends("trace", top=False)
    outbox.watch_ends("notify", top=True)
    outbox.watch_ends("notify", top=True)
    assert outbox.watched_ends() == ("notify", "trace")
    store.create(ROW._replace(execution_id="restored", status="completed", ended=3))
    store.create(ROW._replace(execution_id="x2"), [("s1", b"{}")])
    store.append("x2", 1, [("s2", b"{}")], status="running", ended=None)
    assert told(outbox) == []
    store.append("x2", 2, [("s3", b"{}")], status="failed", ended=7)
    child = ROW._replace(execution_id="x3", parent_execution_id="x2")
    store.create(child, [("s1", b"{}")])
    store.append("x3", 1, [("s2", b"{}")], status="failed", ended=8)
    store.create(ROW._replace(execution_id="x4", status="failed", ended=9), [("s1", b"{}")])
    found = outbox.outbox_rows(ALL)
    assert sorted((each.topic, each.subject, each.at) for each in found) == [
        ("notify", "x2", 7), ("notify", "x4", 9), ("trace", "x2", 7), ("trace", "x3", 8), ("trace", "x4", 9),
    ]  # fmt: skip
    outbox.unwatch_ends("trace")
    assert {topic for topic, _ in told(outbox)} == {"notify"} and outbox.watched_ends() == ("notify",)


def test_an_end_that_is_not_on_disk_has_no_row(store: Store, outbox: Outbox) -> None:
    outbox.watch_ends("trace", top=False)
    store.create(ROW, [("s1", b"{}")])
    with pytest.raises(Conflict):
        store.append("x1", 7, [("s2", b"{}")], status="completed", ended=5)
    assert told(outbox) == []


def test_a_subject_is_there_once_until_it_is_settled(outbox: Outbox) -> None:
    outbox.put_outbox([row("a", "é\0", body={"x": [1, None, "é\0"]})])
    outbox.put_outbox([row("a", "é\0"), row("b", "é\0")])
    first, second = outbox.outbox_rows(ALL)
    assert (first.body, first.topic, second.topic) == ({"x": [1, None, "é\0"]}, "a", "b")
    outbox.settle_outbox(first.number)
    outbox.put_outbox([row("a", "é\0")])
    assert [each.number > second.number for each in outbox.outbox_rows(WantedOutbox("a"))] == [True]


def test_rows_take_the_place_of_another(outbox: Outbox) -> None:
    outbox.put_outbox([row("ends", "x1")])
    (end,) = outbox.outbox_rows(ALL)
    outbox.put_outbox([row("to:mail", "x1"), row("to:hook", "x1")], instead_of=end.number)
    assert told(outbox) == [("to:mail", "x1"), ("to:hook", "x1")]


def test_what_is_due_is_taken_once_for_a_while(open_store: Open) -> None:
    outbox, other = outbox_of(open_store()), outbox_of(open_store())
    outbox.put_outbox([row("to:b", "late", 20), row("to:a", "soon", 10), row("to", "x", 10), row("tp", "y", 10)])
    assert outbox.take_outbox(("to:",), 9, 100, 10) == ()
    assert [each.subject for each in outbox.take_outbox(("to:",), 15, 100, 10)] == ["soon"]
    assert [each.subject for each in other.take_outbox(("to:",), 20, 120, 10)] in (["late"], [])
    assert [each.subject for each in outbox.take_outbox(("to", "nobody"), 20, 120, 10)] == ["x"]
    assert outbox.take_outbox(("to:",), 30, 130, 10) in ((), outbox.outbox_rows(WantedOutbox("to:b")))
    assert "soon" in [each.subject for each in outbox.take_outbox(("to:",), 140, 200, 10)], "whoever had it died"
    assert outbox.take_outbox((), 140, 200, 10) == ()


def test_so_many_are_taken_oldest_first(outbox: Outbox) -> None:
    outbox.put_outbox([row("t", f"s{number}", 10 - number) for number in range(5)])
    assert [each.subject for each in outbox.take_outbox(("t",), 50, 100, 2)] == ["s4", "s3"]


def test_what_fails_is_due_later_until_it_is_dead(outbox: Outbox) -> None:
    outbox.put_outbox([row("t", "s")])
    (one,) = outbox.take_outbox(("t",), 1, 100, 1)
    outbox.put_off_outbox(one.number, 50, "no answer")
    assert outbox.take_outbox(("t",), 49, 100, 1) == ()
    (again,) = outbox.take_outbox(("t",), 50, 100, 1)
    assert (again.tries, again.trouble) == (1, "no answer")
    outbox.put_off_outbox(one.number, 60, "gone", dead=True)
    assert outbox.take_outbox(("t",), 1_000, 2_000, 1) == ()
    (dead,) = outbox.outbox_rows(WantedOutbox(dead=True))
    assert (dead.tries, dead.trouble, dead.is_dead) == (2, "gone", True)
    assert outbox.outbox_rows(WantedOutbox(dead=False)) == ()
    assert outbox.revive_outbox(one.number, 70)
    assert not outbox.revive_outbox(one.number, 70)
    assert [each.tries for each in outbox.take_outbox(("t",), 70, 100, 1)] == [0]


def test_rows_are_listed_by_topic_and_pages(outbox: Outbox) -> None:
    outbox.put_outbox([row(topic, f"s{number}") for number in range(2) for topic in ("to:a", "to:b", "tp")])
    assert told(outbox, WantedOutbox(prefix="to:")) == [
        ("to:a", "s0"), ("to:b", "s0"), ("to:a", "s1"), ("to:b", "s1"),
    ]  # fmt: skip
    first = outbox.outbox_rows(WantedOutbox(limit=4))
    assert len(first) == 4 and len(outbox.outbox_rows(WantedOutbox(after=first[-1].number, limit=4))) == 2


def test_rows_of_some_topics_are_left_and_each_taking_counts(outbox: Outbox) -> None:
    outbox.put_outbox([row("to:a", "s0"), row("to:a", "s1"), row("to:b", "s2")])
    (other,) = outbox.take_outbox(("to:",), 1, 10, 9, without=("to:a", "to"))
    assert (other.subject, other.tries) == ("s2", 0)
    assert [each.tries for each in outbox.outbox_rows(ALL)] == [0, 0, 1]
    (again,) = outbox.take_outbox(("to:b",), 10, 20, 9)
    assert again.tries == 1, "whoever had it died"


def test_the_end_of_what_is_purged_is_told_no_more(store: Store, outbox: Outbox) -> None:
    outbox.watch_ends("trace", top=False)
    for name in ("x1", "x2"):
        store.create(ROW._replace(execution_id=name), [("s1", b"{}")])
        store.append(name, 1, [("s2", b"{}")], status="failed", ended=5)
    outbox.put_outbox([row("notify:oncall", "x1")])
    for each in outbox.outbox_rows(WantedOutbox("trace")):
        outbox.put_off_outbox(each.number, 9, "no", dead=True)
    store.purges.purge(["x1"])
    assert told(outbox) == [("trace", "x2"), ("notify:oncall", "x1")], "whoever is told of a failure is told still"
