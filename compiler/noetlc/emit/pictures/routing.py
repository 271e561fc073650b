"""The points that links pass, once every item has its place.

Points come in pairs: a curve leads from each pair to the next, a straight line joins the two of a pair. Links that
share a trunk end where they come to it, and the trunk is a stem, drawn once; a trunk of one link belongs to it.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import accumulate

from noetl_ir.records import NamedTuple
from noetlc.emit.pictures.chains import Chains, LinkWay, Trunk
from noetlc.emit.pictures.shapes import Link, Point, Size

PORTS_APART, PORT_MARGIN = 16.0, 12.0
LOOP, LEAST_LOOP = 30.0, 20.0
"""How far a link from a box to itself reaches to the right, and how high it is."""


class RowBounds(NamedTuple):
    """Top and bottom of each row."""

    tops: list[float]
    bottoms: list[float]


class LinkRoute(NamedTuple):
    """The points of a link, and the middle of its label. `stem` is the stem that it runs into (-1: none), `join` the
    number of the stem's point where it does.

    `form` is `rows`, `loop` for a link from a box to itself, or `straight` for a link behind the boxes; the latter two
    have only two points, their ends.
    """

    points: tuple[Point, ...]
    label: Point | None
    stem: int = -1
    join: int = 0
    form: str = "rows"

    def moved(self, by: Point, stems: int) -> "LinkRoute":
        """The route elsewhere, with `stems` before its own."""
        label = None if self.label is None else (self.label[0] + by[0], self.label[1] + by[1])
        return self._replace(
            points=_moved(self.points, by), label=label, stem=self.stem + stems if self.stem >= 0 else -1
        )


class Stem(NamedTuple):
    """A trunk that several links share."""

    kind: str
    points: tuple[Point, ...]

    def moved(self, by: Point) -> "Stem":
        """The stem elsewhere."""
        return self._replace(points=_moved(self.points, by))


def with_loops(sizes: Sequence[Size], links: Sequence[Link]) -> list[Size]:
    """The boxes with room for the links to themselves, on both sides, so that each stays in its middle."""
    wide, high = [0.0] * len(sizes), [0.0] * len(sizes)
    for link in links:
        if link.source == link.target:
            wide[link.source] = max(wide[link.source], LOOP + link.label.width)
            high[link.source] += _loop_height(link)
    return [
        Size(size.width + 2 * extra, max(size.height, height))
        for size, extra, height in zip(sizes, wide, high, strict=True)
    ]


def routed(
    boxes: tuple[Sequence[Size], Sequence[float]],
    links: Sequence[Link],
    chains: Chains,
    middles: Sequence[Point],
    rows: RowBounds,
) -> tuple[list[LinkRoute], list[Stem]]:
    """A route for each link, and the stems. `boxes` are sizes, and how much of a box's edge arrows may meet."""
    sizes, edges = boxes
    scene = _Scene(sizes, chains, middles, rows, _ports(edges, links, chains, middles))
    users = Counter(way.trunk for way in chains.ways if way is not None)
    # A trunk of one link is part of its route; only a shared one is drawn by itself, once, or its dashes would lie
    # over each other.
    shared = [number for number in range(len(chains.trunks)) if users[number] > 1]
    stem_of = {number: position for position, number in enumerate(shared)}
    trunks = [scene.trunk(trunk) for trunk in chains.trunks]
    routes = []
    loops = _loops(links)
    for link, way in zip(links, chains.ways, strict=True):
        if link.source == link.target:
            routes.append(_loop(link, sizes[link.source], middles[link.source], loops[link.source].pop(0)))
        # A link beyond the budget of bends has no way through the rows: it goes straight, behind the boxes.
        elif way is None:
            routes.append(_straight(link, sizes, middles))
        elif way.trunk < 0:
            points = (*scene.beginning(link, way), *scene.ending(link.target, link.kind, scene.last(link, way)))
            routes.append(LinkRoute(points, scene.label(way)))
        elif way.trunk in stem_of:
            join = 2 * (len(chains.trunks[way.trunk].items) - 1 - way.join)
            # A route ends where it comes to its stem. The point is there twice, since points come in pairs, and the
            # curve leads to the first.
            at = trunks[way.trunk][join]
            routes.append(LinkRoute((*scene.beginning(link, way), at, at), scene.label(way), stem_of[way.trunk], join))
        else:
            routes.append(LinkRoute((*scene.beginning(link, way), *trunks[way.trunk]), scene.label(way)))
    return routes, [Stem(chains.trunks[number].kind, tuple(trunks[number])) for number in shared]


def _moved(points: tuple[Point, ...], by: Point) -> tuple[Point, ...]:
    return tuple([(x + by[0], y + by[1]) for x, y in points])


class _Scene(NamedTuple):
    sizes: Sequence[Size]
    chains: Chains
    middles: Sequence[Point]
    rows: RowBounds
    ports: dict[tuple[int, bool, int, str], float]

    def label(self, way: LinkWay) -> Point | None:
        return self.middles[way.label] if way.label >= 0 else None

    def last(self, link: Link, way: LinkWay) -> int:
        return way.label if way.label >= 0 else link.source

    def beginning(self, link: Link, way: LinkWay) -> Iterator[Point]:
        """From the box and past the label."""
        ranks = self.chains.ranks
        down = ranks[link.source] < ranks[link.target]
        near, far = self.sides(1 if down else -1)
        first = _first(link, way, self.chains)
        x = self.ports[link.source, down, first, link.kind]
        edge = self.middles[link.source][1] + (1 if down else -1) * self.sizes[link.source].height / 2
        yield (x, edge)
        yield (x, near[ranks[link.source]])
        if way.label >= 0:
            yield (self.middles[way.label][0], far[ranks[way.label]])
            yield (self.middles[way.label][0], near[ranks[way.label]])

    def ending(self, target: int, kind: str, last: int) -> Iterator[Point]:
        """From the item before the box to its edge."""
        ranks = self.chains.ranks
        down = ranks[last] < ranks[target]
        _, far = self.sides(1 if down else -1)
        x = self.ports[target, not down, last, kind]
        yield (x, far[ranks[target]])
        yield (x, self.middles[target][1] - (1 if down else -1) * self.sizes[target].height / 2)

    def trunk(self, trunk: Trunk) -> list[Point]:
        """From the item that is farthest away to the edge of the box."""
        near, far = self.sides(trunk.sign)
        points: list[Point] = []
        for item in reversed(trunk.items):
            rank, x = self.chains.ranks[item], self.middles[item][0]
            points += [(x, far[rank]), (x, near[rank])]
        return [*points, *self.ending(trunk.target, trunk.kind, trunk.items[0])]

    def sides(self, sign: int) -> tuple[list[float], list[float]]:
        """The edges of rows that a link going down, or up, leaves by and comes to."""
        return (self.rows.bottoms, self.rows.tops) if sign > 0 else (self.rows.tops, self.rows.bottoms)


def _first(link: Link, way: LinkWay, chains: Chains) -> int:
    """The item that a link comes to first."""
    if way.label >= 0:
        return way.label
    return chains.trunks[way.trunk].items[way.join] if way.trunk >= 0 else link.target


def _ports(
    edges: Sequence[float], links: Sequence[Link], chains: Chains, middles: Sequence[Point]
) -> dict[tuple[int, bool, int, str], float]:
    """Where links meet the edges of a box: (box, whether at the bottom, the item next to it, kind) → x.

    Links that come by the same bend share a port; the others stand in the order of where they come from.
    """
    wanted: dict[tuple[int, bool], set[tuple[int, str]]] = {}
    for link, way in zip(links, chains.ways, strict=True):
        if way is not None and link.source != link.target:
            down = chains.ranks[link.source] < chains.ranks[link.target]
            wanted.setdefault((link.source, down), set()).add((_first(link, way, chains), link.kind))
            if way.trunk < 0:
                last = way.label if way.label >= 0 else link.source
                wanted.setdefault((link.target, not down), set()).add((last, link.kind))
    for trunk in chains.trunks:
        wanted.setdefault((trunk.target, trunk.sign < 0), set()).add((trunk.items[0], trunk.kind))
    found = {}
    for (node, bottom), items in wanted.items():
        # The ports of a box stand in the order of where their links come from, so that no two cross at its edge. The
        # item breaks ties, for pictures that are the same each time.
        row = sorted(items, key=lambda each: (middles[each[0]][0], each))
        room = edges[node] - 2 * PORT_MARGIN
        step = max(0.0, min(PORTS_APART, room / (len(row) - 1))) if len(row) > 1 else 0.0
        for position, (item, kind) in enumerate(row):
            found[node, bottom, item, kind] = middles[node][0] + (position - (len(row) - 1) / 2) * step
    return found


def _loop_height(link: Link) -> float:
    return max(link.label.height, LEAST_LOOP) + 4


def _loops(links: Sequence[Link]) -> dict[int, list[float]]:
    """For each box, how far from its middle each of the links to itself is, from the top."""
    heights: dict[int, list[float]] = {}
    for link in links:
        if link.source == link.target:
            heights.setdefault(link.source, []).append(_loop_height(link))
    found = {}
    for node, row in heights.items():
        tops = accumulate(row, initial=-sum(row) / 2)
        found[node] = [top + height / 2 for top, height in zip(tops, row, strict=False)]
    return found


def _loop(link: Link, size: Size, middle: Point, offset: float) -> LinkRoute:
    x, y = middle[0] + size.width / 2, middle[1] + offset
    label = (x + LOOP + link.label.width / 2 - 4, y) if link.label.width else None
    # Several loops may be higher than the box; their ends are kept on its edge all the same.
    far = max(0.0, size.height / 2 - LEAST_LOOP / 2)
    at = middle[1] + min(max(offset, -far), far)
    return LinkRoute(((x, at - 7), (x, at + 7)), label, form="loop")


def _straight(link: Link, sizes: Sequence[Size], middles: Sequence[Point]) -> LinkRoute:
    (x, y), (to_x, to_y) = middles[link.source], middles[link.target]
    sign = 1 if y < to_y else -1
    start, end = (x, y + sign * sizes[link.source].height / 2), (to_x, to_y - sign * sizes[link.target].height / 2)
    return LinkRoute((start, end), None, form="straight")
