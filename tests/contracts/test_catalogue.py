"""The contract of the catalogue of every store: its lists come by pages, and executions name its plans."""

import pytest

from noetl.ports import Append, Conflict, ExecutionRow, Store
from noetl.ports.catalogue import PlanRow, Versions
from noetl_ir.plan_sources import SourcedPlan

ROW = ExecutionRow("e1", "demo/one", "d" * 64, "running", None, 1_000, None)


def test_the_catalogue_is_listed_by_pages(store: Store) -> None:
    for number, path in enumerate(("a", "b/c", "b", "é@2", "a", "b", "a")):
        store.put_plan(f"d{number}", path, b"%d" % number)
    listed = [("a", 3, "d6"), ("a", 2, "d4"), ("a", 1, "d0"), ("b", 2, "d5"), ("b", 1, "d2"), ("b/c", 1, "d1")]
    listed.append(("é@2", 1, "d3"))
    assert [*store.plans()] == listed
    for size in range(1, len(listed) + 2):
        found: list[PlanRow] = []
        while page := store.plans(Versions(after=found[-1][:2] if found else None, limit=size)):
            assert len(page) <= size
            found += page
        assert found == listed
    assert [*store.plans(Versions(newest=True))] == [listed[0], listed[3], *listed[5:]]
    assert [*store.plans(Versions(newest=True, after=("a", 3), limit=1))] == [listed[3]]
    assert [*store.plans(Versions("b"))] == listed[3:5]
    assert [*store.plans(Versions("b", after=("b", 2)))] == listed[4:5]
    assert store.plans(Versions("none")) == store.plans(Versions(after=("é@2", 1))) == ()
    assert [*store.plans(Versions(after=("aa", 7)))] == listed[3:]


def test_the_catalogue_of_a_scope_has_nothing_else(store: Store) -> None:
    paths = [
        "a%/x",
        "aa/x",
        "é/x",
        "team-a",
        "team-a/x",
        "team-a/y/z",
        "team-ab/x",
        "Team-a/x",
        "team_a/x",
        "b/x",
        "b/xy",
    ]
    for number, path in enumerate(paths):
        store.put_plan(f"d{number}", path, b"%d" % number)
        store.put_plan(f"e{number}", path, b"e%d" % number)
    for within, fitting in (
        (("team-a/",), ["team-a/x", "team-a/y/z"]),
        (("team-a",), ["team-a"]),
        (("b/x", "é/"), ["b/x", "é/x"]),
        (("team_a/", "a%/"), ["a%/x", "team_a/x"]),
        (("none/",), []),
    ):
        assert [row.path for row in store.plans(Versions(newest=True, within=within))] == fitting
        assert [row.version for row in store.plans(Versions(within=within))] == [2, 1] * len(fitting)
        for path in paths:
            assert bool(store.plans(Versions(path, within=within))) is (path in fitting)
        if fitting:
            assert [row.path for row in store.plans(Versions(within=within, after=(fitting[0], 1)))] == [
                path for path in fitting[1:] for _ in (1, 2)
            ]


def test_once_a_path_is_registered_what_is_only_run_is_no_version(store: Store) -> None:
    assert store.put_plan("d1", "p", b"one") == 1
    assert store.put_plan("d2", "p", b"two") == 2  # where nobody registers, the last one that ran is the newest
    assert store.put_plan("d2", "p", b"two", registered=True) == 2
    assert store.put_plan("draft", "p", b"draft") == store.put_plan("d1", "p", b"one") == 0
    assert store.plan_at("p") == ("d2", b"two") and store.plan_bytes("draft") == b"draft"
    assert store.put_plan("d2", "p", b"two") == 2
    assert store.put_plan("draft", "p", b"draft", registered=True) == 3
    assert store.plan_at("p") == ("draft", b"draft")
    assert store.put_plan("d1", "p", b"one", registered=True) == 4
    assert [row.version for row in store.plans(Versions("p"))] == [4, 3, 2, 1]
    assert store.put_plan("draft", "q", b"draft") == 1


def test_a_plan_that_is_kept_is_a_version_only_where_there_is_none(store: Store) -> None:
    store.keep_plan("d1", "p", b"one")
    store.keep_plan("d2", "p", b"two")
    store.keep_plan("d2", "p", b"two")
    assert store.plan_at("p") == ("d1", b"one") and store.plan_bytes("d2") == b"two"
    assert [*store.plans()] == [("p", 1, "d1")]
    with pytest.raises(Conflict, match="d2"):
        store.keep_plan("d2", "p", b"other")


def test_sources_come_with_their_plan_and_with_those_that_it_embeds(store: Store) -> None:
    inner = SourcedPlan("d2", b"two", b"of two")
    assert store.put_plan("d1", "p", b"one", sources=[SourcedPlan("d1", b"one", b"of one"), inner]) == 1
    assert [store.source(digest) for digest in ("d1", "d2")] == [b"of one", b"of two"]
    # The embedded one is there to be looked at, and no version of anything.
    assert store.plan_bytes("d2") == b"two" and [*store.plans()] == [("p", 1, "d1")]
    assert store.without_source(["d2", "d3", "d1"]) == ["d3"]
    # A plan that is there already gets what it lacks; the first source stays.
    store.put_plan("d3", "q", b"three")
    later = [SourcedPlan("d3", b"three", b"of three"), inner._replace(source=b"another")]
    assert store.put_plan("d3", "q", b"three", sources=later) == 1
    assert [store.source(digest) for digest in ("d2", "d3")] == [b"of two", b"of three"]
    store.keep_plan("d4", "q", b"four", [SourcedPlan("d4", b"four", b"of four")])
    assert store.source("d4") == b"of four" and store.plan_at("q") == ("d3", b"three")


def test_a_plan_and_its_sources_are_kept_together_or_not_at_all(store: Store) -> None:
    store.put_plan("d2", "q", b"two")
    sources = [SourcedPlan("d1", b"one", b"of one"), SourcedPlan("d2", b"other", b"of another")]
    with pytest.raises(Conflict, match="d2"):
        store.put_plan("d1", "p", b"one", sources=sources)
    with pytest.raises(Conflict, match="d2"):
        store.keep_plan("d1", "p", b"one", sources)
    assert store.plan_bytes("d1") is store.source("d1") is store.source("d2") is None
    assert [*store.plans()] == [("q", 1, "d2")]


def test_an_append_moves_an_execution_to_another_plan(store: Store) -> None:
    store.create(ROW._replace(execution_id="e2"))
    other = "e" * 64
    moves = Append("e1", 0, [("a", b"1")], "running", None, plan=other)
    store.append_all([moves])
    found = store.execution("e1")
    assert found is not None and found == ROW._replace(plan_digest=other)
    store.append_all([Append("e1", 1, [("b", b"2")], "running", None), Append("e2", 0, [("a", b"1")], "running", None)])
    assert [store.execution(name).plan_digest for name in ("e1", "e2")] == [other, ROW.plan_digest]  # type: ignore[union-attr]
    with pytest.raises(Conflict):  # of a log that goes on otherwise nothing is changed
        store.append_all([Append("e1", 1, [("c", b"3")], "running", None, plan="f" * 64)])
    both = [Append(name, at, [("d", b"4")], "paused", None, plan="f" * 64) for name, at in (("e1", 2), ("e2", 1))]
    store.append_all(both)
    store.append_all(both)  # an equal repeat
    rows = [store.execution(name) for name in ("e1", "e2")]
    assert [(row.plan_digest, row.status) for row in rows if row] == [("f" * 64, "paused")] * 2
