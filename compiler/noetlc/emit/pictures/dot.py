"""Pictures in Graphviz's language."""

from collections.abc import Iterator

from noetlc.emit.pictures.picture import ArrowKind, Box, Edge, Paint, Picture, Shape

_SHAPES = {
    Shape.ENTRY: "shape=box, style=rounded, peripheries=2",
    Shape.LOOP: "shape=box3d",
    Shape.STEP: "shape=box, style=rounded",
    Shape.END: "shape=doublecircle",
    Shape.TASK: "shape=box",
    Shape.PLACE: "shape=ellipse",
    Shape.TRANSITION: "shape=box",
    Shape.STATE: "shape=box, style=rounded",
    Shape.FOLD: "shape=folder",
}
_COLOURS = {
    Paint.IDLE: "#a3adb7",
    Paint.DONE: "#009e73",
    Paint.PARTLY: "#e69f00",
    Paint.CANCELLED: "#6b7783",
    Paint.WAITING: "#b58900",
    Paint.RUNNING: "#56b4e9",
    Paint.TOLD: "#0072b2",
    Paint.WARNED: "#e69f00",
    Paint.FAILED: "#d55e00",
    Paint.BAD: "#d55e00",
}

# Reset arcs have two heads and emptiness arcs a ring, as in papers about nets; neither moves a box.
_STROKES = {
    ArrowKind.KO: "style=dashed",
    ArrowKind.JUMP: "style=dotted",
    ArrowKind.RESET: "style=dashed, arrowhead=normalnormal, constraint=false",
    ArrowKind.TEST: "style=dotted, arrowhead=odot, constraint=false",
}


def emitted(picture: Picture) -> str:
    """A directed graph, drawn from the top; the tasks of a step stand in a cluster with it."""
    out = [f"digraph {_quoted(picture.title)} {{", "  rankdir=TB;"]
    if picture.captions:
        out.append(f"  label={_quoted(chr(10).join(picture.captions))};")
    for number, node in enumerate(picture.nodes):
        out += _box(f"n{number}", node)
    out += [f"  {_line('n', edge)};" for edge in picture.edges]
    return "\n".join([*out, "}"]) + "\n"


def _box(id: str, node: Box) -> Iterator[str]:
    label = _quoted(chr(10).join((node.title, *node.lines, *node.facts)))
    mark = f', color="{_COLOURS[node.mark]}", penwidth=2' if node.mark in _COLOURS else ""
    own = f"{id} [label={label}, {_SHAPES[node.shape]}{mark}];"
    if node.inner is None or node.shape is Shape.FOLD:
        yield f"  {own}"
        return
    yield f"  subgraph cluster_{id} {{"
    yield f"    {own}"
    for number, inner in enumerate(node.inner.nodes):
        yield from (f"  {line}" for line in _box(f"{id}t{number}", inner))
    yield from (f"    {_line(f'{id}t', edge)};" for edge in node.inner.edges)
    # An unseen arrow keeps the tasks below the box of their step: without it Graphviz would put them side by side.
    yield f"    {id} -> {id}t0 [style=invis];"
    yield "  }"


def _line(prefix: str, edge: Edge) -> str:
    words = " ".join(filter(None, [edge.text, *edge.facts]))
    marks = [f"label={_quoted(words)}"] if words else []
    marks += [_STROKES[edge.kind]] if edge.kind in _STROKES else []
    marks += [f'color="{_COLOURS[edge.mark]}", penwidth=2'] if edge.mark in _COLOURS else []
    return f"{prefix}{edge.source} -> {prefix}{edge.target}" + (f" [{', '.join(marks)}]" if marks else "")


def _quoted(text: str) -> str:
    return '"' + "".join([_escaped(char) for char in text]) + '"'


def _escaped(char: str) -> str:
    if char == "\n":
        return "\\n"
    if char in '"\\':
        return "\\" + char
    # A lone surrogate cannot be written as UTF-8, and Graphviz reads no control characters.
    return "\ufffd" if "\ud800" <= char <= "\udfff" or char < " " else char
