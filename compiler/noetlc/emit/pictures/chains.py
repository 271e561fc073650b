"""Layers with bends: a long link becomes a chain of items, one in each row that it passes.

A label is the first item of its link's way, seen from the source. The rest of the way is a trunk, which all links of
one kind to one box share, from the row where each comes to it. Bends are given to short links first, until the budget
is spent.
"""

from collections.abc import Sequence
from itertools import pairwise

from noetl_ir.records import NamedTuple
from noetlc.emit.pictures.layering import RankedLink, ranks_of, turned
from noetlc.emit.pictures.ordering import Neighbours
from noetlc.emit.pictures.picture import ASIDE
from noetlc.emit.pictures.shapes import Link, Size

BEND = Size(10.0, 0.0)
LEAST_BENDS, BENDS_PER_ELEMENT = 2_000, 6
NEAR, FAR, TRUNK = 1.0, 0.02, 8.0
SHORT = 2
"""Weights: links to the next row pull boxes together, longer than `SHORT` and those of failures or aside hardly."""


class LinkWay(NamedTuple):
    """The boxes that a link passes: the item of its label, a trunk, and which of the trunk's items comes first; -1
    for none.
    """

    label: int = -1
    trunk: int = -1
    join: int = -1


class Trunk(NamedTuple):
    """Shared bends to one box, the one next to it first. `sign` is 1 where it leads down, -1 where it leads up."""

    target: int
    kind: str
    sign: int
    items: list[int]


class Chains(NamedTuple):
    """The result of chaining. Items are the boxes, then labels and bends: `ranks`, `sizes`, `up` and `down` are by
    item.

    `layers` are the rows, `up` and `down` the neighbours above and below. `ways` has a way for each link, None for a
    loop and for a link beyond the budget.
    """

    ranks: list[int]
    sizes: list[Size]
    layers: list[list[int]]
    up: Neighbours
    down: Neighbours
    ways: list[LinkWay | None]
    trunks: list[Trunk]


def layers_of(sizes: Sequence[Size], links: Sequence[Link]) -> Chains:
    """The layers of boxes and links. Loops take no part."""
    plain = [number for number, link in enumerate(links) if link.source != link.target]
    making = _Making(_ranks(len(sizes), [links[number] for number in plain]), list(sizes), len(links))
    ways: list[LinkWay | None] = [None] * len(links)
    ranks = making.ranks
    # Short links come first, as few bends serve each of them; a few long ones could spend the budget of all.
    for number in sorted(plain, key=lambda each: abs(ranks[links[each].source] - ranks[links[each].target])):
        ways[number] = making.way(links[number])
    up, down = _neighbours(making, links, ways)
    return Chains(ranks, making.sizes, _first_order(ranks, down), up, down, ways, making.trunks)


def _ranks(count: int, links: Sequence[Link]) -> list[int]:
    """The rank of each box. Where one link out of a box has a label, all its links get a row for labels, so that the
    boxes they lead to stand in one row.
    """
    ways = [link for link in links if link.kind not in ASIDE]
    is_turned = turned(count, [(link.source, link.target) for link in ways])
    labelled = {link.source for link in ways if link.label.width}
    spans = []
    for link, up in zip(ways, is_turned, strict=True):
        upper, lower = (link.target, link.source) if up else (link.source, link.target)
        spans.append(RankedLink(upper, lower, 2 if link.source in labelled else 1))
    loose = [link for link in links if link.kind in ASIDE]
    return ranks_of(
        count, spans, [RankedLink(link.source, link.target, 2 if link.label.width else 1) for link in loose]
    )


class _Making:
    """Items and trunks so far."""

    def __init__(self, ranks: list[int], sizes: list[Size], links: int) -> None:
        self.ranks = ranks
        self.sizes = sizes
        self.budget = LEAST_BENDS + BENDS_PER_ELEMENT * (len(sizes) + links)
        self.trunks: list[Trunk] = []
        self.index: dict[tuple[int, str, int], int] = {}

    def way(self, link: Link) -> LinkWay | None:
        """The way of a link, whose missing bends are made; None where the budget of bends is spent."""
        start, end = self.ranks[link.source], self.ranks[link.target]
        sign = 1 if start < end else -1
        has_label = link.label.width > 0
        length = abs(end - start) - 1 - has_label
        number = self.index.get((link.target, link.kind, sign), -1)
        missing = max(0, length - (len(self.trunks[number].items) if number >= 0 else 0))
        if missing + has_label > self.budget:
            return None
        self.budget -= missing + has_label
        label = self._item(start + sign, link.label) if has_label else -1
        if not length:
            return LinkWay(label)
        if number < 0:
            number = self.index[link.target, link.kind, sign] = len(self.trunks)
            self.trunks.append(Trunk(link.target, link.kind, sign, []))
        items = self.trunks[number].items
        for _ in range(missing):
            items.append(self._item(end - sign * (len(items) + 1), BEND))
        return LinkWay(label, number, length - 1)

    def _item(self, rank: int, size: Size) -> int:
        self.ranks.append(rank)
        self.sizes.append(size)
        return len(self.ranks) - 1


def _neighbours(
    making: _Making, links: Sequence[Link], ways: Sequence[LinkWay | None]
) -> tuple[Neighbours, Neighbours]:
    """The items above and below each item that pieces of links connect it with."""
    pieces: dict[tuple[int, int], float] = {}

    def add(here: int, there: int, weight: float) -> None:
        pair = (here, there) if making.ranks[here] < making.ranks[there] else (there, here)
        # Links that share a piece pull by the strongest of them. Added up, a handler that all steps fail to would
        # draw the whole picture to itself.
        pieces[pair] = max(weight, pieces.get(pair, 0.0))

    for link, way in zip(links, ways, strict=True):
        if way is not None:
            weight = _pull(link.kind, way.join)
            there = making.trunks[way.trunk].items[way.join] if way.trunk >= 0 else link.target
            if way.label >= 0:
                add(link.source, way.label, weight)
                add(way.label, there, weight)
            else:
                add(link.source, there, weight)
    for trunk in making.trunks:
        add(trunk.target, trunk.items[0], _pull(trunk.kind, len(trunk.items) - 1))
        for here, there in pairwise(trunk.items):
            add(here, there, TRUNK)
    up: list[list[tuple[int, float]]] = [[] for _ in making.ranks]
    down: list[list[tuple[int, float]]] = [[] for _ in making.ranks]
    for (upper, lower), weight in pieces.items():
        down[upper].append((lower, weight))
        up[lower].append((upper, weight))
    return up, down


def _pull(kind: str, bends: int) -> float:
    return FAR if kind == "ko" or kind in ASIDE or bends >= SHORT else NEAR


def _first_order(ranks: list[int], down: Neighbours) -> list[list[int]]:
    """Rows in the order of a walk down from the first box: what belongs together begins together."""
    layers: list[list[int]] = [[] for _ in range(max(ranks, default=0) + 1)]
    seen = [False] * len(ranks)
    for root in sorted(range(len(ranks)), key=lambda item: (ranks[item], item)):
        waiting = [root]
        while waiting:
            item = waiting.pop()
            if not seen[item]:
                seen[item] = True
                layers[ranks[item]].append(item)
                waiting += [other for other, _ in sorted(down[item], reverse=True)]
    return layers
