"""A table of the values that were set last."""

from noetl.bounded_table import BoundedTable


def test_the_one_that_was_set_longest_ago_goes() -> None:
    kept = BoundedTable[str, int](3)
    for at, key in enumerate("abcad"):
        kept[key] = at
    assert [*kept.items()] == [("c", 2), ("a", 3), ("d", 4)]
    assert (kept.setdefault("c", 9), kept.setdefault("e", 5)) == (2, 5)
    assert [*kept] == ["a", "d", "e"]
    assert (kept.pop("d"), kept.pop("d", None)) == (4, None)
    kept["f"] = 6
    assert [*kept] == ["a", "e", "f"]
