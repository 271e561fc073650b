"""Can some places be marked together? The one question that most others come down to.

    (a) (b) …  →  [goal]  →  (@goal)         is (@goal) ever marked?

The net is reduced around the goal. The relation of `concurrency` may prove at once that it never is; else the markings
are searched, breadth first, for a shortest run.
"""

from noetl_ir.records import NamedTuple
from noetlc.analysis.concurrency import concurrency_of
from noetlc.analysis.effort import Budget, Effort
from noetlc.analysis.packing import is_too_large
from noetlc.analysis.petri import Petri, PetriArcs
from noetlc.analysis.reachability import Graph, explored, graph_of
from noetlc.analysis.reductions import Reduced, reduced

GOAL = "@goal"

REDUCING, REDUCING_ARCS = 30, 10
"""Units of work for each transition of a net that is reduced, or for each arc where it has many."""


class Reached(NamedTuple):
    """The places can be marked together. `path` is the run of the reduced net that shows it, `goal` the transition that
    was added to the net and is left out of `run`.
    """

    small: Reduced
    path: tuple[int, ...]
    goal: int

    @property
    def run(self) -> tuple[int, ...]:
        """The run of the net; raises TooLong. Worked out on demand, since most questions only ask whether
        there is one.
        """
        return tuple(each for each in self.small.run(self.path) if each != self.goal)


class Never(NamedTuple):
    """No run marks the places together; `reason` says how that is known."""

    reason: str


class Open(NamedTuple):
    """Unknown: the search hit its limit of so many states."""

    states: int


def coverable(net: Petri, target: PetriArcs, effort: Effort | int) -> Reached | Never | Open:
    """Whether some reachable marking has the tokens of `target`."""
    goal = _Goal(net, target)
    # A proof in polynomial time, before any marking is looked at.
    if goal.place not in concurrency_of(goal.small.net).marked:
        return Never("the arcs alone exclude it")
    return goal.searched(_account(effort, net))


def searched(net: Petri, target: PetriArcs, effort: Effort | int) -> Reached | Never | Open:
    """`coverable` without its proof from the arcs, for callers that know already that it excludes nothing."""
    return _Goal(net, target).searched(_account(effort, net))


def _account(effort: Effort | int, net: Petri) -> Effort:
    """The account of a search: a new one of `effort` states, or `effort` itself, which also pays for the reduction."""
    if isinstance(effort, int):
        return Effort(Budget(states=effort))
    arcs = sum([len(side) for side in (*net.inputs, *net.outputs)])
    effort.pay(max(REDUCING * len(net.transitions), REDUCING_ARCS * arcs))
    return effort


class _Goal:
    """The net with a transition that takes the tokens of a target and marks (@goal), reduced so that (@goal) stays."""

    def __init__(self, net: Petri, target: PetriArcs) -> None:
        goal = len(net.places)
        self._transition = len(net.transitions)
        asked = Petri(
            net.name,
            (*net.places, GOAL),
            (*net.transitions, GOAL),
            (*net.inputs, target),
            (*net.outputs, ((goal, 1),)),
            (*net.initial, 0),
        )
        # Only the goal stays: what is marked beside it does not matter, so that the net becomes as small as it can.
        self.small = reduced(asked, frozenset({goal}))
        self.place = self.small.place(goal)

    def searched(self, effort: Effort) -> Reached | Never | Open:
        """Look for a marking with a token in (@goal), breadth first."""
        limit = effort.states(self.small.net)
        if is_too_large(self.small.net):
            return Open(0)
        graph = graph_of(self.small.net, limit)
        effort.spend(self.small.net, len(graph.markings))
        # A net that grows was not followed past its first pump, which is no answer to this question. The goal is
        # looked for among its first states all the same.
        if graph.pump is not None:
            graph = explored(self.small.net, limit)
        path = _first(graph, self.place)
        if path is not None:
            return Reached(self.small, path, self._transition)
        return Never(f"none of all {len(graph.markings)} markings") if graph.complete else Open(limit)


def _first(graph: Graph, place: int) -> tuple[int, ...] | None:
    field = ((1 << graph.code.bits[place]) - 1) << graph.code.shift[place]
    for state, marking in enumerate(graph.markings):
        if marking & field:
            return graph.path_to(state)
    return None
