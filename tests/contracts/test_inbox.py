"""The rest of the contract of every store's inbox: what is sent once, and that nothing ends past a signal.

`conftest.py` finds the adapters.
"""

import pytest

from noetl.ports import Append, Conflict, ExecutionRow, Over, Store, StoreFailure, Unread

ROW = ExecutionRow("e1", "demo/one", "d" * 64, "running", None, 1_000, None)


def end(store: Store, name: str, read: int | None) -> int:
    """End an execution whose inbox was read up to a row."""
    return store.append(name, 0, [("s1", b"end")], status="completed", ended=9, read=read)


def test_what_is_sent_once_has_one_row(store: Store) -> None:
    store.create(ROW._replace(execution_id="e2"))
    row = store.post("e1", "signal", {"name": "go"}, once="a e1")
    assert store.post("e1", "signal", {"name": "other"}, once="a e1") == row
    assert store.post("e2", "signal", {"name": "go"}, once="a e2") != row
    assert [each.row for each in store.inbox("e1", 0)] == [row]
    end(store, "e1", row)
    assert store.post("e1", "signal", {"name": "go"}, once="a e1") == row, "it was delivered before the end"


def test_what_has_ended_takes_no_signal(store: Store) -> None:
    end(store, "e1", 0)
    with pytest.raises(Over):
        store.post("e1", "signal", {"name": "go"}, once="b e1")
    with pytest.raises(StoreFailure) as unknown:
        store.post("nobody", "signal", {"name": "go"})
    assert not isinstance(unknown.value, Over)
    assert store.inbox("e1", 0) == () and store.post("e1", "cancel", None)


def test_nothing_ends_past_a_signal_that_it_has_not_read(store: Store) -> None:
    store.create(ROW._replace(execution_id="e2"))
    store.post("e1", "pause", None)
    row = store.post("e1", "signal", {"name": "go"})
    with pytest.raises(Unread):
        end(store, "e1", row - 1)
    both = [Append("e2", 0, [("s1", b"x")], "running", None), Append("e1", 0, [("s1", b"y")], "failed", 9, 0)]
    with pytest.raises(Unread):
        store.append_all(both)
    assert not [*store.read("e1")] and not [*store.read("e2")]
    assert store.append("e1", 0, [("s1", b"on")], status="running", ended=None, read=0) == 1
    with pytest.raises(Conflict):
        end(store, "e1", row)
    assert store.append("e1", 1, [("s2", b"end")], status="completed", ended=9, read=row) == 2
    found = store.execution("e1")
    assert found is not None and (found.status, found.ended) == ("completed", 9)


def test_what_the_engine_gives_up_ends_in_any_case(store: Store) -> None:
    store.post("e1", "signal", {"name": "go"})
    assert end(store, "e1", None) == 1
