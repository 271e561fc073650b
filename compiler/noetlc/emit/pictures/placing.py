"""Where the items of each layer stand from left to right, their order being given.

A layer's items want to stand at the mean of their neighbours and may not touch: least squares under the order, which
the pooling of adjacent violators solves exactly. Sweeps down and up let the layers agree.
"""

from collections.abc import Sequence
from itertools import pairwise

from noetlc.emit.pictures.ordering import Neighbours

SWEEPS, SWEEPS_OF_LARGE, FINE, LARGE = 10, 4, 30, 4_000


def middles_of(
    layers: Sequence[Sequence[int]], widths: Sequence[float], gap: float, sides: tuple[Neighbours, Neighbours]
) -> list[float]:
    """The middle of each item; `sides` are its neighbours above and below."""
    up, down = sides
    middles = [0.0] * len(widths)
    apart = [_distances(layer, widths, gap) for layer in layers]
    for layer, far in zip(layers, apart, strict=True):
        for item, offset in zip(layer, far, strict=True):
            middles[item] = offset - far[-1] / 2
    both = [[*above, *below] for above, below in zip(up, down, strict=True)]
    rows = range(len(layers))
    for sweep in range(SWEEPS if len(widths) < LARGE else SWEEPS_OF_LARGE):
        near, order = (up, rows) if sweep % 2 == 0 else (down, rows[::-1])
        for number in order:
            _settle(layers[number], apart[number], middles, near)
    # Sweeps look at one side only, and each undoes some of what the other did. The fine turns look at both at once,
    # and let it settle.
    for turn in range(FINE if len(widths) < LARGE // 4 else 4):
        for number in rows if turn % 2 == 0 else rows[::-1]:
            _settle(layers[number], apart[number], middles, both)
    _straighten(layers, apart, middles, sides)
    return middles


def _straighten(
    layers: Sequence[Sequence[int]],
    apart: Sequence[Sequence[float]],
    middles: list[float],
    sides: tuple[Neighbours, Neighbours],
) -> None:
    """Put each item right below the only one above it, whose only one below it is, where there is room.

    Small sways remain where sweeps ended too soon; they look like mistakes.
    """
    up, down = sides
    for number in range(1, len(layers)):
        layer, offsets = layers[number], apart[number]
        for position, item in enumerate(layer):
            if len(up[item]) != 1 or len(down[up[item][0][0]]) != 1:
                continue
            wish = middles[up[item][0][0]]
            left = right = wish
            if position:
                left = middles[layer[position - 1]] + offsets[position] - offsets[position - 1]
            if position + 1 < len(layer):
                right = middles[layer[position + 1]] - offsets[position + 1] + offsets[position]
            # Without room between the neighbours the item stays where the sweeps have put it.
            if left <= right:
                middles[item] = min(max(wish, left), right)


def _distances(layer: Sequence[int], widths: Sequence[float], gap: float) -> list[float]:
    """The least offset of each item's middle from that of the first."""
    offsets = [0.0]
    for left, right in pairwise(layer):
        offsets.append(offsets[-1] + (widths[left] + widths[right]) / 2 + gap)
    return offsets


def _settle(layer: Sequence[int], offsets: Sequence[float], middles: list[float], near: Neighbours) -> None:
    """Move the items of a layer to where they want to be, as far as their order allows."""
    pools: list[tuple[float, float, int]] = []  # weight, wish, items
    for item, offset in zip(layer, offsets, strict=True):
        weight = sum([share for _, share in near[item]])
        if weight:
            wish = sum([middles[other] * share for other, share in near[item]]) / weight
        else:
            # An item without neighbours stays where it is, but gives way to any that has one.
            weight, wish = 0.01, middles[item]
        wish, count = wish - offset, 1
        # A wish to the left of the pool before it violates the order: the two become one pool, at the mean of their
        # wishes.
        while pools and pools[-1][1] > wish:
            weight_before, wish_before, count_before = pools.pop()
            wish = (wish * weight + wish_before * weight_before) / (weight + weight_before)
            weight, count = weight + weight_before, count + count_before
        pools.append((weight, wish, count))
    number = 0
    for _, wish, count in pools:
        for _ in range(count):
            middles[layer[number]] = wish + offsets[number]
            number += 1
