"""A layered layout: boxes in rows, links from row to row, labels on links in rows of their own.

    ranks (layering) → bends of long links (chains) → order in the rows (ordering) → places (placing) → routes

Between rows links are curves, and within a row they go straight down: no link runs through a box, no label lies on one.
Links beyond the budget of bends are drawn straight, behind the boxes. No recursion; everything is near linear.
"""

from collections.abc import Sequence

from noetl_ir.records import NamedTuple
from noetlc.emit.pictures.chains import Chains, layers_of
from noetlc.emit.pictures.ordering import ordered
from noetlc.emit.pictures.placing import middles_of
from noetlc.emit.pictures.routing import LinkRoute, RowBounds, Stem, routed, with_loops
from noetlc.emit.pictures.shapes import Link, Point, Size

GAP, ROW_GAP, MOST_ROW_GAP = 26.0, 34.0, 84.0


class Layout(NamedTuple):
    """The size of the whole, the middle of each box, a route for each link, and the stems that routes run into."""

    size: Size
    middles: tuple[Point, ...]
    routes: tuple[LinkRoute, ...]
    stems: tuple[Stem, ...]

    def whole(self, number: int) -> tuple[Point, ...]:
        """All points of a link, those of its stem included."""
        route = self.routes[number]
        return route.points if route.stem < 0 else (*route.points[:-2], *self.stems[route.stem].points[route.join :])


def layout_of(sizes: Sequence[Size], links: Sequence[Link], edges: Sequence[float]) -> Layout:
    """The layout of boxes and links; what does not hang together is drawn side by side.

    `edges` says over how much of its width arrows may meet a box.
    """
    drawn = []
    # By parts: laid out as one, what does not hang together would share rows and push each other about.
    for nodes in parts_of(len(sizes), [(link.source, link.target) for link in links]):
        index = {node: number for number, node in enumerate(nodes)}
        drawn.append((nodes, index))
    owner = {node: number for number, (nodes, _) in enumerate(drawn) for node in nodes}
    rows: list[list[int]] = [[] for _ in drawn]
    for number, link in enumerate(links):
        rows[owner[link.source]].append(number)
    parts = []
    for (nodes, index), own in zip(drawn, rows, strict=True):
        inner = [links[row]._replace(source=index[links[row].source], target=index[links[row].target]) for row in own]
        parts.append(_part([sizes[node] for node in nodes], inner, [edges[node] for node in nodes]))
    corners, whole = packed_shelves([part.size for part in parts])
    middles: list[Point] = [(0.0, 0.0)] * len(sizes)
    routes: list[LinkRoute] = [LinkRoute((), None)] * len(links)
    stems: list[Stem] = []
    for (nodes, _), own, part, corner in zip(drawn, rows, parts, corners, strict=True):
        for node, middle in zip(nodes, part.middles, strict=True):
            middles[node] = (middle[0] + corner[0], middle[1] + corner[1])
        for row, route in zip(own, part.routes, strict=True):
            routes[row] = route.moved(corner, len(stems))
        stems += [stem.moved(corner) for stem in part.stems]
    return Layout(whole, tuple(middles), tuple(routes), tuple(stems))


def _part(sizes: Sequence[Size], links: Sequence[Link], edges: Sequence[float]) -> Layout:
    wide = with_loops(sizes, links)
    chains = layers_of(wide, links)
    layers = ordered(chains.layers, chains.up, chains.down)
    widths = [size.width for size in chains.sizes]
    across = middles_of(layers, widths, GAP, (chains.up, chains.down))
    least = min((x - width / 2 for x, width in zip(across, widths, strict=True)), default=0.0)
    across = [x - least for x in across]
    rows = _rows(layers, chains, across)
    middles = [(across[item], (rows.tops[rank] + rows.bottoms[rank]) / 2) for item, rank in enumerate(chains.ranks)]
    routes, stems = routed((sizes, edges), links, chains, middles, rows)
    width = max((x + width / 2 for x, width in zip(across, widths, strict=True)), default=0.0)
    return Layout(Size(width, rows.bottoms[-1]), tuple(middles[: len(sizes)]), tuple(routes), tuple(stems))


def _rows(layers: list[list[int]], chains: Chains, across: list[float]) -> RowBounds:
    """Rows are as high as their highest item; where links go far to the side there is more room between two."""
    tops, bottoms, y = list[float](), list[float](), 0.0
    for layer in layers:
        height = max((chains.sizes[item].height for item in layer), default=0.0)
        tops.append(y)
        bottoms.append(y + height)
        far = max((abs(across[item] - across[other]) for item in layer for other, _ in chains.down[item]), default=0.0)
        # A curve that goes far to the side within a low gap is nearly flat, and hard to follow.
        y += height + min(MOST_ROW_GAP, ROW_GAP + far / 14)
    return RowBounds(tops, bottoms)


# Parts of a drawing that do not hang together, and where they go on the page.
APART = 48.0


def parts_of(count: int, ends: Sequence[tuple[int, int]]) -> list[list[int]]:
    """The nodes of each part, parts and nodes in ascending order."""
    near: list[list[int]] = [[] for _ in range(count)]
    for source, target in ends:
        near[source].append(target)
        near[target].append(source)
    seen = [False] * count
    parts = []
    for root in range(count):
        if seen[root]:
            continue
        seen[root] = True
        part = [root]
        for node in part:  # grows while it is walked
            for other in near[node]:
                if not seen[other]:
                    seen[other] = True
                    part.append(other)
        parts.append(sorted(part))
    return parts


def packed_shelves(sizes: Sequence[Size]) -> tuple[list[Point], Size]:
    """The upper left corner of each part, in shelves from left to right, and the size of the whole."""
    area = sum((size.width + APART) * (size.height + APART) for size in sizes)
    # The page is to be somewhat wider than high, and no part is wider than the page.
    most = max(1.4 * area**0.5, *(size.width for size in sizes)) if sizes else 0.0
    corners, x, y, shelf, width = list[Point](), 0.0, 0.0, 0.0, 0.0
    for size in sizes:
        # In the order of the file, as readers look for them: packing by size would save room and lose that.
        if x and x + size.width > most:
            x, y, shelf = 0.0, y + shelf + APART, 0.0
        corners.append((x, y))
        width, shelf = max(width, x + size.width), max(shelf, size.height)
        x += size.width + APART
    return corners, Size(width, y + shelf)
