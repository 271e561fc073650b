"""Folding: parts of a large picture with one way in and one way out become one box each, the smallest first.

In a net, the parts of one step come first, and then pieces of wide rows. After them, a part is what stands between a
box that forks, or begins a loop, and the box that all its ways come to (its immediate postdominator), or a piece of a
chain. Arrows of failures may leave a part, to a handler that many steps share; none may come into the middle of one.
Arrows that no token takes count as none.
What is marked stays in sight.
"""

from collections.abc import Iterator

from noetl_ir.records import NamedTuple
from noetlc.ast.dominators import dominators_of
from noetlc.emit.pictures.picture import ASIDE, ArrowKind, Box, Edge, Paint, Picture, Shape, worse

EXIT = -1
LARGEST, CLIMBS, LEAST, ROUNDS = 400, 6, 3, 40
WIDE, IN_ROW = 16, 8
IN_SIGHT = frozenset(
    {Paint.BAD, Paint.FAILED, Paint.RUNNING, Paint.WAITING, Paint.CANCELLED, Paint.PARTLY, Paint.WARNED, Paint.TOLD}
)


class PicturePart(NamedTuple):
    """Boxes by position; all ways in come to the first, all ways out but failures leave the last."""

    first: int
    last: int
    members: frozenset[int]


class Arrows(NamedTuple):
    """Box → the boxes that its arrows lead to and come from, each once and in the arrows' order.

    A value is whether one of the arrows to that box is no arrow of a failure.
    """

    after: list[dict[int, bool]]
    before: list[dict[int, bool]]


def folded_picture(picture: Picture, most: int) -> Picture:
    """The picture with at most that many boxes, or as few as folding can do; a caption says what was folded."""
    whole = len(picture.nodes)
    small = picture
    # Parts of one step and pieces of rows are what a reader knows from the playbook; forks and chains come after
    # them, since their ends are found by the shape alone.
    for parts_of in (_homes, _rows):
        small = _without(small, parts_of(small)) if len(small.nodes) > most else small
    # Each round folds what the one before has made: a fold is a box like any other, and may be part of a larger one.
    for _ in range(ROUNDS):
        excess = len(small.nodes) - most
        if excess <= 0:
            break
        parts = _chosen(small, excess, most)
        if not parts:
            break
        small = _without(small, parts)
    folds = sum(node.shape is Shape.FOLD for node in small.nodes)
    if not folds:
        return picture
    shown = whole - sum(len(leaves_of(node)) for node in small.nodes if node.shape is Shape.FOLD)
    return small.saying(
        f"{whole} boxes in all: {whole - shown} of them are folded into {folds} (--boxes N draws up to N)."
    )


def _homes(picture: Picture) -> list[PicturePart]:
    """The parts that belong to one step of a net, where a step has several parts and none of them is marked."""
    members: dict[str, list[int]] = {}
    for number, node in enumerate(picture.nodes):
        if node.home:
            members.setdefault(node.home, []).append(number)
    return [
        PicturePart(row[0], row[-1], frozenset(row))
        for row in members.values()
        if len(row) > 1 and not any(picture.nodes[number].mark in IN_SIGHT for number in row)
    ]


def _rows(picture: Picture) -> list[PicturePart]:
    """Pieces of wide rows: boxes side by side that come from the same boxes and lead to the same."""
    arrows = _arrows(picture)
    rows: dict[tuple[frozenset[int], frozenset[int]], list[int]] = {}
    for number, node in enumerate(picture.nodes):
        before, after = arrows.before[number], arrows.after[number]
        if before and number not in after and node.mark not in IN_SIGHT:
            rows.setdefault((frozenset(before), frozenset(after)), []).append(number)
    parts = []
    for row in rows.values():
        if len(row) >= WIDE:
            piece = -(-len(row) // IN_ROW)
            # A wide row is folded in pieces and not as one, so that some of its breadth stays to be seen.
            parts += [row[start : start + piece] for start in range(0, len(row), piece)]
    return [PicturePart(part[0], part[-1], frozenset(part)) for part in parts if len(part) > 1]


def leaves_of(node: Box) -> list[Box]:
    """The boxes that a fold stands for, those of folds in it included; any other box itself."""
    found, waiting = [], [node]
    while waiting:
        one = waiting.pop()
        if one.shape is Shape.FOLD and one.inner is not None:
            waiting += reversed(one.inner.nodes)
        else:
            found.append(one)
    return found


def _chosen(picture: Picture, excess: int, most: int) -> list[PicturePart]:
    """Parts without a common box, the smallest first, until enough boxes are gone."""
    arrows = _arrows(picture)
    pinned = {number for number, node in enumerate(picture.nodes) if node.mark in IN_SIGHT}
    # The length of a piece grows with the excess, so that a long chain becomes few boxes in one round.
    piece = max(LEAST + 1, -(-2 * len(picture.nodes) // max(1, most)))
    parts = [*_forks(arrows), *_chains(arrows, piece)]
    taken: set[int] = set()
    chosen = []
    for part in sorted(parts, key=lambda each: (len(each.members), each.first)):
        # A part with nearly all boxes would fold the picture into one, which shows nothing.
        if excess > 0 and len(part.members) < len(picture.nodes) - 1 and part.members.isdisjoint(taken | pinned):
            chosen.append(part)
            taken |= part.members
            excess -= len(part.members) - 1
    return chosen


def _arrows(picture: Picture) -> Arrows:
    after: list[dict[int, bool]] = [{} for _ in picture.nodes]
    before: list[dict[int, bool]] = [{} for _ in picture.nodes]
    for edge in picture.edges:
        if edge.kind in ASIDE:
            continue
        # One plain arrow beside those of failures makes the way a plain one.
        plain = edge.kind is not ArrowKind.KO or after[edge.source].get(edge.target, False)
        after[edge.source][edge.target] = before[edge.target][edge.source] = plain
    return Arrows(after, before)


def _onwards(arrows: Arrows) -> list[list[int]]:
    """Box → the boxes that it leads to without a failure."""
    return [[other for other, plain in row.items() if plain] for row in arrows.after]


def _forks(arrows: Arrows) -> Iterator[PicturePart]:
    after = _onwards(arrows)
    backwards: dict[int, list[int]] = {EXIT: [node for node, row in enumerate(after) if not row]}
    backwards |= {node: [] for node in range(len(after))}
    for node, row in enumerate(after):
        for other in row:
            backwards[other].append(node)
    # Postdominators are dominators of the graph read backwards, from one exit that all leaves lead to.
    behind = dominators_of(EXIT, backwards)
    for first, row in enumerate(after):
        # Only a box where ways part, or that a loop comes back to, can begin a part that is no chain.
        if len(row) < 2 and len(arrows.before[first]) < 2:
            continue
        last = behind.get(first, EXIT)
        # Where the nearest meeting makes no part, one further on may. The number of tries is bounded, since each
        # walks over the boxes between.
        for _ in range(CLIMBS):
            if last == EXIT:
                break
            members = _between(after, first, last)
            if len(members) >= LEAST and _is_part(arrows, members, first):
                yield PicturePart(first, last, members)
                break
            last = behind.get(last, EXIT)


def _between(after: list[list[int]], first: int, last: int) -> frozenset[int]:
    """The boxes that can be reached from the first without passing the last; empty where that is too much."""
    found, waiting = {first, last}, [first]
    while waiting:
        for other in after[waiting.pop()]:
            if other not in found:
                found.add(other)
                waiting.append(other)
        # A part of hundreds of boxes would hide the picture, and looking for its end again and again would take
        # quadratic time.
        if len(found) > LARGEST:
            return frozenset()
    return frozenset(found)


def _is_part(arrows: Arrows, members: frozenset[int], first: int) -> bool:
    return all(other in members for node in members if node != first for other in arrows.before[node])


def _chains(arrows: Arrows, piece: int) -> Iterator[PicturePart]:
    """Pieces of chains: each box but the first has one arrow in, each but the last one way on."""
    after = {}
    for node, row in enumerate(_onwards(arrows)):
        if len(row) == 1 and len(arrows.before[row[0]]) == 1 and row[0] != node:
            after[node] = row[0]
    heads = set(after) - set(after.values())
    for head in sorted(heads):
        chain = [head]
        while chain[-1] in after:
            chain.append(after[chain[-1]])
        for start in range(0, len(chain), piece):
            members = chain[start : start + piece]
            if len(members) >= LEAST:
                yield PicturePart(members[0], members[-1], frozenset(members))


def _without(picture: Picture, parts: list[PicturePart]) -> Picture:
    """The picture with each part as one box, where its first box stood."""
    owner = {member: part for part in parts for member in part.members}
    inside: dict[int, list[Edge]] = {part.first: [] for part in parts}
    crossing = []
    for edge in picture.edges:
        part = owner.get(edge.source)
        if part is not None and edge.target in part.members:
            inside[part.first].append(edge)
        else:
            crossing.append(edge)
    nodes: list[Box] = []
    place: dict[int, int] = {}
    for number, node in enumerate(picture.nodes):
        part = owner.get(number)
        if part is None or part.first == number:
            place[number] = len(nodes)
            nodes.append(node if part is None else _fold(picture, part, inside[part.first]))
    for number, part in owner.items():
        place[number] = place[part.first]
    edges: dict[tuple[int, int, ArrowKind], list[Edge]] = {}
    for edge in crossing:
        edges.setdefault((place[edge.source], place[edge.target], edge.kind), []).append(edge)
    return picture._replace(
        nodes=tuple(nodes), edges=tuple([_joined(row, source, target) for (source, target, _), row in edges.items()])
    )


def _fold(picture: Picture, part: PicturePart, edges: list[Edge]) -> Box:
    # The first and the last box stand at the ends, since titles, joins and forks of a fold are read from there.
    order = [part.first, *sorted(part.members - {part.first, part.last}), part.last]
    index = {number: position for position, number in enumerate(order)}
    nodes = tuple([picture.nodes[number] for number in order])
    own = tuple([edge._replace(source=index[edge.source], target=index[edge.target]) for edge in edges])
    inner = Picture(nodes[0].title, picture.level, nodes, own)
    first, last = nodes[0], nodes[-1]
    homes = {node.home for node in nodes}
    home = homes.pop() if len(homes) == 1 else ""
    title = home or f"{_ends(first)[0]} … {_ends(last)[1]}"
    # The id is that of the first box, which no other fold can begin with: what is painted on a picture finds it
    # again.
    fold = Box(f"fold {first.id}", Shape.FOLD, title, span=first.span, inner=inner)
    mark = Paint.NONE
    for node in nodes:
        mark = worse(mark, node.mark)
    count = len(leaves_of(fold))
    remarks = tuple([remark for node in nodes for remark in node.remarks])
    return fold._replace(lines=(f"{count} boxes",), mark=mark, remarks=remarks, joins=first.joins, forks=last.forks)


def _ends(node: Box) -> tuple[str, str]:
    """The titles of the first and the last box that a box stands for."""
    if node.shape is not Shape.FOLD:
        return node.title, node.title
    first, _, last = node.title.partition(" … ")
    return first, last or first


def _joined(row: list[Edge], source: int, target: int) -> Edge:
    """Arrows between the same two boxes as one."""
    one = row[0]
    mark = one.mark
    for other in row[1:]:
        mark = worse(mark, other.mark)
    if len(row) == 1:
        return one._replace(source=source, target=target)
    texts = {edge.text for edge in row}
    text = one.text if len(texts) == 1 else f"{len(row)} arcs"
    remarks = tuple([remark for edge in row for remark in edge.remarks])
    return one._replace(source=source, target=target, text=text, mark=mark, facts=(), remarks=remarks)
