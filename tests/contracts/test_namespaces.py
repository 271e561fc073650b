"""The contract of namespaces in stores: rows under names, and the quotas of what begins."""

import random
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from types import ModuleType

import pytest

from noetl.ports import ExecutionRow, Store, StoreFailure
from noetl.ports.idempotency import StartKey
from noetl.ports.namespaces import Namespaced, NamespaceRow, Namespaces, NamespaceUse, PrefixTaken, QuotaExceeded

Open = Callable[..., Store]
FIRST = [("s1", b"1")]
NOW = 1_772_323_200_000_000


def kept(store: Store) -> Namespaces:
    """The namespaces of a store."""
    assert isinstance(store, Namespaced)
    return store.namespaces


def begin(store: Store, name: str, path: str = "a/x", *, started: int = NOW, **more: str) -> None:
    """An execution begins."""
    store.create(ExecutionRow(name, path, "d" * 64, "running", more.get("parent"), started, None), FIRST)


def end(store: Store, name: str) -> None:
    """An execution ends."""
    store.append(name, 1, [("s2", b"2")], status="completed", ended=NOW + 1)


def test_what_is_kept_comes_back_by_name(open_store: Open) -> None:
    store = open_store()
    row = NamespaceRow("team/a", {"é\0": [1, None]}, "a/", open_executions=7, starts_per_minute=60, burst=3, weight=2)
    other = NamespaceRow("b", {}, "b/", paused=True)
    for each in (row, other, other._replace(paused=False), other):
        kept(store).put(each)
    assert kept(open_store()).rows() == (other, row)
    assert kept(store).move(row, row._replace(paused=True)) and not kept(store).move(row, row._replace(weight=3))
    assert kept(store).remove("b") and not kept(store).remove("b")
    assert kept(store).rows() == (row._replace(paused=True),)


def test_two_of_one_prefix_are_refused(store: Store) -> None:
    row = NamespaceRow("a", {}, "a/", open_executions=1)
    kept(store).put(row)
    with pytest.raises(PrefixTaken, match="`a` has that prefix"):
        kept(store).put(row._replace(name="b"))
    kept(store).put(row._replace(weight=5))
    assert kept(store).rows() == (row._replace(weight=5),)


def test_as_many_are_open_as_may_be(store: Store) -> None:
    kept(store).put(NamespaceRow("team-a", {}, "a/", open_executions=2))
    begin(store, "x1")
    begin(store, "x2", "a/b/y")
    with pytest.raises(QuotaExceeded, match=r"`team-a` has its 2 open executions \(`quotas.open_executions`\)") as told:
        begin(store, "x3")
    assert (told.value.namespace, told.value.quota, told.value.retry_after) == ("team-a", "open_executions", 5)
    assert store.execution("x3") is None and [*store.read("x3")] == []
    begin(store, "child", parent="x1")
    for number, path in enumerate(("ab/x", "a", "b/a/x", "A/x", "a-/x", "a0")):
        begin(store, f"other{number}", path)
    end(store, "other0")
    with pytest.raises(QuotaExceeded):
        begin(store, "x3")
    end(store, "x1")
    begin(store, "x3")
    assert kept(store).uses(kept(store).rows()) == (NamespaceUse(2, None),)


def test_what_ends_in_its_first_turn_was_never_open(store: Store) -> None:
    kept(store).put(NamespaceRow("a", {}, "a/", open_executions=1))
    begin(store, "x1")
    store.create(ExecutionRow("x2", "a/x", "d" * 64, "completed", None, NOW, NOW + 1), FIRST)
    with pytest.raises(QuotaExceeded):
        begin(store, "x3")


def test_the_longest_prefix_counts(store: Store) -> None:
    outer = NamespaceRow("a", {}, "a/", open_executions=1)
    kept(store).put(outer)
    kept(store).put(NamespaceRow("ml", {}, "a/ml/", open_executions=2))
    for name in ("x1", "x2"):
        begin(store, name, "a/ml/x")
    begin(store, "x3", "a/x")
    with pytest.raises(QuotaExceeded, match="`ml`"):
        begin(store, "x4", "a/ml/y")
    with pytest.raises(QuotaExceeded, match="`a`"):
        begin(store, "x4", "a/y")
    assert [use.open for use in kept(store).uses(kept(store).rows())] == [1, 2]
    kept(store).remove("ml")
    kept(store).put(outer._replace(open_executions=4))
    begin(store, "x4", "a/ml/y")
    with pytest.raises(QuotaExceeded, match="`a` has its 4"):
        begin(store, "x5", "a/ml/y")


def test_a_start_that_is_refused_takes_nothing(store: Store) -> None:
    kept(store).put(NamespaceRow("a", {}, "a/", paused=True, starts_per_minute=1, burst=1))
    key = StartKey("once", "hash")
    row = ExecutionRow("x1", "a/x", "d" * 64, "running", None, NOW, None)
    with pytest.raises(QuotaExceeded, match="namespace `a` is paused") as told:
        store.create(row, FIRST, key=key)
    assert told.value.quota == "paused" and store.started_with("once") is None
    (there,) = kept(store).rows()
    kept(store).move(there, there._replace(paused=False))
    store.create(row, FIRST, key=key)
    store.create(row, FIRST, key=key)  # a repeat, whose answer was lost, takes no second one
    with pytest.raises(QuotaExceeded, match=r"`a` has had its 1 starts a minute") as told:
        begin(store, "x2")
    assert 0 < told.value.retry_after <= 60


def test_what_is_restored_begins_nothing_and_is_open(store: Store) -> None:
    kept(store).put(NamespaceRow("a", {}, "a/", open_executions=1, starts_per_minute=1, burst=1))
    for name in ("x1", "x2"):
        store.create(ExecutionRow(name, "a/x", "d" * 64, "running", None, NOW, None))
    assert kept(store).uses(kept(store).rows()) == (NamespaceUse(2, 1),)
    with pytest.raises(QuotaExceeded):
        begin(store, "x3")


def test_of_many_that_begin_at_once_as_many_begin_as_there_are_places(open_store: Open) -> None:
    stores = [open_store() for _ in range(8)]
    kept(stores[0]).put(NamespaceRow("a", {}, "a/", open_executions=20, starts_per_minute=1, burst=30))
    kept(stores[0]).put(NamespaceRow("b", {}, "b/", starts_per_minute=1, burst=13))
    barrier = Barrier(8)

    def run(number: int) -> list[int]:
        begun = [0, 0]
        barrier.wait()
        for turn in range(10):
            for place, path in enumerate(("a/x", "b/x")):
                try:
                    begin(stores[number], f"{path} {number} {turn}", path)
                    begun[place] += 1
                except QuotaExceeded:
                    pass
        return begun

    with ThreadPoolExecutor(8) as threads:
        begun = [*threads.map(run, range(8))]
    # A minute passes nowhere near: the second bucket fills by one start in it.
    assert sum(one for one, _ in begun) == 20 and 13 <= sum(other for _, other in begun) <= 14
    assert next(use.open for use in kept(stores[0]).uses(kept(stores[0]).rows())) == 20


def test_what_fails_on_its_way_takes_nothing_and_its_repeat_takes_one(open_store: Open, adapter: ModuleType) -> None:
    at: list[str] = []

    def fail(point: str) -> None:
        if point in at:
            raise StoreFailure(point)

    store = open_store(fail)
    points = [point for point in adapter.FAULT_POINTS if point.startswith("create.")]
    row = NamespaceRow("a", {}, "a/", open_executions=9, starts_per_minute=1, burst=len(points))
    kept(store).put(row)
    for number, point in enumerate(points, 1):
        at.append(point)
        with pytest.raises(StoreFailure):
            begin(store, f"x{number}")
        at.clear()
        assert kept(store).uses((row,))[0].open == number - (point != "create.after_commit")
        begin(store, f"x{number}")
    # Each took one start of the bucket, and only one.
    with pytest.raises(QuotaExceeded, match="starts a minute"):
        begin(store, "x9")


def test_without_a_namespace_nothing_is_refused_and_an_actor_changes_nothing(store: Store) -> None:
    for number in range(5):
        begin(store, f"x{number}")
    kept(store).put(NamespaceRow("a", {}, "a/", weight=3))
    begin(store, "x5")
    (use,) = kept(store).uses(kept(store).rows())
    assert use == NamespaceUse(6, None)


@pytest.mark.parametrize("seed", range(4))
def test_a_random_life_goes_as_a_plain_model_of_it(store: Store, seed: int) -> None:
    chance = random.Random(seed)
    paths = ["a/x", "a/b/x", "a/b/c/x", "a/bc/x", "ab/x", "a", "z/x"]
    quotas: dict[str, int] = {}  # by prefix
    opened: dict[str, str] = {}
    ended: list[str] = []

    def prefix_of(path: str) -> str:
        return max((prefix for prefix in quotas if path.startswith(prefix)), key=len, default="")

    for number in range(150):
        match chance.choice(("begin", "begin", "begin", "end", "put", "remove", "purge")):
            case "begin":
                path, name = chance.choice(paths), f"x{number}"
                mine = prefix_of(path)
                count = sum(prefix_of(other) == mine for other in opened.values())
                try:
                    begin(store, name, path)
                    has_begun = True
                except QuotaExceeded as problem:
                    assert problem.namespace == mine
                    has_begun = False
                assert has_begun is (not mine or count < quotas[mine])
                if has_begun:
                    opened[name] = path
                    begin(store, f"child of {name}", path, parent=name)
                    end(store, f"child of {name}")
            case "end" if opened:
                name = chance.choice(sorted(opened))
                end(store, name)
                del opened[name]
                ended.append(name)
            case "put":
                prefix = chance.choice(("a/", "a/b/", "a/b/c/", "z/"))
                quotas[prefix] = chance.randint(1, 6)
                kept(store).put(NamespaceRow(prefix, {}, prefix, open_executions=quotas[prefix]))
            case "remove" if quotas:
                prefix = chance.choice(sorted(quotas))
                assert kept(store).remove(prefix)
                del quotas[prefix]
            case "purge" if ended:
                store.purges.purge([f"child of {ended[-1]}", ended.pop()])
        uses = zip(sorted(quotas), kept(store).uses(kept(store).rows()), strict=True)
        for prefix, use in uses:
            assert use.open == sum(prefix_of(path) == prefix for path in opened.values())


def test_a_refusal_says_what_has_to_come_first() -> None:
    assert "`noetl namespaces resume a`" in QuotaExceeded("a", "paused", "", 5).way_on
    assert "when one of them has ended" in QuotaExceeded("a", "open_executions", "", 5).way_on
    assert QuotaExceeded("a", "starts_per_minute", "", 7).way_on == "try again in 7 s"
