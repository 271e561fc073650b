"""The contract of every store, whichever it is: the promises of `noetl.ports.Store`, scenarios 74, 78 and 92.

`conftest.py` finds the adapters.
"""

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from noetl.ports import (
    Append,
    Conflict,
    ExecutionRow,
    InboxRow,
    Owned,
    Record,
    Store,
    StoreFailure,
    StoreRefused,
    Taken,
    Wanted,
)
from noetl.ports.idempotency import StartKey
from noetl_ir.expr import Json

ROW = ExecutionRow("e1", "demo/one", "d" * 64, "running", None, 1_000, None)
Open = Callable[..., Store]


def add(store: Store, expected: int, *records: tuple[str, bytes], status: str = "running") -> int:
    """Append to e1."""
    return store.append("e1", expected, records, status=status, ended=None if status == "running" else 9)


def log(store: Store, after: int = 0) -> list[tuple[int, str, bytes]]:
    """The log of e1."""
    return [(position, name, body) for position, name, body in store.read("e1", after)]


def test_events_come_back_in_order_as_they_went_in(store: Store) -> None:
    assert add(store, 0, ("a", b"1"), ("b", b"")) == 2
    assert add(store, 2, ("c", b"\x00\xff")) == 3
    assert log(store) == [(1, "a", b"1"), (2, "b", b""), (3, "c", b"\x00\xff")]
    assert next(store.read("e1")) == Record(1, "a", b"1")
    assert log(store, 1) == log(store)[1:]
    assert log(store, 3) == []


def test_many_events_are_read_page_by_page_while_others_come(store: Store) -> None:
    records = [(f"{number:05}", b"x" * (number % 300)) for number in range(1_500)]
    assert add(store, 0, *records) == 1_500
    reader = store.read("e1")
    seen = [next(reader) for _ in range(700)]
    add(store, 1_500, ("late", b"y"))
    seen += reader
    assert [(record.event_id, record.body) for record in seen] == [*records, ("late", b"y")]
    assert [record.position for record in seen] == list(range(1, 1_502))


def test_a_log_is_another_executions_business(store: Store) -> None:
    store.create(ROW._replace(execution_id="e2"))
    add(store, 0, ("a", b"1"))
    assert store.append("e2", 0, [("a", b"2")], status="running", ended=None) == 1
    assert add(store, 1, ("b", b"3")) == 2
    assert [record.body for record in store.read("e2")] == [b"2"]
    assert log(store) == [(1, "a", b"1"), (2, "b", b"3")]


def test_an_equal_repeat_is_stored_once_and_another_body_refused(store: Store) -> None:
    """Scenario 74."""
    add(store, 0, ("e-1", b"x"), ("e-5", b"v: 1"))
    assert add(store, 2, ("e-5", b"v: 1")) == 2
    assert add(store, 0, ("e-5", b"v: 1")) == 2
    with pytest.raises(Conflict, match="e-5"):
        add(store, 2, ("e-5", b"v: 2"))
    with pytest.raises(Conflict, match="e-5"):
        add(store, 2, ("e-6", b"new"), ("e-5", b"v: 2"))
    assert log(store) == [(1, "e-1", b"x"), (2, "e-5", b"v: 1")]


def test_a_batch_whose_acknowledgement_was_lost_may_come_again(store: Store) -> None:
    batch = [("a", b"1"), ("b", b"2")]
    assert add(store, 0, *batch) == 2
    assert add(store, 0, *batch) == 2
    assert add(store, 0, *batch, ("c", b"3")) == 3
    assert add(store, 1, ("b", b"2"), ("c", b"3"), ("d", b"4")) == 4
    assert [record[1] for record in log(store)] == ["a", "b", "c", "d"]


def test_a_repeat_among_new_events_is_skipped(store: Store) -> None:
    add(store, 0, ("a", b"1"))
    assert add(store, 1, ("b", b"2"), ("a", b"1"), ("c", b"3"), ("b", b"2")) == 3
    assert log(store) == [(1, "a", b"1"), (2, "b", b"2"), (3, "c", b"3")]


def test_a_repeat_does_not_turn_the_status_back(store: Store) -> None:
    add(store, 0, ("a", b"1"))
    add(store, 1, ("end", b"2"), status="completed")
    assert add(store, 0, ("a", b"1")) == 2
    assert store.execution("e1") == ROW._replace(status="completed", ended=9)


@pytest.mark.parametrize("expected", [0, 1, 3, 99])
def test_a_wrong_expected_position_is_a_conflict(store: Store, expected: int) -> None:
    add(store, 0, ("a", b"1"), ("b", b"2"))
    with pytest.raises(Conflict):
        add(store, expected, ("c", b"3"))
    with pytest.raises(Conflict):
        add(store, 99, ("a", b"1"))
    assert add(store, 2, ("c", b"3")) == 3
    assert [record[0] for record in log(store)] == [1, 2, 3]


def test_a_snapshot_newer_than_the_log_is_noticed(store: Store) -> None:
    """Scenario 74."""
    add(store, 0, ("a", b"1"))
    with pytest.raises(Conflict, match="position"):
        list(store.read("e1", 2))


def test_an_empty_append_only_checks_the_position(store: Store) -> None:
    assert add(store, 0, status="failed") == 0
    assert store.execution("e1") == ROW
    with pytest.raises(Conflict):
        add(store, 1)


def test_unknown_executions(store: Store) -> None:
    assert store.execution("nope") is None
    assert list(store.read("nope")) == []
    assert store.inbox("nope", 0) == ()
    assert not store.is_owned("../../nope")
    attempts: list[Callable[[], object]] = [
        lambda: store.append("nope", 0, [("a", b"")], status="running", ended=None),
        lambda: store.post("nope", "cancel", None),
    ]
    for attempt in attempts:
        with pytest.raises(StoreFailure, match="nope"):
            attempt()


def test_the_row_follows_the_log(store: Store) -> None:
    add(store, 0, ("a", b"1"), status="paused")
    assert store.execution("e1") == ROW._replace(status="paused", ended=9)
    add(store, 1, ("b", b"1"))
    assert store.execution("e1") == ROW


def test_lists_are_newest_first(store: Store) -> None:
    for name, started in [("e2", 3_000), ("e3", 2_000), ("e4", 3_000)]:
        store.create(ROW._replace(execution_id=name, started=started, parent_execution_id="e1"))
    assert [row.execution_id for row in store.executions()] == ["e4", "e2", "e3", "e1"]
    assert store.executions()[0].parent_execution_id == "e1"


def test_lists_show_what_is_wanted(store: Store) -> None:
    for at, (name, status, ended, parent) in enumerate(
        [("e2", "failed", 9, "e1"), ("e3", "running", None, "e1"), ("e4", "running", None, None)]
    ):
        row = ROW._replace(execution_id=name, started=5_000 + at, parent_execution_id=parent)
        store.create(row, [])
        store.append(name, 0, [("a", b"1")], status=status, ended=ended)

    def listed(wanted: Wanted) -> list[str]:
        return [row.execution_id for row in store.executions(wanted)]

    assert listed(Wanted(limit=2)) == ["e4", "e3"]
    assert listed(Wanted(limit=2, before="e3")) == ["e2", "e1"]
    assert listed(Wanted(before="e1")) == listed(Wanted(before="nope")) == []
    assert listed(Wanted(status="failed")) == ["e2"]
    assert listed(Wanted(parent="e1")) == ["e3", "e2"]
    assert listed(Wanted(parent="e1", open=True)) == ["e3"]
    assert listed(Wanted(status="running", open=True, limit=1)) == ["e4"]
    assert listed(Wanted(top=True)) == ["e4", "e1"]
    store.create(ROW._replace(execution_id="e5", started=4_000, rerun_of="e1"))
    assert listed(Wanted(rerun_of="e1")) == ["e5"] and not listed(Wanted(rerun_of="e2"))
    found = store.execution("e5")
    assert found is not None and found.rerun_of == "e1"
    assert store.counts() == {"running": 4, "failed": 1}


def test_lists_are_searched_by_path_and_by_the_beginning_of_an_id(store: Store) -> None:
    """Signs that a pattern of SQL gives a meaning are plain text, and of letters only those of ASCII fold."""
    paths = {"e2": "shop/Order", "e3": "shop/a_b", "E4": "shop/aXb", "e5": "100%!", "e6": "Ägypten", "2e": "a\\b"}
    for at, (name, path) in enumerate(paths.items()):
        store.create(ROW._replace(execution_id=name, playbook=path, started=5_000 + at))

    def found(text: str) -> set[str]:
        return {row.execution_id for row in store.executions(Wanted(text=text))} & {*paths}

    assert found("order") == found("SHOP/o") == {"e2"}
    assert found("a_b") == {"e3"} and found("0%!") == {"e5"} and found("%%") == set()
    assert found("Ägypten") == {"e6"} and found("ägypten") == set()
    assert found("\\") == {"2e"} and found("e5") == {"e5"} and found("5") == set()
    assert {row.execution_id for row in store.executions(Wanted(text="shop", limit=1))} == {"E4"}


def test_the_first_source_of_a_plan_stays(store: Store) -> None:
    assert store.source("d" * 64) is None
    store.put_plan("e" * 64, "shop/order", b"plan")
    store.put_source("e" * 64, b"a: 1 \xff\x00")
    store.put_source("e" * 64, b"a: 2")
    assert store.source("e" * 64) == b"a: 1 \xff\x00"
    store.put_source("f" * 64, b"of no plan")
    assert store.source("f" * 64) is None


def test_creating_again_is_harmless_when_it_is_the_same(store: Store) -> None:
    first = [("a", b"1"), ("b", b"2")]
    row = ROW._replace(execution_id="e2")
    store.create(row, first)
    store.create(row._replace(started=2_000), first)
    assert store.execution("e2") == row
    assert [record.event_id for record in store.read("e2")] == ["a", "b"]
    for other in (row._replace(plan_digest="x"), row._replace(playbook="x"), row._replace(parent_execution_id="x")):
        with pytest.raises(Conflict, match="e2"):
            store.create(other)
    with pytest.raises(Conflict):
        store.create(row, [("a", b"1"), ("b", b"3")])
    with pytest.raises(Conflict):
        store.create(row, [*first, ("c", b"3")])


def test_a_key_starts_one_execution(store: Store) -> None:
    first, second = ROW._replace(execution_id="e2"), ROW._replace(execution_id="e3")
    assert store.started_with("k") is None
    store.create(first, [("a", b"1")], key=StartKey("k", "asked"))
    store.create(first, [("a", b"1")], key=StartKey("k", "asked"))
    assert store.started_with("k") == ("e2", "asked") and store.started_with("K") is None
    for asked in ("asked", "something else"):
        with pytest.raises(Taken) as taken:
            store.create(second, [("a", b"1")], key=StartKey("k", asked))
        assert (taken.value.execution_id, taken.value.request) == ("e2", "asked")
        assert store.execution("e3") is None and list(store.read("e3")) == []
    store.create(second, [("a", b"1")], key=StartKey("k2", "asked"))
    assert store.started_with("k2") == ("e3", "asked")


def test_of_many_that_start_with_one_key_at_once_one_does(open_store: Open) -> None:
    stores = [open_store() for _ in range(4)]
    names = [f"e{number}" for number in range(2, 18)]

    def begun(number: int) -> str:
        row = ROW._replace(execution_id=names[number])
        try:
            stores[number % 4].create(row, [("a", b"1")], key=StartKey("k", "asked"))
        except Taken as taken:
            return taken.execution_id
        return row.execution_id

    with ThreadPoolExecutor(len(names)) as pool:
        names_begun = {*pool.map(begun, range(len(names)))}
    assert len(names_begun) == 1
    assert [name for name in names if stores[0].execution(name) is not None] == [*names_begun]


def test_all_who_open_a_store_know_one_key_of_claims(store: Store, open_store: Open) -> None:
    others = [open_store() for _ in range(3)]
    with ThreadPoolExecutor(4) as threads:
        keys = set(threads.map(lambda one: one.claims_key(), [store, *others]))
    (key,) = keys
    assert len(key) == 32 and len(set(key)) > 8  # by chance one in 10^30 has fewer
    for other in others:
        other.close()


def test_a_store_vouches_for_what_was_noted_and_for_nothing_else(store: Store, open_store: Open) -> None:
    plan, other = "a" * 64, "b" * 64
    assert not store.vouches(plan, "v1")
    store.vouch(plan, "v1")
    for one in (store, open_store()):
        assert one.vouches(plan, "v1")
        assert not any(one.vouches(*asked) for asked in [(plan, "v2"), (plan, ""), (other, "v1"), ("", "v1")])
    store.vouch(plan, "v2")
    assert store.vouches(plan, "v2") and not store.vouches(plan, "v1")
    store.vouch(plan, "")
    assert not store.vouches(plan, "")


def test_odd_text_is_kept_or_refused_in_words(store: Store) -> None:
    """Scenario 92: U+0000 survives; a lone surrogate never leaves the driver's own error."""
    name = "a\0b/../ü 🙂"
    store.create(ROW._replace(execution_id=name, playbook="p\0q"))
    assert store.append(name, 0, [("i\0d", b"\0")], status="running", ended=None) == 1
    assert store.execution(name) == ROW._replace(execution_id=name, playbook="p\0q")
    assert list(store.read(name)) == [Record(1, "i\0d", b"\0")]
    with store.own(name):
        assert store.is_owned(name)
    try:
        add(store, 0, ("\ud800", b""))
    except StoreFailure as failure:
        assert "text" in str(failure)
    else:
        assert log(store)[0][1] == "\ud800"


def test_plans_are_kept_by_digest(store: Store) -> None:
    assert store.plan_bytes("d1") is None
    assert store.plan_at("p") is None
    assert store.put_plan("d1", "p", b"one") == 1
    assert store.put_plan("d1", "p", b"one") == 1
    assert store.put_plan("d2", "p", b"two") == 2
    assert store.plan_bytes("d1") == b"one"
    assert store.plan_at("p") == ("d2", b"two")
    assert store.put_plan("d1", "p", b"one") == 3
    assert store.put_plan("d1", "q", b"one") == 1
    assert store.plan_at("p", 2) == ("d2", b"two")
    assert store.plan_at("p", 4) is store.plan_at("p", 0) is store.plan_at("r", 1) is None
    assert store.plans() == (("p", 3, "d1"), ("p", 2, "d2"), ("p", 1, "d1"), ("q", 1, "d1"))
    assert store.plan_at("p") == store.plan_at("q") == ("d1", b"one")
    with pytest.raises(Conflict, match="d1"):
        store.put_plan("d1", "p", b"other")
    assert store.plan_bytes("d1") == b"one"


def test_the_inbox_keeps_requests_in_order(store: Store) -> None:
    store.create(ROW._replace(execution_id="e2"))
    assert store.posted() == 0
    body: Json = {"name": "go", "data": [1, 2**80, None, "\0", 1.5, True]}
    assert store.posts(0) == ()
    first = store.post("e1", "signal", body)
    other = store.post("e2", "pause", None)
    last = store.post("e1", "cancel", None)
    assert first < other < last == store.posted()
    rows = store.inbox("e1", 0)
    known = [InboxRow(first, "e1", "signal", body), InboxRow(last, "e1", "cancel", None)]
    assert [row._replace(at=0) for row in rows] == known
    assert store.inbox("e1", first) == rows[1:]
    assert all(abs(row.at / 1_000_000 - time.time()) < 3600 for row in rows)
    assert store.inbox("e1", last) == ()


def test_another_opening_sees_it_all(store: Store, open_store: Open) -> None:
    add(store, 0, ("a", b"1"))
    store.put_plan("d", "p", b"plan")
    row = store.post("e1", "pause", {"by": "me"})
    other = open_store()
    assert log(other) == [(1, "a", b"1")]
    assert other.plan_at("p") == ("d", b"plan")
    assert other.posted() == row
    add(other, 1, ("b", b"2"))
    with pytest.raises(Conflict):
        add(store, 1, ("c", b"3"))
    assert add(store, 2, ("c", b"3")) == 3
    assert other.dropped is None


def test_one_owner_at_a_time(store: Store, open_store: Open) -> None:
    other = open_store()
    assert not other.is_owned("e1")
    with store.own("e1"):
        assert store.is_owned("e1") and other.is_owned("e1")
        assert not other.is_owned("e2")
        with pytest.raises(Owned, match="e1"), other.own("e1"):
            pass
        with pytest.raises(Owned), store.own("e1"):
            pass
        with other.own("e2"):
            assert other.owned(["e3", "e2", "e1", "../../nope"]) == store.owned(["e1", "e2"]) == {"e1", "e2"}
        assert other.is_owned("e1")
    assert not other.is_owned("e1") and other.owned(["e1", "e2"]) == set()
    with pytest.raises(ZeroDivisionError), other.own("e1"):
        _ = 1 // 0
    with store.own("e1"):
        pass


def test_a_new_execution_is_owned_at_the_latest_when_it_is_there(store: Store, open_store: Open) -> None:
    other = open_store()
    with store.own_new("new"):
        store.create(ROW._replace(execution_id="new"), [("a", b"")])
        assert other.is_owned("new") and store.is_owned("new")
        with pytest.raises(Owned), other.own("new"):
            pass
        assert store.append("new", 1, [("b", b"")], status="running", ended=None) == 2
    assert not other.is_owned("new")
    with other.own("new"), pytest.raises(Owned), store.own("new"):
        pass


def test_one_that_was_never_created_is_anybodys(store: Store, open_store: Open) -> None:
    with store.own_new("new"):
        pass
    with open_store().own("new"):
        assert store.is_owned("new")


def test_what_is_over_can_be_let_go_of_and_taken_again(store: Store, open_store: Open) -> None:
    other = open_store()
    names = several(store)
    with store.own("r1"), store.own("r2"), store.own("r3"):
        store.append("r1", 1, [("b", b"")], status="completed", ended=9)
        store.append_all([turn("r2", 1, ("b", b""), status="failed"), turn("r3", 1, ("b", b""))])
        assert other.is_owned("r3")
        store.append("r3", 2, [("c", b"")], status="running", ended=None)
    assert not any(other.is_owned(name) for name in names)
    for name in names:
        with other.own(name):
            assert store.is_owned(name)
            other.append(name, len(bodies(other, name)[0]), [("z", b"")], status="running", ended=None)


def test_asking_for_the_owner_never_disturbs_one(store: Store) -> None:
    done = threading.Event()

    def ask() -> None:
        while not done.is_set():
            store.is_owned("e1")

    asker = threading.Thread(target=ask)
    asker.start()
    try:
        for _ in range(300):
            with store.own("e1"):
                assert store.is_owned("e1")
    finally:
        done.set()
        asker.join()


def test_two_writers_never_make_a_gap_or_a_double(store: Store, open_store: Open) -> None:
    """Two openings append to one log, each from what it read last; one wins, the other reads again."""
    lost: list[int] = []

    def write(who: str) -> None:
        mine, position = open_store(), 0
        for number in range(100):
            while True:
                try:
                    position = add(mine, position, (f"{who}{number}", who.encode()), (f"{who}{number}+", b""))
                    break
                except Conflict:
                    lost.append(position)
                    position = max((record.position for record in mine.read("e1")), default=0)

    threads = [threading.Thread(target=write, args=(who,)) for who in "ab"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = log(store)
    assert [record[0] for record in found] == list(range(1, 401))
    for who in "ab":
        wanted = [name for number in range(100) for name in (f"{who}{number}", f"{who}{number}+")]
        assert [record[1] for record in found if record[1].startswith(who)] == wanted


def several(store: Store) -> list[str]:
    """Make three executions of one event each; their names."""
    names = ["r1", "r2", "r3"]
    for name in names:
        store.create(ROW._replace(execution_id=name), [("a", b"1")])
    return names


def turn(name: str, expected: int, *records: tuple[str, bytes], status: str = "running") -> Append:
    """An append to one of several logs."""
    return Append(name, expected, records, status, None if status == "running" else 9)


def bodies(store: Store, *names: str) -> list[list[tuple[str, bytes]]]:
    """The logs of several executions."""
    return [[(record.event_id, record.body) for record in store.read(name)] for name in names]


def test_several_logs_grow_at_once(store: Store, open_store: Open) -> None:
    names = several(store)
    store.append_all([turn("r1", 1, ("b", b"2"), ("c", b"")), turn("r3", 1, ("b", b"x"), status="completed")])
    store.append_all([turn("r1", 3, ("d", b"3")), turn("r2", 1, ("b", b"y"))])
    grown = [
        [("a", b"1"), ("b", b"2"), ("c", b""), ("d", b"3")],
        [("a", b"1"), ("b", b"y")],
        [("a", b"1"), ("b", b"x")],
    ]
    assert bodies(store, *names) == bodies(open_store(), *names) == grown
    rows = [store.execution(name) for name in names]
    assert [(row.status, row.ended) for row in rows if row] == [("running", None)] * 2 + [("completed", 9)]
    assert store.append("r1", 4, [("e", b"")], status="running", ended=None) == 5


@pytest.mark.parametrize("known", [True, False], ids=["heads known", "heads unknown"])
@pytest.mark.parametrize(
    "wrong",
    [
        turn("r2", 0, ("z", b"")),
        turn("r2", 7, ("z", b"")),
        turn("r2", 1, ("a", b"another")),
    ],
    ids=["behind", "ahead", "another body"],
)
def test_of_several_appends_all_are_kept_or_none(store: Store, open_store: Open, known: bool, wrong: Append) -> None:
    names = several(store)
    writer = store if known else open_store()
    before = bodies(store, *names)
    with pytest.raises(Conflict):
        writer.append_all([turn("r1", 1, ("b", b"2")), wrong, turn("r3", 1, ("b", b"3"), status="failed")])
    assert bodies(store, *names) == before
    row = store.execution("r3")
    assert row is not None and (row.status, row.ended) == ("running", None)
    writer.append_all([turn("r1", 1, ("b", b"2")), turn("r3", 1, ("b", b"3"))])
    assert [len(log) for log in bodies(store, *names)] == [2, 1, 2]


def test_several_appends_may_come_again(store: Store, open_store: Open) -> None:
    names = several(store)
    batch = [turn("r1", 1, ("b", b"2"), ("c", b"3")), turn("r2", 1, ("b", b"4"))]
    for writer in (store, store, open_store()):
        writer.append_all(batch)
    store.append_all([*batch, turn("r3", 1, ("b", b"5"))])
    assert [len(log) for log in bodies(store, *names)] == [3, 2, 2]


def test_what_another_has_taken_keeps_several_appends_away(store: Store, open_store: Open) -> None:
    """Two writers of overlapping logs: who comes second writes nothing, not even to the log that is free."""
    names, other = several(store), open_store()
    other.append_all([turn("r1", 1, ("o", b"")), turn("r2", 1, ("o", b""))])
    with pytest.raises(Conflict):
        store.append_all([turn("r2", 1, ("b", b"")), turn("r3", 1, ("b", b""))])
    assert [len(log) for log in bodies(store, *names)] == [2, 2, 1]


def test_what_cannot_be_stored_of_one_is_no_failure_of_the_store(store: Store) -> None:
    """A record that no store can keep is refused with all that came with it; what comes without it is kept."""
    several(store)
    wrong = turn("r2", 1, ("\ud800", b""))
    fine = turn("r1", 1, ("b", b""))
    try:
        store.append_all([fine, wrong])
    except StoreRefused:
        assert [len(log) for log in bodies(store, "r1", "r2")] == [1, 1]
        store.append_all([fine])
    assert len(bodies(store, "r1")[0]) == 2


def test_an_unknown_execution_among_several_is_a_failure(store: Store) -> None:
    several(store)
    with pytest.raises(StoreFailure, match="there is no execution"):
        store.append_all([turn("r1", 1, ("b", b"")), turn("nobody", 0, ("b", b""))])
    assert bodies(store, "r1") == [[("a", b"1")]]


def state_end(store: Store, name: str) -> int:
    """Where the log of an execution ends."""
    return sum(1 for _ in store.read(name))


def test_threads_may_share_a_store(store: Store) -> None:
    """Each thread's own execution grows; readers see whole commits only."""
    torn: list[int] = []
    done = threading.Event()

    def watch() -> None:
        while not done.is_set():
            if (count := state_end(store, "t0")) % 3:
                torn.append(count)

    def write(name: str) -> None:
        store.create(ROW._replace(execution_id=name))
        for number in range(60):
            batch = [(f"{number}.{part}", b"x" * 50) for part in range(3)]
            store.append(name, number * 3, batch, status="running", ended=None)

    watcher = threading.Thread(target=watch)
    threads = [threading.Thread(target=write, args=(f"t{number}",)) for number in range(4)]
    for thread in (watcher, *threads):
        thread.start()
    for thread in threads:
        thread.join()
    done.set()
    watcher.join()
    assert not torn
    assert [state_end(store, f"t{number}") for number in range(4)] == [180] * 4


def test_a_closed_store_says_so(store: Store) -> None:
    store.close()
    store.close()
    with pytest.raises(StoreFailure, match="closed"):
        store.execution("e1")
    with pytest.raises(StoreFailure, match="closed"):
        add(store, 0, ("a", b""))
