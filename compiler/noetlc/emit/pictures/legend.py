"""The meanings of a picture's signs: only those that are in it."""

from collections.abc import Iterator

from noetl_ir.records import NamedTuple
from noetlc.emit.pictures.boxes import sign_at
from noetlc.emit.pictures.metrics import width_of
from noetlc.emit.pictures.picture import ArrowKind, Box, Picture, Shape
from noetlc.emit.pictures.strokes import path
from noetlc.emit.pictures.style import MEANINGS, SHAPES, SIGNS, TEXT
from noetlc.emit.pictures.xml import escaped_xml, number

ROW, GAP, SAMPLE, MOST_WIDTH = 22.0, 22.0, 30.0, 760.0
OF_STATES = {Shape.ENTRY: "initial state", Shape.END: "final state"}
KINDS = {
    ArrowKind.OK: "arc",
    ArrowKind.KO: "arc of a failure",
    ArrowKind.JUMP: "jump",
    ArrowKind.RESET: "cancels",
    ArrowKind.TEST: "has to be empty",
}
OF_NETS = {ArrowKind.OK: "arc of the net", ArrowKind.RESET: "empties"}


class Legend(NamedTuple):
    """The lines of SVG, from the upper left corner on, and how much room they take."""

    marks: tuple[str, ...]
    width: float
    height: float


def legend_of(picture: Picture, most: float = MOST_WIDTH) -> Legend:
    """The legend, in rows that are at most so wide; empty where there is nothing to tell apart."""
    entries = list(_entries(picture))
    # One sort of box and nothing else needs no key.
    if len(entries) < 2:
        return Legend((), 0.0, 0.0)
    out: list[str] = []
    x, y, width = 0.0, 0.0, 0.0
    for classes, sample, text in entries:
        room = SAMPLE + 8 + width_of(text, TEXT) + GAP
        if x and x + room > most:
            x, y = 0.0, y + ROW
        out.append(f'<g class="{classes}" transform="translate({number(x)} {number(y)})">{sample}</g>')
        out.append(f'<text x="{number(x + SAMPLE + 8)}" y="{number(y + 13)}">{escaped_xml(text)}</text>')
        x += room
        width = max(width, x)
    return Legend(tuple(out), width, y + ROW + 10)


def everything(picture: Picture) -> Iterator[Picture]:
    """The picture and those inside its boxes."""
    waiting = [picture]
    while waiting:
        one = waiting.pop()
        yield one
        waiting += [node.inner for node in one.nodes if node.inner is not None and node.shape is not Shape.FOLD]


def _entries(picture: Picture) -> Iterator[tuple[str, str, str]]:
    nodes = [node for one in everything(picture) for node in one.nodes]
    edges = [edge for one in everything(picture) for edge in one.edges]
    shapes, kinds = {node.shape for node in nodes}, {edge.kind for edge in edges}
    names = SHAPES | (OF_STATES if picture.level == "states" else {})
    for shape, text in names.items():
        if shape in shapes:
            yield shape.value, _sample(shape), text
    if _any_of(nodes, "joins"):
        yield (
            "step",
            _sample(Shape.STEP) + '<rect class="bar" x="6" y="-1" width="18" height="4"/>',
            "waits for several",
        )
    if _any_of(nodes, "forks"):
        yield "step", _sample(Shape.STEP) + '<rect class="bar" x="6" y="15" width="18" height="4"/>', "several at once"
    for kind, text in (KINDS | (OF_NETS if picture.level == "net" else {})).items():
        if kind in kinds:
            yield kind.value, path(((0.0, 9.0), (SAMPLE, 9.0)), "straight", has_head=True), text
    marks = {node.mark for node in nodes} | {edge.mark for edge in edges}
    for mark, text in MEANINGS.items():
        if mark in marks:
            sign = sign_at(mark, (15, 9)) if SIGNS[mark] else ""
            yield f"step {mark.value}", _sample(Shape.STEP) + sign, text


def _any_of(nodes: list[Box], field: str) -> bool:
    return any(node.joins if field == "joins" else node.forks for node in nodes)


def _sample(shape: Shape) -> str:
    if shape is Shape.PLACE:
        return '<circle class="b" cx="15" cy="9" r="8"/>'
    radius = {Shape.ENTRY: 8, Shape.END: 8, Shape.TRANSITION: 1}.get(shape, 4)
    back = f'<rect class="b" x="3" y="4" width="27" height="16" rx="{radius}"/>'
    front = f'<rect class="b" x="0" y="1" width="30" height="16" rx="{radius}"/>'
    return back + front.replace('width="30"', 'width="27"') if shape in (Shape.LOOP, Shape.FOLD) else front
