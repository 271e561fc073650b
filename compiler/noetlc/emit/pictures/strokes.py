"""Arrows as SVG: paths with heads, and labels on them."""

from collections.abc import Iterator, Sequence

from noetlc.emit.pictures.drawing import Drawing
from noetlc.emit.pictures.metrics import bold_width_of
from noetlc.emit.pictures.picture import Edge, Paint
from noetlc.emit.pictures.routing import LOOP
from noetlc.emit.pictures.shapes import Point
from noetlc.emit.pictures.style import LINE, TEXT
from noetlc.emit.pictures.xml import escaped_xml, number

HEAD, HALF = 8.0, 4.0
QUIET = (Paint.NONE, Paint.IDLE)


def arrows_of(drawing: Drawing, prefix: str) -> Iterator[str]:
    """All arrows, those behind the others first; the stems that several share stand by themselves."""
    edges = list(enumerate(drawing.picture.edges))
    routes = drawing.layout.routes
    # What is drawn last lies on top: links that go behind the boxes come first, and the marked run last.
    edges.sort(key=lambda each: (routes[each[0]].form != "straight", each[1].mark not in QUIET))
    for position, stem in enumerate(drawing.layout.stems):
        yield f'<g class="stem {stem.kind}" data-s="{prefix}{position}">{path(stem.points, "rows", has_head=True)}</g>'
    for position, edge in edges:
        yield from _arrow(drawing, position, edge, prefix)


def path(points: Sequence[Point], form: str, *, has_head: bool) -> str:
    """A line through points (`routing`), with a head at its end."""
    if form == "loop":
        (x, y), (_, to_y) = points
        line = f"M{_at(points[0])}C{_at((x + LOOP, y - 8))} {_at((x + LOOP, to_y + 8))} {_at((x + HEAD / 2, to_y))}"
        return f'<path class="e" d="{line}"/>{_head(points[1], (-1.0, 0.0))}'
    if form == "straight":
        return f'<path class="e" d="M{_at(points[0])}L{_at(points[1])}"/>{_head(points[1], _direction(*points))}'
    end = points[-1]
    down = end[1] > points[0][1]
    commands = [f"M{_at(points[0])}"]
    for position in range(0, len(points), 2):
        here, there = points[position], points[position + 1]
        if position:
            commands.append(_curve(points[position - 1], here))
        if position + 2 == len(points) and has_head:
            there = (there[0], there[1] - (HEAD / 2 if down else -HEAD / 2))
        if here != there:
            commands.append(f"L{_at(there)}")
    head = _head(end, (0.0, 1.0 if down else -1.0)) if has_head else ""
    return f'<path class="e" d="{"".join(commands)}"/>{head}'


def _arrow(drawing: Drawing, position: int, edge: Edge, prefix: str) -> Iterator[str]:
    route = drawing.layout.routes[position]
    is_told = edge.mark not in QUIET
    # A marked link is drawn over its stem to the end. The stem is shared, and must not be marked for those that the
    # run did not take.
    points = drawing.layout.whole(position) if is_told else route.points
    hint = "\n".join(filter(None, [edge.text, *edge.facts, *edge.remarks]))
    classes = " ".join(filter(None, ("edge", edge.kind.value, edge.mark.value)))
    stem = f' data-stem="{prefix}{route.stem}"' if route.stem >= 0 else ""
    yield f'<g class="{classes}" data-e="{prefix}{position}" data-id="{escaped_xml(edge.id)}"{stem}>'
    if hint:
        yield f"<title>{escaped_xml(hint)}</title>"
    yield path(points, route.form, has_head=is_told or route.stem < 0)
    if route.label is not None:
        yield '<g class="label">'
        yield from _label(route.label, drawing.labels[position], len(edge.facts) > 0)
        yield "</g>"
    yield "</g>"


def _label(middle: Point, lines: tuple[str, ...], has_facts: bool) -> Iterator[str]:
    x, y = middle
    width, height = max(bold_width_of(line, TEXT) for line in lines) + 4, LINE * len(lines)
    corner = f'x="{number(x - width / 2)}" y="{number(y - height / 2)}"'
    yield f'<rect class="l" {corner} width="{number(width)}" height="{number(height)}"/>'
    for row, line in enumerate(lines):
        bold = ' class="f"' if has_facts and row == len(lines) - 1 else ""
        top = y - height / 2 + LINE * (row + 0.75)
        yield f'<text{bold} x="{number(x)}" y="{number(top)}" text-anchor="middle">{escaped_xml(line)}</text>'


def _curve(here: Point, there: Point) -> str:
    """From row to row: it leaves and comes straight down, or up."""
    if here == there:
        return ""
    if here[0] == there[0]:
        return f"L{_at(there)}"
    middle = (here[1] + there[1]) / 2
    return f"C{_at((here[0], middle))} {_at((there[0], middle))} {_at(there)}"


def _head(tip: Point, along: Point) -> str:
    (x, y), (dx, dy) = tip, along
    back = (x - HEAD * dx, y - HEAD * dy)
    left, right = (back[0] - HALF * dy, back[1] + HALF * dx), (back[0] + HALF * dy, back[1] - HALF * dx)
    return f'<path class="a" d="M{_at(tip)}L{_at(left)}L{_at(right)}Z"/>'


def _direction(start: Point, end: Point) -> Point:
    dx, dy = end[0] - start[0], end[1] - start[1]
    length = (dx * dx + dy * dy) ** 0.5 or 1.0
    return (dx / length, dy / length)


def _at(point: Point) -> str:
    return f"{number(point[0])} {number(point[1])}"
