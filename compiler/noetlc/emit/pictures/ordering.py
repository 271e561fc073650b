"""The order of items in each layer, so that few links cross: barycenter sweeps, the best order kept.

K. Sugiyama, S. Tagawa, M. Toda, "Methods for visual understanding of hierarchical system structures" (1981); crossings
are counted as in W. Barth, M. Jünger, P. Mutzel, "Simple and efficient bilayer cross counting" (2002).
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import TypeAlias

Neighbours: TypeAlias = Sequence[Sequence[tuple[int, float]]]
"""By item: the items of the next layer that it is linked to, with the weight of the link."""

ROUNDS, ROUNDS_OF_LARGE, LARGE = 16, 4, 4_000
PATIENCE = 4


def ordered(layers: list[list[int]], up: Neighbours, down: Neighbours) -> list[list[int]]:
    """The layers, each in an order that crosses little. The order given is where the search begins."""
    best = layers = [list(layer) for layer in layers]
    least = crossings_of(layers, down)
    size = sum(map(len, layers))
    worse = 0
    for round_ in range(ROUNDS if size < LARGE else ROUNDS_OF_LARGE):
        # Sweeps may make it worse before they make it better; a few in a row without a gain end the search, and the
        # best order is kept.
        if not least or worse == PATIENCE:
            break
        layers = _swept(layers, up if round_ % 2 == 0 else down, downwards=round_ % 2 == 0)
        count = crossings_of(layers, down)
        if count < least:
            best, least, worse = layers, count, 0
        else:
            worse += 1
    return best


def crossings_of(layers: Sequence[Sequence[int]], down: Neighbours) -> int:
    """How many pairs of links cross."""
    return sum(_between(upper, lower, down) for upper, lower in pairwise(layers))


def _between(upper: Sequence[int], lower: Sequence[int], down: Neighbours) -> int:
    """The crossings between two layers: inversions among the lower ends, counted in a tree of sums."""
    place = {item: number for number, item in enumerate(lower)}
    size = 1
    # The tree has a leaf for each place, and a power of two of them, so that the parent of a node is its number
    # halved.
    while size < len(lower):
        size *= 2
    sums = [0] * (2 * size)
    found = 0
    for item in upper:
        ends = sorted(place[other] for other, _ in down[item])
        for end in ends:
            at = end + size
            while at > 1:
                if at % 2 == 0:
                    found += sums[at + 1]
                at //= 2
        for end in ends:
            at = end + size
            while at:
                sums[at] += 1
                at //= 2
    return found


def _swept(layers: list[list[int]], near: Neighbours, *, downwards: bool) -> list[list[int]]:
    """Each layer sorted by where the neighbours in the layer before it stand; items without any keep their place."""
    found = [list(layer) for layer in layers]
    walk = range(1, len(layers)) if downwards else range(len(layers) - 2, -1, -1)
    for number in walk:
        before = found[number - 1 if downwards else number + 1]
        place = {item: position for position, item in enumerate(before)}
        layer = found[number]
        keys = {}
        for position, item in enumerate(layer):
            ends = [place[other] for other, _ in near[item]]
            scale = len(before) / len(layer)
            keys[item] = (sum(ends) / len(ends) if ends else position * scale, position)
        layer.sort(key=keys.__getitem__)
    return found
