"""A picture with sizes and places: what SVG and HTML draw.

A box is as large as its text; the tasks of a step are laid out first, inside its box.
"""

from collections.abc import Sequence

from noetl_ir.records import NamedTuple
from noetlc.emit.pictures.layout import Layout, layout_of
from noetlc.emit.pictures.metrics import bold_width_of, clipped, width_of, wrapped
from noetlc.emit.pictures.picture import Box, Edge, Picture, Shape
from noetlc.emit.pictures.shapes import NOTHING, Link, Size
from noetlc.emit.pictures.style import LINE, SIGNS, TEXT, TITLE

MAX_TITLE, MAX_LINE, MAX_LABEL, LABEL_LINES = 40, 52, 26, 3
PADDING, SIGN = 14.0, 18.0
LEAST = Size(64.0, 32.0)
LEAST_STEP = 120.0
"""The least width of a box that a page paints facts under, as times and what is waited for, no wider than the box."""
STEPS = frozenset({Shape.ENTRY, Shape.STEP, Shape.LOOP})
CIRCLE = 26.0
INNER_GAP = 10.0
PLAIN_GUARDS = frozenset(
    f"event.name == {quote}{event}{quote}"
    for quote in ("'", '"')
    for event in ("step.done", "loop.done", "step.failed")
)
"""Guards that say no more than the stroke of the arrow does."""


class Face(NamedTuple):
    """The text of a box as it is drawn, its size, and where what is inside it begins."""

    title: str
    lines: tuple[str, ...]
    facts: tuple[str, ...]
    size: Size
    text_height: float


class Drawing(NamedTuple):
    """Faces of boxes, lines of labels, where all is, and the drawings inside boxes."""

    picture: Picture
    faces: tuple[Face, ...]
    labels: tuple[tuple[str, ...], ...]
    layout: Layout
    inner: "tuple[Drawing | None, ...]"


def drawing_of(picture: Picture) -> Drawing:
    """The drawing of a picture. What stands inside a box has nothing inside."""
    inner = [
        # A fold has boxes inside to be opened in a page, and not to be drawn.
        None if node.inner is None or node.shape is Shape.FOLD else _drawn(node.inner, [])
        for node in picture.nodes
    ]
    return _drawn(picture, inner)


def _drawn(picture: Picture, inner: "Sequence[Drawing | None]") -> Drawing:
    inside = tuple(inner) if inner else (None,) * len(picture.nodes)
    faces = tuple([_face(node, drawing) for node, drawing in zip(picture.nodes, inside, strict=True)])
    labels = tuple([_label(edge) for edge in picture.edges])
    links = [
        Link(edge.source, edge.target, edge.kind.value, label_size(lines))
        for edge, lines in zip(picture.edges, labels, strict=True)
    ]
    edges = [
        # The name of a place stands beside its circle, and an arrow into the name would point at nothing.
        CIRCLE + 12 if node.shape is Shape.PLACE else face.size.width
        for node, face in zip(picture.nodes, faces, strict=True)
    ]
    return Drawing(picture, faces, labels, layout_of([face.size for face in faces], links, edges), inside)


def _face(node: Box, inner: Drawing | None) -> Face:
    title = clipped(node.title, MAX_TITLE)
    lines = tuple([clipped(line, MAX_LINE) for line in node.lines])
    facts = tuple([clipped(fact, MAX_LINE) for fact in node.facts])
    width = bold_width_of(title, TITLE) + (SIGN if SIGNS[node.mark] else 0)
    width = max([width, *(width_of(line, TEXT) for line in lines), *(bold_width_of(fact, TEXT) for fact in facts)])
    if node.shape is Shape.PLACE:
        return Face(title, lines, facts, Size(CIRCLE + 2 * (width_of(title, TEXT) + 6), CIRCLE), 0.0)
    height = LINE * (1 + len(lines) + len(facts)) + PADDING
    least = LEAST_STEP if node.shape in STEPS else LEAST.width
    size = Size(max(least, width + 2 * PADDING), max(LEAST.height, height))
    if inner is not None:
        whole = inner.layout.size
        size = Size(max(size.width, whole.width + 2 * INNER_GAP + 4), height + whole.height + INNER_GAP)
    return Face(title, lines, facts, size, height)


def _label(edge: Edge) -> tuple[str, ...]:
    # Most arcs of a playbook ask this, and a picture full of it shows nothing else.
    lines = () if edge.text in PLAIN_GUARDS else wrapped(edge.text, MAX_LABEL, LABEL_LINES)
    return (*lines, " ".join(edge.facts)) if edge.facts else lines


def label_size(lines: tuple[str, ...]) -> Size:
    if not lines:
        return NOTHING
    return Size(max(bold_width_of(line, TEXT) for line in lines) + 8, LINE * len(lines) + 2)
