"""The step graph as a Mermaid flowchart."""

from noetlc.ast.playbook import Playbook
from noetlc.emit.stepgraph import Box, Line, picture_of

_SHAPES = {"entry": ("([", "])"), "loop": ("[[", "]]"), "step": ("[", "]"), "end": ("((", "))")}
_PLAIN = frozenset(" .,-_:=+/'%→…")


def emitted(playbook: Playbook) -> str:
    """The flowchart; every character that Mermaid could read as its own is written as an entity."""
    picture = picture_of(playbook)
    out = ["flowchart TD"]
    out += [f"  n{number}{_box(box)}" for number, box in enumerate(picture.boxes)]
    out += [f"  {_line(line)}" for line in picture.lines]
    return "\n".join(out) + "\n"


def _box(box: Box) -> str:
    opening, closing = _SHAPES[box.shape]
    return f'{opening}"{"<br/>".join(_escaped(line) for line in box.lines)}"{closing}'


def _line(line: Line) -> str:
    arrow = "-.->" if line.dashed else "-->"
    text = f'|"{_escaped(line.text)}"|' if line.text else ""
    return f"n{line.source} {arrow}{text} n{line.target}"


def _escaped(text: str) -> str:
    return "".join([char if char.isalnum() or char in _PLAIN else f"#{_code(char)};" for char in text])


def _code(char: str) -> int:
    """The character's number; what no file may hold becomes the replacement character."""
    return 0xFFFD if "\ud800" <= char <= "\udfff" or char < " " else ord(char)
