"""The nets of the analysis bars, as plain data that every explorer's script can read.

`{"places": n, "initial": [place, …], "transitions": [[[place, …], [place, …]], …]}`: one token in each marked place,
one arc for each place of a transition's two sides.
"""

from typing import TypedDict


class Net(TypedDict):
    """Places by number; a transition is what it takes from and what it puts into."""

    places: int
    initial: list[int]
    transitions: list[list[list[int]]]


def chain(length: int) -> Net:
    """Places in a row."""
    return {"places": length, "initial": [0], "transitions": [[[n], [n + 1]] for n in range(length - 1)]}


def parallel(branches: int) -> Net:
    """Independent transitions: 2^n markings."""
    moves = [[[2 * n], [2 * n + 1]] for n in range(branches)]
    return {"places": 2 * branches, "initial": [2 * n for n in range(branches)], "transitions": moves}


def philosophers(count: int) -> Net:
    """Each takes the left fork, then the right one, eats, and gives both back."""
    moves: list[list[list[int]]] = []
    for here in range(count):
        fork, think, left, eat = range(4 * here, 4 * here + 4)
        other = 4 * ((here + 1) % count)
        moves += [[[think, fork], [left]], [[left, other], [eat]], [[eat], [think, fork, other]]]
    marked = [4 * n + part for n in range(count) for part in (0, 1)]
    return {"places": 4 * count, "initial": marked, "transitions": moves}


NETS: dict[str, Net] = {
    "chain-1000": chain(1_000),
    "2^12 parallel": parallel(12),
    "2^14 parallel": parallel(14),
    "philosophers 8": philosophers(8),
    "philosophers 10": philosophers(10),
}
