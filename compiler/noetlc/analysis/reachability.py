"""The reachability graph of a net: every marking, every labelled edge, breadth first.

Fields grow on demand (`packing`): when a marking outgrows one, the search starts again with twice its bits. An unbounded
net outgrows every field. It is noticed at that moment, because the marking then lies above one on its own way: what
fired between the two can fire for ever.
"""

from typing import NamedTuple

from noetlc.analysis.packing import Packing, least_bits, packing_of
from noetlc.analysis.petri import Petri

MAX_BITS = 48
"""The largest field: more tokens than this search could ever put into a place one by one."""


class Graph(NamedTuple):
    """What was reached. State 0 is the initial one; `enabled[s]` and `targets[s]` go together, edge by edge.

    `parents[s]` is the state from which s was first reached, -1 for the initial one. When `complete` is false a limit was
    hit, and the last states have no edges yet. `pump` tells that the net is unbounded: (path, cycle) as transitions.
    """

    code: Packing
    markings: list[int]
    enabled: list[list[int]]
    targets: list[list[int]]
    parents: list[int]
    complete: bool
    pump: "Pump | None"

    def path_to(self, state: int) -> tuple[int, ...]:
        """The transitions of a shortest run to a state."""
        found: list[int] = []
        while state > 0:
            parent = self.parents[state]
            found.append(self.enabled[parent][self.targets[parent].index(state)])
            state = parent
        return tuple(reversed(found))


class Pump(NamedTuple):
    """Why a net is unbounded: after `path`, `cycle` can fire for ever, and each time puts more into `places`."""

    path: tuple[int, ...]
    cycle: tuple[int, ...]
    places: tuple[int, ...]


def graph_of(net: Petri, limit: int) -> Graph:
    """The reachability graph, or the first `limit` states of it."""
    bits = least_bits(net)
    while True:
        graph, sum_ = _explored(packing_of(net, bits), limit)
        if sum_ is None or graph.pump is not None:
            return graph
        for place in graph.code.outgrown(sum_):
            bits[place] = min(2 * bits[place], MAX_BITS)


def _explored(code: Packing, limit: int) -> tuple[Graph, int | None]:
    """The graph; and the sum that outgrew a field, where the search ended for that."""
    _, _, _, guard, initial, delta, need, want, touching = code
    touched = [frozenset(numbers) for numbers in touching]
    index, markings, parents = {initial: 0}, [initial], [-1]
    enabled, targets = [code.enabled(initial)], list[list[int]]()
    get = index.get
    for here, marking in enumerate(markings):  # grows while it is walked
        able = enabled[here]
        row: list[int] = []
        targets.append(row)
        for transition in able:
            after = marking + delta[transition]
            to = get(after)
            if to is None:
                if after & guard:
                    graph = Graph(code, markings, enabled, targets, parents, False, None)
                    return graph._replace(pump=_pump(graph, here, transition, after)), after
                to = index[after] = len(markings)
                markings.append(after)
                parents.append(here)
                changed = touched[transition]
                following = [each for each in able if each not in changed]
                following += [each for each in touching[transition] if (after + need[each]) & want[each] == want[each]]
                enabled.append(following)
            row.append(to)
        if len(markings) > limit:
            return Graph(code, markings, enabled, targets, parents, False, None), None
    return Graph(code, markings, enabled, targets, parents, True, None), None


def _pump(graph: Graph, here: int, transition: int, sum_: int) -> Pump | None:
    """The pump that a marking which outgrew a field shows: it lies above a marking on its own way."""
    code = graph.code
    outgrown = code.outgrown(sum_)
    after = list(code.marking(sum_))
    for place in outgrown:
        after[place] += 1 << code.bits[place]
    state, cycle = here, [transition]
    while state >= 0:
        before = code.marking(graph.markings[state])
        if all(low <= high for low, high in zip(before, after, strict=True)) and before != tuple(after):
            more = tuple(place for place, tokens in enumerate(before) if tokens < after[place])
            return Pump(graph.path_to(state), tuple(reversed(cycle)), more)
        parent = graph.parents[state]
        if parent >= 0:
            cycle.append(graph.enabled[parent][graph.targets[parent].index(state)])
        state = parent
    return None
