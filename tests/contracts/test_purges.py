"""The contract of purges: what is over is gone with all that a store has of it, and nothing else is."""

from collections.abc import Callable

import pytest

from noetl.ports import ExecutionRow, Over, Store, StoreFailure, Taken, Unpurgeable, Wanted
from noetl.ports.idempotency import StartKey
from noetl.ports.mailbox import Letter, OpenWait
from noetl.ports.places import PlaceRow

OVER = ExecutionRow("old", "demo/one", "d" * 64, "completed", None, 1_000, 2_000)
OTHER = OVER._replace(execution_id="other")
Open = Callable[..., Store]


def add(store: Store, row: ExecutionRow, events: int = 3) -> None:
    """An execution with some events."""
    store.create(row._replace(status="running", ended=None))
    records = [(f"v{number}", b"%d" % number) for number in range(events)]
    store.append(row.execution_id, 0, records, status=row.status, ended=row.ended)


def swept(store: Store, name: str) -> None:
    while not store.purges.sweep(name, 2):
        pass
    store.purges.forget(name)


def test_what_is_purged_is_in_no_list_and_has_no_log(open_store: Open) -> None:
    store = open_store()
    add(store, OVER)
    add(store, OTHER)
    store.purges.purge(["old"])
    for again in (store, open_store()):
        assert again.execution("old") is None
        assert [row.execution_id for row in again.executions()] == ["other"]
        assert again.counts().get("completed") == 1
        assert [*again.read("old")] == []
        assert len([*again.read("other")]) == 3
    with pytest.raises(StoreFailure, match="no execution 'old'"):
        store.append("old", 3, [("z", b"")], status="running", ended=None)
    with pytest.raises(StoreFailure, match="no execution 'old'"):
        store.post("old", "cancel", None)


def test_nothing_is_left_of_it_once_it_was_swept(open_store: Open) -> None:
    store = open_store()
    add(store, OVER, events=9)
    store.purges.purge(["old"])
    assert store.purges.purged() == open_store().purges.purged() == ("old",)
    swept(store, "old")
    assert store.purges.purged() == ()
    # The same id begins anew, with a log of its own.
    add(store, OVER, events=2)
    assert [record.position for record in store.read("old")] == [1, 2]


def test_what_begins_while_another_one_is_swept_has_a_log_of_its_own(open_store: Open) -> None:
    """The newest execution is purged, whose place in the database is free then."""
    store = open_store()
    add(store, OTHER)
    add(store, OVER, events=7)
    store.purges.purge(["old"])
    add(store, OVER._replace(execution_id="new"), events=2)
    assert [record.event_id for record in store.read("new")] == ["v0", "v1"]
    swept(store, "old")
    assert [record.event_id for record in store.read("new")] == ["v0", "v1"]
    assert len([*store.read("other")]) == 3


def test_a_purge_and_a_sweep_can_be_repeated(store: Store) -> None:
    add(store, OVER)
    store.purges.purge(["old", "nobody"])
    store.purges.purge(["old", "nobody"])
    swept(store, "old")
    swept(store, "old")
    assert store.purges.purged() == ()


def test_requests_places_and_keys_of_starts_go_with_it(store: Store) -> None:
    store.create(OVER._replace(status="running", ended=None), key=StartKey("key", "hash"))
    store.change_places(lambda rows: [PlaceRow("k", "old", "old", placed=True)])
    row = store.post("old", "pause", None, once="name")
    store.append("old", 0, [("v", b"")], status="completed", ended=2_000)
    with pytest.raises(Taken):
        store.create(OTHER, key=StartKey("key", "hash"))
    store.purges.purge(["old"])
    assert store.started_with("key") is None
    assert store.inbox("old", 0) == ()
    assert row not in [request.row for request in store.posts(0)]
    # Numbers of requests are never used again, whoever has polled them.
    assert store.post("e1", "pause", None, once="name") > row
    assert store.places() == ()
    store.create(OTHER, key=StartKey("key", "hash"))
    assert store.started_with("key") == ("other", "hash")


def test_what_is_not_over_stays_with_all_others(store: Store) -> None:
    add(store, OVER)
    with pytest.raises(Unpurgeable, match="'e1' is not over"):
        store.purges.purge(["old", "e1"])
    assert store.execution("old") == OVER
    assert len([*store.read("old")]) == 3


def test_no_child_loses_its_caller(store: Store) -> None:
    add(store, OVER)
    add(store, OVER._replace(execution_id="child", parent_execution_id="old"))
    with pytest.raises(Unpurgeable, match="'old' has a child that would stay, 'child'"):
        store.purges.purge(["old"])
    assert [row.execution_id for row in store.executions(Wanted(parent="old"))] == ["child"]
    store.purges.purge(["child", "old"])
    assert [row.execution_id for row in store.executions()] == ["e1"]


def test_a_signal_that_is_on_its_way_to_it_is_not_lost(store: Store) -> None:
    store.create(OVER._replace(status="running", ended=None))
    store.mailbox.await_letter(OpenWait("k", "old", "1:0:1:1", ("go",)))
    store.mailbox.post_letter(Letter("k", "go", 1, "letter"))
    (request,) = store.inbox("old", 0)
    store.append("old", 0, [("v", b"")], status="completed", ended=2_000, read=request.row)
    with pytest.raises(Unpurgeable, match="a signal of the mailbox is on its way to execution 'old'"):
        store.purges.purge(["old"])
    store.mailbox.return_letter("old", request.row)
    store.purges.purge(["old"])
    # The next wait has it.
    assert store.mailbox.await_letter(OpenWait("k", "e1", "1:0:1:1", ("go",)))


def test_a_wait_of_it_is_listed_no_more(store: Store) -> None:
    store.create(OVER._replace(status="running", ended=None))
    store.mailbox.await_letter(OpenWait("k", "old", "1:0:1:1", ("go",)))
    store.append("old", 0, [("v", b"")], status="completed", ended=2_000)
    store.purges.purge(["old"])
    assert store.mailbox.correspondence("old").calls == ()
    add(store, OVER._replace(status="running", ended=None))
    assert not store.mailbox.post_letter(Letter("k", "go", 1, "letter"))


def test_signals_and_starts_by_time_are_as_before(store: Store) -> None:
    add(store, OVER)
    with pytest.raises(Over):
        store.post("old", "signal", {"name": "go"})
    add(store, OVER._replace(execution_id="later", started=5_000, ended=6_000))
    found = store.executions(Wanted(started_before=5_000))
    assert {row.execution_id for row in found} == {"e1", "old"}
    assert [row.execution_id for row in store.executions(Wanted(started_before=5_000, status="completed"))] == ["old"]
