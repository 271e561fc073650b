"""Two values beside each other: what is told of them, by hand, and what holds of any two."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noetlc.analysis.contrast import LONG, contrasted

RULE = (
    "when {{ outcome.status == 'error' and outcome.http.status in [429, 500, 502, 503, 504] }} retry 5 times, delay 2"
)


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("a", "b", ("a", "b")),
        ("", "b", ("nothing", "b")),
        ("a  b", "a b", ("other white space", "this")),
        # One thing far inside of a long text; two things, of which neither hides the other; one more word at the end.
        (
            RULE,
            RULE.replace("429", "409"),
            (
                "… and outcome.http.status in [429, 500, 502, 503, …",
                "… and outcome.http.status in [409, 500, 502, 503, …",
            ),
        ),
        (
            RULE,
            RULE.replace("429", "409").replace("delay 2", "delay 4"),
            (
                "… and outcome.http.status in [429, 500, 502, 503, … 5 times, delay 2",
                "… and outcome.http.status in [409, 500, 502, 503, … 5 times, delay 4",
            ),
        ),
        (RULE, f"{RULE} more", ("… times, delay 2", "… times, delay 2 more")),
        # A word that is longer than what is told: its letters around the first that differs.
        ("x" * 200 + "a", "x" * 200 + "b", ("…" + "x" * 20 + "a", "…" + "x" * 20 + "b")),
    ],
)
def test_by_hand(old: str, new: str, told: tuple[str, str]) -> None:
    assert contrasted(old, new) == told


WORDS = st.lists(st.sampled_from(["a", "b", "c", "word", "x" * 50]), max_size=400).map(" ".join)


@given(WORDS, WORDS)
def test_what_differs_is_in_sight_and_short(old: str, new: str) -> None:
    one, other = contrasted(old, new)
    assert one != other or old.split() == new.split()
    assert max(len(one), len(other)) <= 3 * LONG + 1


def test_of_large_values_only_what_is_near_the_first_difference_is_compared() -> None:
    """Words that all differ, a million of them: comparing all would take hours."""
    old, new = (" ".join(f"{name}{number}" for number in range(500_000)) for name in "ab")
    assert contrasted(old, new)[0].startswith("a0 a1 ")
