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


def test_many_words_and_long_ones_cost_little() -> None:
    """Each unknown word is compared with each name: a file or request has thousands of both, or two of a megabyte."""
    names = tuple(f"name_of_a_thing_{number}" for number in range(3000))
    compared = 0

    class Counted(str):
        def lower(self) -> str:
            nonlocal compared
            compared += 1
            return super().lower()

    assert nearest("name_of_a_thign_7", (*names, "name_of_a_thing_7")) != ""
    assert nearest("nmae_of_a_thing_2999", names) == "name_of_a_thing_2999"
    assert nearest("b" * 1_000_000, ["b" * 999_999 + "c"]) == ""
    assert nearest("name", ["b" * 1_000_000, "nmae"]) == "nmae"
    assert nearest("x", map(Counted, names)) == "" and compared == 0, "names of another length are passed over"
