"""Boxes as SVG."""

from collections.abc import Iterator

from noetlc.emit.pictures.drawing import CIRCLE, INNER_GAP, Drawing, Face
from noetlc.emit.pictures.picture import Box, Paint, Shape
from noetlc.emit.pictures.shapes import Point
from noetlc.emit.pictures.strokes import arrows_of
from noetlc.emit.pictures.style import LINE, SIGNS
from noetlc.emit.pictures.xml import escaped_xml, number

ROUND = {Shape.ENTRY: 18.0, Shape.END: 18.0, Shape.TASK: 4.0, Shape.TRANSITION: 2.0, Shape.STATE: 12.0}
STACK, BAR = 4.0, 5.0


def body_of(drawing: Drawing, prefix: str = "") -> Iterator[str]:
    """Arrows, and boxes over them, in the layout's own coordinates; the numbers of elements begin with `prefix`."""
    # SVG paints in the order of its text: what is over it comes later.
    yield from arrows_of(drawing, prefix)
    for position in range(len(drawing.picture.nodes)):
        yield from _box(drawing, position, prefix)


def sign_at(mark: Paint, middle: Point) -> str:
    """The sign of a mark."""
    return f'<path class="s" transform="translate({number(middle[0])} {number(middle[1])})" d="{SIGNS[mark]}"/>'


def _box(drawing: Drawing, position: int, prefix: str) -> Iterator[str]:
    node, face, middle = drawing.picture.nodes[position], drawing.faces[position], drawing.layout.middles[position]
    classes = " ".join(filter(None, ("node", node.shape.value, node.mark.value)))
    yield f'<g class="{classes}" data-n="{prefix}{position}" data-id="{escaped_xml(node.id)}">'
    yield f"<title>{escaped_xml(_hint(node))}</title>"
    if node.shape is Shape.PLACE:
        yield from _place(node, face, middle)
    else:
        yield from _plain(node, face, middle)
    inner = drawing.inner[position]
    if inner is not None:
        x = middle[0] - inner.layout.size.width / 2
        y = middle[1] - face.size.height / 2 + face.text_height
        left = middle[0] - face.size.width / 2 + INNER_GAP / 2
        yield _rect(
            "inner", (left, y - INNER_GAP / 2), (face.size.width - INNER_GAP, inner.layout.size.height + INNER_GAP), 5
        )
        yield f'<g transform="translate({number(x)} {number(y)})">'
        yield from body_of(inner, f"{prefix}{position}.")
        yield "</g>"
    yield "</g>"


def _hint(node: Box) -> str:
    return "\n".join([node.title, *node.lines, *node.facts, *node.remarks])


def _plain(node: Box, face: Face, middle: Point) -> Iterator[str]:
    width, height = face.size
    x, y = middle[0] - width / 2, middle[1] - height / 2
    # SVG bounds the two radii apart: beyond half of the height the corners would be elliptical.
    radius = min(ROUND.get(node.shape, 7.0), height / 2)
    # A second box behind it: there are several.
    if node.shape in (Shape.LOOP, Shape.FOLD):
        yield _rect("b", (x + STACK, y + STACK), (width, height), radius)
    yield _rect("b", (x, y), (width, height), radius)
    if node.joins:
        yield _rect("bar", (x + 8, y - BAR / 2), (width - 16, BAR), 2)
    if node.forks:
        yield _rect("bar", (x + 8, y + height - BAR / 2), (width - 16, BAR), 2)
    top = y + (face.text_height - LINE * (1 + len(face.lines) + len(face.facts))) / 2
    sign = SIGNS[node.mark]
    yield _text("t", (middle[0] - (8 if sign else 0), top + LINE * 0.78), face.title)
    if sign:
        yield sign_at(node.mark, (x + width - 14, top + LINE * 0.5))
    for row, line in enumerate(face.lines, 1):
        yield _text("", (middle[0], top + LINE * (row + 0.78)), line)
    for row, fact in enumerate(face.facts, 1 + len(face.lines)):
        yield _text("f", (middle[0], top + LINE * (row + 0.78)), fact)


def _place(node: Box, face: Face, middle: Point) -> Iterator[str]:
    x, y = middle
    yield f'<circle class="b" cx="{number(x)}" cy="{number(y)}" r="{number(CIRCLE / 2)}"/>'
    for fact in face.facts[:1]:
        yield _text("f", (x, y + 4), fact)
    yield f'<text x="{number(x + CIRCLE / 2 + 5)}" y="{number(y + 4)}">{escaped_xml(face.title)}</text>'


def _rect(name: str, corner: Point, size: tuple[float, float], radius: float) -> str:
    place = f'x="{number(corner[0])}" y="{number(corner[1])}" width="{number(size[0])}" height="{number(size[1])}"'
    return f'<rect class="{name}" {place} rx="{number(radius)}"/>'


def _text(name: str, middle: Point, text: str) -> str:
    kind = f' class="{name}"' if name else ""
    return (
        f'<text{kind} x="{number(middle[0])}" y="{number(middle[1])}" text-anchor="middle">{escaped_xml(text)}</text>'
    )
