"""The ways between the tasks of a step, as the author sees them.

`choose`, `while`, `until` and older constructs are lowered to tasks that only decide and jump. A picture leaves such
tasks out where they tell a reader nothing, and joins the ways into them with the ways out.

    begin → __pick →|cheap| cheap → __merge → after        begin →|cheap| cheap → after
                   →|else|  dear  → __merge           ⇒    begin →|unless cheap| dear → after

A generated task stays as a box where several ways lead to it and several leave it, since joining them would draw their
product, and where the step begins at it and it decides something.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from noetl_ir.records import NamedTuple
from noetl_ir.span import Span
from noetlc.emit.pictures.metrics import clipped
from noetlc.emit.pictures.picture import ArrowKind, Box, Edge, Picture, Shape

MAX_WAY = 60
ELSE = "else"


class TaskWay(NamedTuple):
    """A way out of a task, to another by its position, or out of the step (-1).

    `fires` names the transitions of the net by which it is taken, without the outcome before it and a ` later` behind
    it: `start begin continue`, `start pick jump cheap`. `is_jump` says that the author wrote a jump.
    """

    to: int
    fires: str
    text: str = ""
    is_jump: bool = False
    span: Span | None = None


class Decision(NamedTuple):
    """A rule of a task: its directive, the task that a jump leads to, its guard as it is shown."""

    directive: str
    to: str | None
    text: str
    span: Span | None


class Drawn(NamedTuple):
    """A task: its box, which of it is made by lowering, and its ways, in the order in which they are tried."""

    node: Box
    is_generated: bool
    ways: tuple[TaskWay, ...]


def ways_of(
    step: str,
    task: str,
    rules: Sequence[Decision],
    numbers: Mapping[str, int],
    *,
    is_generated: bool,
    goes_on: bool,
) -> tuple[TaskWay, ...]:
    """The ways out of a task, in the order in which they are tried. `numbers` are the positions of the step's tasks;
    `goes_on` says that some outcome goes on to the next one.
    """
    found: list[TaskWay] = []
    following = numbers[task] + 1 if numbers[task] + 1 < len(numbers) else -1
    for rule in rules:
        if rule.to is not None and rule.directive == "jump" and rule.to in numbers:
            fires = f"{step} {task} jump {rule.to}"
            found.append(TaskWay(numbers[rule.to], fires, rule.text, not is_generated, rule.span))
        # What the author's own rules let go on, or end, is said in the box.
        elif rule.directive == "continue" and is_generated:
            found.append(TaskWay(following, f"{step} {task} continue", rule.text, span=rule.span))
        elif rule.directive == "break" and is_generated:
            found.append(TaskWay(-1, f"{step} {task} break", rule.text, span=rule.span))
    if goes_on and not (is_generated and any(rule.directive == "continue" for rule in rules)):
        found.append(TaskWay(following, f"{step} {task} continue", ELSE if is_generated and rules else ""))
    return tuple(found)


def flow_of(step: str, tasks: Sequence[Drawn]) -> Picture:
    """The tasks of a step and the ways between them; those that leave the step are none of the picture."""
    ways = [list(_unless(task.ways)) for task in tasks]
    into: list[list[int]] = [[] for _ in tasks]
    for number, own in enumerate(ways):
        for way in own:
            if way.to >= 0:
                into[way.to].append(number)
    first = 0
    gone: set[int] = set()
    for number, task in enumerate(tasks):
        own = ways[number]
        begins = number == first
        # One that leads to itself is a loop: joined with itself it would never be gone.
        if not task.is_generated or number in into[number] or not own:
            continue
        # Without a way in, what it decides could be written nowhere.
        if begins and (len(own) > 1 or own[0].text):
            continue
        # Two ways in and two out would be four arrows, and the next such task would double them again.
        if len(own) > 1 and len(into[number]) > 1:
            continue
        if begins:
            first = own[0].to
        _joined(number, ways, into)
        gone.add(number)
    return _picture(step, tasks, ways, gone)


def decider(id: str, name: str, span: Span | None) -> Box:
    """The box of a task that lowering made, where it stays: by the name of what it was made of."""
    return Box(id, Shape.TASK, name.strip("_").partition("__")[0], ("decides",), span)


def _unless(ways: Sequence[TaskWay]) -> Iterator[TaskWay]:
    """The ways. `else` is left out where nothing else leads anywhere, and said by the one guard that it is the opposite
    of where there is just one."""
    guards = {way.text for way in ways if way.text and way.text != ELSE}
    for way in ways:
        if way.text == ELSE and len(guards) < 2:
            way = way._replace(text="".join(clipped(f"unless {guard}", MAX_WAY) for guard in guards))
        yield way


def _joined(number: int, ways: list[list[TaskWay]], into: list[list[int]]) -> None:
    """Remove a task from the ways: each way to it is joined with each way out of it."""
    outs = ways[number]
    # A source with several ways here is gone through once, with all of them.
    for source in dict.fromkeys(into[number]):
        through: list[TaskWay] = []
        for way in ways[source]:
            if way.to != number:
                through.append(way)
                continue
            for out in outs:
                # Coverage counts one transition for a joined way: the one at which the ways part.
                fires = out.fires if len(outs) > 1 else way.fires
                text = clipped(", ".join(filter(None, (way.text, out.text))), MAX_WAY)
                through.append(TaskWay(out.to, fires, text, way.is_jump or out.is_jump, out.span or way.span))
                if out.to >= 0:
                    into[out.to].append(source)
        ways[source] = through
    for out in outs:
        if out.to >= 0:
            into[out.to] = [source for source in into[out.to] if source != number]
    ways[number], into[number] = [], []


def _picture(step: str, tasks: Sequence[Drawn], ways: list[list[TaskWay]], gone: set[int]) -> Picture:
    left = [number for number in range(len(tasks)) if number not in gone]
    at = {number: position for position, number in enumerate(left)}
    edges = []
    for number in left:
        # Ways that end at one box are one arrow, or the same line would be drawn several times.
        arrows: dict[int, list[TaskWay]] = {}
        for way in ways[number]:
            if way.to >= 0:
                arrows.setdefault(way.to, []).append(way)
        for to, same in arrows.items():
            text = "" if any(not way.text for way in same) else " or ".join(dict.fromkeys(way.text for way in same))
            kind = ArrowKind.JUMP if all(way.is_jump for way in same) else ArrowKind.OK
            id = way_id(dict.fromkeys(way.fires for way in same))
            edges.append(Edge(id, at[number], at[to], kind, clipped(text, MAX_WAY), same[0].span))
    return Picture(step, "tasks", tuple(tasks[number].node for number in left), tuple(edges))


def way_id(fires: Iterable[str]) -> str:
    """The id of the arrow for ways that end at one box."""
    return f"way {' + '.join(fires)}"


def fires_in(id: str) -> list[str]:
    """The transitions that take the way of an arrow (`TaskWay.fires`), from the arrow's id; none for other arrows."""
    head, _, fires = id.partition(" ")
    return fires.split(" + ") if head == "way" else []


def fires_of(transition: str) -> str:
    """A transition as `TaskWay.fires` has it: `ok start pick jump dear later` is `start pick jump dear`."""
    return transition.partition(" ")[2].removesuffix(" later")
