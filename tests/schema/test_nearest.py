"""Which name a word was meant to be."""

import pytest

from noetl_ir.nearest import is_swapped, nearest


@pytest.mark.parametrize(
    ("word", "known", "meant"),
    [
        ("ulr", ("url",), "url"),
        ("itme", ("iter", "item", "time"), "item"),
        ("Load", ("unload", "load"), "load"),
        ("lod", ("load", "lot"), "load"),
        ("signal", ("sink",), ""),
        ("abc", ("xyz",), ""),
        ("ab", ("ba", "ab"), "ba"),
    ],
)
def test_a_swap_is_one_slip_and_the_nearest(word: str, known: tuple[str, ...], meant: str) -> None:
    assert nearest(word, known) == meant


def test_of_equals_the_first_known_name_is_meant() -> None:
    assert nearest("cat", ("hat", "bat")) == "hat"
    assert nearest("cat", ("bat", "hat")) == "bat"


@pytest.mark.parametrize(
    ("word", "name", "swapped"),
    [("ab", "ba", True), ("abcd", "abdc", True), ("abcd", "cbad", False), ("aa", "aa", False), ("abcd", "badc", False)],
)
def test_only_neighbours_that_changed_places_are_swapped(word: str, name: str, *, swapped: bool) -> None:
    assert is_swapped(word, name) is swapped
