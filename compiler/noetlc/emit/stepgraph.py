"""The step graph of a playbook as a picture sees it: what stands in a step's box and on an arc."""

from typing import NamedTuple

from noetlc.ast.graph import ENTRY
from noetlc.ast.playbook import Arc, Playbook, Step
from noetlc.ast.routing import takes_part_on_failure
from noetlc.ast.truth import done_facts, truth_of
from noetlc.ast.walk import loops_of

MAX_GUARD = 60
"""How many characters of a guard are shown."""


class Box(NamedTuple):
    """A step: its lines of text. `shape` is `entry`, `loop`, `step` or `end` (an undeclared `end`)."""

    lines: tuple[str, ...]
    shape: str


class Line(NamedTuple):
    """An arc between two boxes, by their positions; `dashed` for one that only a failure takes."""

    source: int
    target: int
    text: str
    dashed: bool


class Picture(NamedTuple):
    """Boxes in the order of the file, an undeclared `end` last, and the lines between them."""

    title: str
    boxes: tuple[Box, ...]
    lines: tuple[Line, ...]


def picture_of(playbook: Playbook) -> Picture:
    """The picture of a playbook; arcs to steps that do not exist, `end` aside, are left out."""
    numbers = {step.name: number for number, step in enumerate(playbook.steps)}
    entry = playbook.executor.entry_step or ENTRY
    boxes = [_box(step, entry) for step in playbook.steps]
    lines: list[Line] = []
    for number, step in enumerate(playbook.steps):
        for arc in step.router.arcs if step.router is not None else ():
            if arc.target not in numbers and arc.target == "end":
                numbers["end"] = len(boxes)
                boxes.append(Box(("end",), "end"))
            if arc.target in numbers:
                lines.append(Line(number, numbers[arc.target], _text(arc), _fails(step, arc)))
    return Picture(playbook.name, tuple(boxes), tuple(lines))


def _box(step: Step, entry: str) -> Box:
    lines = [step.name]
    kinds = [task.kind for task in step.tasks if not task.generated]
    if kinds:
        lines.append(" → ".join(kinds))
    for loop in loops_of(step):
        lines.append(f"{loop.mode} loop: {loop.iterator}")
    if step.spec.join != "any":
        lines.append(f"join: {step.spec.join}")
    if step.spec.admit is not None:
        lines.append("admit: waits" if step.spec.admit.waits else "admit")
    if step.router is not None and step.router.mode == "inclusive" and len(step.router.arcs) > 1:
        lines.append("inclusive fork")
    shape = "entry" if step.name == entry else "loop" if step.loop is not None else "step"
    return Box(tuple(lines), shape)


def _text(arc: Arc) -> str:
    parts = []
    if arc.when is not None:
        guard = " ".join(arc.when.text.split())
        parts.append(guard if len(guard) <= MAX_GUARD else f"{guard[: MAX_GUARD - 1]}…")
    if arc.delay is not None:
        parts.append("after a delay")
    return ", ".join(parts)


def _fails(step: Step, arc: Arc) -> bool:
    return takes_part_on_failure(arc) and truth_of(arc.when, done_facts(step)) is False
