"""noetl_ir.plan_format.packed: a table is the tuple of its rows, whichever of them are made."""

from itertools import accumulate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noetl_ir.plan_format.packed import (
    BLOCK,
    WHOLE,
    Flags,
    Lists,
    Numbers,
    Optional,
    Packed,
    PackedRows,
    PackedTable,
    Plainly,
    Texts,
)

COUNT = (WHOLE + 3) * BLOCK + 5
"""Rows of which some are given up and made again."""


def test_rows_are_those_of_a_tuple_wherever_they_are_asked_for() -> None:
    rows, table = tuple(range(COUNT)), PackedTable(Numbers(list(range(COUNT))))
    places = [0, 1, BLOCK - 1, BLOCK, COUNT - 1, -1, -BLOCK, -COUNT, *range(0, COUNT, BLOCK - 1), 0]
    assert len(table) == COUNT and [table[at] for at in places] == [rows[at] for at in places]
    assert [table[5:BLOCK:7], table[-3:], table[9:2]] == [list(rows[5:BLOCK:7]), list(rows[-3:]), []]
    assert (
        tuple(table) == rows and tuple(PackedTable(Numbers([7, 8]))) == (7, 8) and tuple(PackedTable(Numbers([]))) == ()
    )
    for beyond in (COUNT, -COUNT - 1, 10**9):
        with pytest.raises(IndexError):
            table[beyond]


def test_a_table_equals_the_tuple_of_its_rows() -> None:
    table = PackedTable(Texts(["a", "b"]))
    assert table == ("a", "b") and table == ("a", "b") and table == PackedTable(Plainly(["a", "b"]))
    assert table != ("a",) and table != ("a", "c") and table != ["a", "b"]
    assert hash(table) == hash(("a", "b")) and repr(table) == repr(("a", "b"))


NUMBERS = st.lists(st.integers(-1, 2**53), max_size=9)
NAMES = st.lists(st.text(max_size=3) | st.just("\ud800"), max_size=9)


@given(NUMBERS, NAMES, st.lists(st.booleans(), max_size=9), st.lists(NUMBERS, max_size=5), st.integers(0, 9))
def test_what_was_packed_is_there_again(
    numbers: list[int], texts: list[str], flags: list[bool], lists: list[list[int]], start: int
) -> None:
    there = [number for number, flag in zip(accumulate(flags), flags, strict=True) if flag]
    some = [number if flag else None for number, flag in zip(accumulate(flags), flags, strict=True)]
    pairs = list(zip(numbers, texts, strict=False))
    cases: list[tuple[Packed[object], list[object]]] = [
        (Numbers(numbers), [*numbers]),
        (Texts(texts), [*texts]),
        (Flags(flags), [*flags]),
        (Lists([len(each) for each in lists], Numbers([n for each in lists for n in each])), [*map(tuple, lists)]),
        (Optional(flags, Numbers(there)), [*some]),
        (PackedRows(tuple, [Numbers([n for n, _ in pairs]), Texts([text for _, text in pairs])]), [*pairs]),
    ]
    for packed, values in cases:
        for stop in range(start, len(values) + 3):
            assert len(packed) == len(values) and list(packed.values(start, stop)) == values[start:stop]
