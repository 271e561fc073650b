"""Can some places be marked together? The one question that most others come down to.

    (a) (b) …  →  [goal]  →  (@goal)         is (@goal) ever marked?

The net is reduced around the goal. The relation of `concurrency` may prove at once that it never is; else the markings
are searched, breadth first, for a shortest run.
"""

from typing import NamedTuple

from noetlc.analysis.concurrency import concurrency_of
from noetlc.analysis.petri import Arcs, Petri
from noetlc.analysis.reachability import Graph, explored, graph_of
from noetlc.analysis.reductions import Reduced, reduced

GOAL = "@goal"


class Reached(NamedTuple):
    """A run of the net after which all the places are marked."""

    run: tuple[int, ...]


class Never(NamedTuple):
    """No run does; `reason` says how that is known."""

    reason: str


class Open(NamedTuple):
    """The limit, in states, that was hit first."""

    states: int


def coverable(net: Petri, target: Arcs, limit: int) -> Reached | Never | Open:
    """Whether some reachable marking has the tokens of `target`."""
    goal, transition = len(net.places), len(net.transitions)
    asked = Petri(
        net.name,
        (*net.places, GOAL),
        (*net.transitions, GOAL),
        (*net.inputs, target),
        (*net.outputs, ((goal, 1),)),
        (*net.initial, 0),
    )
    small = reduced(asked, frozenset({goal}))
    place = small.place(goal)
    if place not in concurrency_of(small.net).marked:
        return Never("the arcs alone exclude it")
    graph = graph_of(small.net, limit)
    if graph.pump is not None:
        graph = explored(small.net, limit)
    run = _first(graph, small, place)
    if run is not None:
        return Reached(tuple(each for each in run if each != transition))
    return Never(f"none of all {len(graph.markings)} markings") if graph.complete else Open(limit)


def _first(graph: Graph, small: Reduced, place: int) -> tuple[int, ...] | None:
    field = ((1 << graph.code.bits[place]) - 1) << graph.code.shift[place]
    for state, marking in enumerate(graph.markings):
        if marking & field:
            return small.run(graph.path_to(state))
    return None
