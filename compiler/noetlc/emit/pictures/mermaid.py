"""Pictures as Mermaid flowcharts, within what Mermaid draws.

Every character that Mermaid could read as its own is written as an entity.
"""

from collections.abc import Iterator

from noetlc.emit.pictures.picture import ArrowKind, Box, Edge, Paint, Picture, Shape
from noetlc.emit.pictures.regions import folded_picture

MAX_EDGES, MAX_CHARACTERS = 500, 50_000
"""What Mermaid draws unless it is configured otherwise (`maxEdges`, `maxTextSize`)."""
MAX_CAPTIONS = 20
TRIES = (400, 200, 100, 50, 20)

_SHAPES = {
    Shape.ENTRY: ("([", "])"),
    Shape.LOOP: ("[[", "]]"),
    Shape.STEP: ("[", "]"),
    Shape.END: ("((", "))"),
    Shape.TASK: ("[", "]"),
    Shape.PLACE: ("((", "))"),
    Shape.TRANSITION: ("[", "]"),
    Shape.STATE: ("(", ")"),
    Shape.FOLD: ("[/", "/]"),
}
_ARROWS = {
    ArrowKind.OK: "-->",
    ArrowKind.KO: "-.->",
    ArrowKind.JUMP: "-.->",
    ArrowKind.RESET: "-.-x",
    ArrowKind.TEST: "-.-o",
}
_COLOURS = {
    Paint.IDLE: ("#f2f4f6", "#a3adb7"),
    Paint.DONE: ("#e2f4ee", "#009e73"),
    Paint.PARTLY: ("#fff3d6", "#e69f00"),
    Paint.CANCELLED: ("#e9edf1", "#6b7783"),
    Paint.WAITING: ("#fff0cc", "#b58900"),
    Paint.RUNNING: ("#e0f2fd", "#56b4e9"),
    Paint.TOLD: ("#dcedf8", "#0072b2"),
    Paint.WARNED: ("#fff3d6", "#e69f00"),
    Paint.FAILED: ("#fde8dc", "#d55e00"),
    Paint.BAD: ("#fde8dc", "#d55e00"),
}
_PLAIN = frozenset(" .,-_:=+/'%→…")


def emitted(picture: Picture) -> str:
    """The flowchart; folded, with a note, where it would be more than Mermaid draws."""
    text = _written(picture)
    if _fits(text):
        return text
    for most in TRIES:
        if _fits(text):
            return text
        text = _written(folded_picture(picture, most))
    return text if _fits(text) else _cut(folded_picture(picture, TRIES[-1]))


def _fits(text: str) -> bool:
    # Every way has `->`, and no text has: `>` is written as an entity. Text that looks like one of the other arrows is
    # counted with them, which at worst folds a picture earlier.
    arrows = sum(text.count(each) for each in ("->", "-.-x", "-.-o"))
    return arrows <= MAX_EDGES and len(text) <= MAX_CHARACTERS


def _cut(picture: Picture) -> str:
    """A picture that cannot be folded far enough: the first boxes and the arrows between them, as many as fit."""
    # Halved until it fits: how long the text of a box is is not known before it is written, and six rounds are enough.
    most = min(len(picture.nodes), MAX_EDGES)
    while True:
        edges = [edge for edge in picture.edges if edge.source < most and edge.target < most][:MAX_EDGES]
        remark = (
            f"Only {most} of {len(picture.nodes)} boxes and {len(edges)} of {len(picture.edges)} arrows: the picture"
        )
        small = picture._replace(nodes=picture.nodes[:most], edges=tuple(edges), captions=())
        text = _written(small.saying(f"{remark} is too large for Mermaid."))
        if _fits(text) or most < 2:
            return text
        most //= 2


def _written(picture: Picture) -> str:
    out = ["flowchart TD"]
    for number, node in enumerate(picture.nodes):
        out += _box(f"n{number}", node)
    out += [f"  {_arrow('n', edge)}" for edge in picture.edges]
    if picture.captions:
        lines = picture.captions[:MAX_CAPTIONS]
        out.append(f'  note>"{"<br/>".join(_escaped(line) for line in lines)}"]')
    return "\n".join([*out, *_styles(picture)]) + "\n"


def _box(id: str, node: Box) -> Iterator[str]:
    text = "<br/>".join(_escaped(line) for line in (node.title, *node.lines, *node.facts))
    if node.inner is None or node.shape is Shape.FOLD:
        opening, closing = _SHAPES[node.shape]
        yield f'  {id}{opening}"{text}"{closing}'
        return
    yield f'  subgraph {id}["{text}"]'
    for number, inner in enumerate(node.inner.nodes):
        yield from (f"  {line}" for line in _box(f"{id}t{number}", inner))
    yield from (f"    {_arrow(f'{id}t', edge)}" for edge in node.inner.edges)
    yield "  end"


def _arrow(prefix: str, edge: Edge) -> str:
    words = " ".join(filter(None, [edge.text, *edge.facts]))
    text = f'|"{_escaped(words)}"|' if words else ""
    return f"{prefix}{edge.source} {_ARROWS[edge.kind]}{text} {prefix}{edge.target}"


def _styles(picture: Picture) -> Iterator[str]:
    """A class for each mark that is on a box, and a style for each arrow that is marked."""
    boxes = [*_boxes("n", picture)]
    for mark, (fill, stroke) in _COLOURS.items():
        ids = [id for id, node in boxes if node.mark is mark]
        if ids:
            yield f"  classDef {mark} fill:{fill},stroke:{stroke},stroke-width:2px,color:#1b2733"
            yield f"  class {','.join(ids)} {mark}"
    # Mermaid numbers the arrows of a chart in the order of their lines, those inside subgraphs too, which stand before.
    arrows = [edge for _, node in boxes if node.inner and node.shape is not Shape.FOLD for edge in node.inner.edges]
    arrows += picture.edges
    for mark, (_, stroke) in _COLOURS.items():
        rows = [str(number) for number, edge in enumerate(arrows) if edge.mark is mark]
        if rows:
            width = 1 if mark is Paint.IDLE else 3
            yield f"  linkStyle {','.join(rows)} stroke:{stroke},stroke-width:{width}px"


def _boxes(prefix: str, picture: Picture) -> Iterator[tuple[str, Box]]:
    """The boxes that are drawn, with their ids, those inside others behind these."""
    for number, node in enumerate(picture.nodes):
        yield f"{prefix}{number}", node
        if node.inner is not None and node.shape is not Shape.FOLD:
            yield from _boxes(f"{prefix}{number}t", node.inner)


def _escaped(text: str) -> str:
    return "".join([char if char.isalnum() or char in _PLAIN else f"#{_code(char)};" for char in text])


def _code(char: str) -> int:
    """The character's number; what no file may hold becomes the replacement character."""
    return 0xFFFD if "\ud800" <= char <= "\udfff" or char < " " else ord(char)
