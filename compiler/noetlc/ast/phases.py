"""The steps of each phase of a playbook: what its entry leads to (EXTENSIONS.md §1).

A declared `end` belongs to main: an arc of a later phase that leads there ends its token (`graph`).
"""

from noetl_ir.records import NamedTuple
from noetl_ir.words import COMPENSATION, MAIN
from noetlc.ast.graph import StepGraph, compensates, graph_of, later_of
from noetlc.ast.playbook import Playbook

PHASE_ARGS = {
    "on_failure": frozenset({"status", "error", "step"}),
    "finally": frozenset({"status", "error", "result"}),
    COMPENSATION: frozenset({"status", "result", "args", "iter", "index"}),
}
"""The args that the first token of a phase brings."""


class PhaseSteps(NamedTuple):
    """The steps of a phase, which begins at the step `entry`.

    `before` maps the position of each step to that of the step from which it was reached first, -1 for the entry.
    """

    phase: str
    entry: int
    before: dict[int, int]

    def way_to(self, step: int) -> tuple[int, ...]:
        """The shortest way from the beginning of the phase to a step of it."""
        way = [step]
        while (behind := self.before[way[-1]]) >= 0:
            way.append(behind)
        return tuple(reversed(way))


def parts_of(playbook: Playbook, graph: StepGraph) -> tuple[PhaseSteps, ...]:
    """The parts of all phases whose first steps exist, that of main first."""
    starts = [(MAIN, graph.entry)] if graph.entry >= 0 else []
    named = later_of(playbook)
    starts += [(phase.name, graph.positions[phase.step]) for phase in named if phase.step in graph.positions]
    return tuple([PhaseSteps(name, start, _led_to(graph, start)) for name, start in starts])


def _led_to(graph: StepGraph, start: int) -> dict[int, int]:
    before, waiting = {start: -1}, [start]
    for here in waiting:  # it grows: the nearest steps come first
        for after in graph.successors[here]:
            if after not in before:
                before[after] = here
                waiting.append(after)
    return before


def later_steps(playbook: Playbook) -> frozenset[str]:
    """The names of the steps behind main."""
    if not playbook.executor.phases and not compensates(playbook):
        return frozenset()
    parts = parts_of(playbook, graph_of(playbook))
    return frozenset(playbook.steps[at].name for part in parts if part.phase != MAIN for at in part.before)


def phase_of_steps(playbook: Playbook, graph: StepGraph) -> dict[int, str]:
    """The phase of each step that one leads to, main aside; empty where there is no other."""
    if not graph.later:
        return {}
    parts = parts_of(playbook, graph)
    return {at: part.phase for part in parts if part.phase != MAIN for at in part.before}
