"""The contract of the catalogue of every store: its lists come by pages."""

from noetl.ports import Store
from noetl.ports.catalogue import PlanRow, Versions


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
