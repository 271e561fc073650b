"""Reducers as functions: start values, one contribution more, and what does not fit (EXTENSIONS §4)."""

import itertools
from functools import reduce
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noetl_ir.reducing import ORDERED, REDUCERS, Unfit, fault_of, reduced_value, start_fault, start_of


@pytest.mark.parametrize(
    ("reducer", "contributed", "value"),
    [
        ("sum", [], 0),
        ("sum", [1, 2.5, -4], -0.5),
        ("min", [], None),
        ("min", [3, 1, 2.5], 1),
        ("max", ["a", "ab"], "ab"),
        ("append", [], []),
        ("append", [1, [2], None], [1, [2], None]),
        ("union", [[1, 2], [2.0, True, "2"], [[1], [1.0], {"a": 1}, {"a": 1.0}]], [1, 2, True, "2", [1], {"a": 1}]),
        ("merge", [], {}),
        ("merge", [{"a": {"x": 1}, "b": 1}, {"a": {"y": 2}}], {"a": {"y": 2}, "b": 1}),
        ("count", [None, "x", 5], 3),
    ],
)
def test_contributions_make_the_value(reducer: str, contributed: list[Any], value: object) -> None:
    made = start_of(reducer)
    for one in contributed:
        made = reduced_value(reducer, made, one)
    assert made == value and type(made) is type(value)


NUMBERS = st.integers(-9, 9) | st.sampled_from([0.5, -2.25])


@given(st.lists(NUMBERS, max_size=4), st.sampled_from(["sum", "min", "max", "count"]))
def test_the_order_of_contributions_does_not_matter_to_those_that_are_not_ordered(values: Any, reducer: str) -> None:
    assert reducer not in ORDERED
    made = {
        reduce(lambda value, one: reduced_value(reducer, value, one), order, start_of(reducer))
        for order in itertools.permutations(values)
    }
    assert len(made) == 1


@pytest.mark.parametrize("reducer", REDUCERS)
@pytest.mark.parametrize("value", [None, True, 1, 1.5, "a", [1], {"a": 1}])
def test_what_is_said_not_to_fit_is_refused_and_nothing_else(reducer: str, value: Any) -> None:
    if fault_of(reducer, value):
        with pytest.raises(Unfit):
            reduced_value(reducer, start_of(reducer), value)
    else:
        assert not start_fault(reducer, reduced_value(reducer, start_of(reducer), value))


@pytest.mark.parametrize(
    ("reducer", "value", "contributed"),
    [
        ("sum", 1e308, 1e308),
        ("sum", 10**400, 0.5),
        ("sum", 1 << 13_999, 1 << 13_999),
        ("max", 1, "a"),
        ("min", "a", 1),
        ("append", {}, 1),
        ("merge", [], {}),
    ],
)
def test_what_does_not_go_with_the_value_is_refused(reducer: str, value: Any, contributed: Any) -> None:
    with pytest.raises(Unfit):
        reduced_value(reducer, value, contributed)


def test_a_value_is_never_changed_in_place() -> None:
    for reducer, value, contributed in (("append", [1], 2), ("union", [1], [2]), ("merge", {"a": 1}, {"b": 2})):
        before = repr(value)
        assert reduced_value(reducer, value, contributed) != value  # type: ignore[arg-type]
        assert repr(value) == before


class Compared(int):
    """A number that counts how often it is compared."""

    count = 0

    def __eq__(self, other: object) -> bool:
        Compared.count += 1
        return int(self) == other

    __hash__ = int.__hash__


def test_a_union_of_numbers_with_one_hash_is_not_slow() -> None:
    # Python's hash of a whole number is its remainder by 2**61 - 1: each of these would be compared with all before it.
    found: Any = reduced_value("union", [], [Compared(each * (2**61 - 1)) for each in range(2, 202)])
    assert len(found) == 200
    assert Compared.count == 0


def test_a_union_knows_a_large_number_by_its_value() -> None:
    large = 2**70
    assert reduced_value("union", [large], [float(large), large + 1, large]) == [large, large + 1]
