"""The step graph in Graphviz's language."""

from noetlc.ast.playbook import Playbook
from noetlc.emit.stepgraph import Box, Line, picture_of

_SHAPES = {
    "entry": "shape=box, style=rounded, peripheries=2",
    "loop": "shape=box3d",
    "step": "shape=box, style=rounded",
    "end": "shape=doublecircle",
}


def emitted(playbook: Playbook) -> str:
    """A directed graph, drawn from the top."""
    picture = picture_of(playbook)
    out = [f"digraph {_quoted(picture.title)} {{", "  rankdir=TB;"]
    out += [f"  n{number} [{_box(box)}];" for number, box in enumerate(picture.boxes)]
    out += [f"  {_line(line)};" for line in picture.lines]
    return "\n".join([*out, "}"]) + "\n"


def _box(box: Box) -> str:
    return f"label={_quoted(chr(10).join(box.lines))}, {_SHAPES[box.shape]}"


def _line(line: Line) -> str:
    marks = [f"label={_quoted(line.text)}"] if line.text else []
    marks += ["style=dashed"] if line.dashed else []
    return f"n{line.source} -> n{line.target}" + (f" [{', '.join(marks)}]" if marks else "")


def _quoted(text: str) -> str:
    return '"' + "".join([_escaped(char) for char in text]) + '"'


def _escaped(char: str) -> str:
    if char == "\n":
        return "\\n"
    if char in '"\\':
        return "\\" + char
    return "\ufffd" if "\ud800" <= char <= "\udfff" or char < " " else char
