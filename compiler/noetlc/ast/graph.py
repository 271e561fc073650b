"""The steps of a playbook as a graph: who leads where. All walks are iterative and linear in steps and
arcs.
"""

from collections.abc import Iterable

from noetl_ir.records import NamedTuple
from noetlc.ast.playbook import Phase, Playbook, Step
from noetlc.ast.truth import done_facts, truth_of

END = "end"
"""A terminal by convention: routing to it, undeclared, ends the token (LANGUAGE §1)."""

ENTRY = "start"
"""The entry where the executor names none."""


class StepGraph(NamedTuple):
    """Steps by their position in the file.

    `successors` and `sources` hold distinct positions in file order; `entry` is -1 where there is none. Of
    steps of one name the first stands for all. `later` are the steps that phases behind main begin at.
    """

    positions: dict[str, int]
    successors: tuple[tuple[int, ...], ...]
    sources: tuple[tuple[int, ...], ...]
    entry: int
    later: tuple[int, ...] = ()

    @property
    def entries(self) -> tuple[int, ...]:
        """The steps that an entry token comes to: that of main, where there is one, and those of later phases."""
        return (self.entry, *self.later) if self.entry >= 0 else self.later


def compensates(playbook: Playbook) -> bool:
    """Whether runs of any step are compensated."""
    return any(step.spec.compensate is not None for step in playbook.steps)


def later_of(playbook: Playbook) -> tuple[Phase, ...]:
    """The regions behind main: one for each step that undoes runs, named first where it is, then the phases."""
    undoing: dict[str, Phase] = {}
    for step in playbook.steps:
        how = step.spec.compensate
        if how is not None:
            undoing.setdefault(how.step, Phase("compensation", how.step, how.span))
    return (*undoing.values(), *playbook.executor.phases)


def graph_of(playbook: Playbook) -> StepGraph:
    """The graph of the playbook's arcs; an arc to a step that does not exist is left out."""
    positions: dict[str, int] = {}
    for position, step in enumerate(playbook.steps):
        # The first of two steps of one name: the other is reported, and what leads there must lead somewhere.
        positions.setdefault(step.name, position)
    successors: list[tuple[int, ...]] = []
    sources: list[dict[int, None]] = [{} for _ in playbook.steps]
    for position, step in enumerate(playbook.steps):
        # Mappings as ordered sets: an order by hash would make plans and findings differ from run to run.
        found: dict[int, None] = {}
        for arc in step.router.arcs if step.router is not None else ():
            target = positions.get(arc.target)
            if target is not None:
                found[target] = None
                sources[target][position] = None
        successors.append(tuple(found))
    entry = positions.get(playbook.executor.entry_step or ENTRY, -1)
    named = [positions[phase.step] for phase in later_of(playbook) if phase.step in positions]
    later = tuple([at for at in dict.fromkeys(named) if at != entry])
    if later and END in positions:
        _shut_end(successors, sources, later, positions[END])
    return StepGraph(positions, tuple(successors), tuple(tuple(found) for found in sources), entry, later)


def _shut_end(
    successors: list[tuple[int, ...]], sources: list[dict[int, None]], later: tuple[int, ...], end: int
) -> None:
    """Take out the ways from later phases to a declared `end`: it belongs to main, and they end their tokens."""
    for at in reached(tuple([() if at == end else each for at, each in enumerate(successors)]), later):
        successors[at] = tuple([each for each in successors[at] if each != end])
        sources[end].pop(at, None)


def has_unknown_target(playbook: Playbook) -> bool:
    """Whether an arc, a later phase or a compensation leads to a step that does not exist, so that nothing certain can
    be said about ways.
    """
    names = {END, *(step.name for step in playbook.steps)}
    routers = [step.router for step in playbook.steps if step.router is not None]
    named = [arc.target for router in routers for arc in router.arcs]
    return not names.issuperset([*named, *(phase.step for phase in later_of(playbook))])


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


def trapped_steps(playbook: Playbook, graph: StepGraph) -> set[int]:
    """The steps that an entry leads to, also of a later phase, and from which no step leads to an end, joins aside."""
    ends = [at for at, step in enumerate(playbook.steps) if _may_end(step, at, graph)]
    # Two walks, forwards and backwards, instead of one for each step.
    return reached(graph.successors, graph.entries) - reached(graph.sources, ends)


def _may_end(step: Step, at: int, graph: StepGraph) -> bool:
    """Whether a token may end here after a success: no arcs, an arc out, or no arc that surely fires."""
    if step.spec.terminate:
        return True
    arcs = step.router.arcs if step.router is not None else ()
    # An arc to `end` is a way out, and one to an unknown step has its own finding.
    if any(graph.positions.get(arc.target) not in graph.successors[at] for arc in arcs):
        return True
    return not any(truth_of(arc.when, done_facts(step)) is True for arc in arcs)


def holds_one_token(playbook: Playbook) -> bool:
    """Whether no router can fork and no join waits, so that there is never more than one token."""
    for step in playbook.steps:
        forks = step.router is not None and step.router.mode == "inclusive" and len(step.router.arcs) > 1
        if forks or step.spec.join != "any":
            return False
    return True
