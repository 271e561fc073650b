"""The steps of a playbook as a graph: who leads where. All walks are iterative and linear in steps and
arcs.
"""

from collections.abc import Iterable
from typing import NamedTuple

from noetlc.ast.playbook import Playbook

END = "end"
"""A terminal by convention: routing to it, undeclared, ends the token (LANGUAGE §1)."""

ENTRY = "start"
"""The entry where the executor names none."""


class StepGraph(NamedTuple):
    """Steps by their position in the file.

    `successors` and `sources` hold distinct positions in file order; `entry` is -1 where there is none. Of
    steps of one name the first stands for all.
    """

    positions: dict[str, int]
    successors: tuple[tuple[int, ...], ...]
    sources: tuple[tuple[int, ...], ...]
    entry: int


def graph_of(playbook: Playbook) -> StepGraph:
    """The graph of the playbook's arcs; an arc to a step that does not exist is left out."""
    positions: dict[str, int] = {}
    for position, step in enumerate(playbook.steps):
        positions.setdefault(step.name, position)
    successors: list[tuple[int, ...]] = []
    sources: list[dict[int, None]] = [{} for _ in playbook.steps]
    for position, step in enumerate(playbook.steps):
        found: dict[int, None] = {}
        for arc in step.router.arcs if step.router is not None else ():
            target = positions.get(arc.target)
            if target is not None:
                found[target] = None
                sources[target][position] = None
        successors.append(tuple(found))
    entry = positions.get(playbook.executor.entry_step or ENTRY, -1)
    return StepGraph(positions, tuple(successors), tuple(tuple(found) for found in sources), entry)


def has_unknown_target(playbook: Playbook) -> bool:
    """Whether an arc leads to a step that does not exist, so that nothing certain can be said about ways."""
    names = {END, *(step.name for step in playbook.steps)}
    routers = [step.router for step in playbook.steps if step.router is not None]
    return any(arc.target not in names for router in routers for arc in router.arcs)


def reached(edges: tuple[tuple[int, ...], ...], start: Iterable[int]) -> set[int]:
    """Everything that `edges` lead to from `start`, `start` included."""
    found = set(start)
    waiting = list(found)
    while waiting:
        for after in edges[waiting.pop()]:
            if after not in found:
                found.add(after)
                waiting.append(after)
    return found
