"""The reachability graph of a net: every marking, every labelled edge, breadth first.

Fields grow on demand (`packing`): when a marking outgrows one, the search starts again with twice its bits. An
unbounded net outgrows every field. It is noticed at that moment, because the marking then lies above one on its own
way: what fired between the two can fire for ever.
"""

from noetl_ir.records import NamedTuple
from noetlc.analysis.packing import Packing, least_bits, packing_of
from noetlc.analysis.petri import Petri

ROOMY = 12
"""Bits of each field once a net is known to grow."""


class Pump(NamedTuple):
    """Why a net is unbounded: after `path`, `cycle` can fire for ever, and each time puts more into `places`."""

    path: tuple[int, ...]
    cycle: tuple[int, ...]
    places: tuple[int, ...]


class Graph(NamedTuple):
    """The markings that were reached. State 0 is the initial one; `enabled[s]` and `targets[s]` go together, edge
    by edge.

    `parents[s]` is the state from which s was first reached, -1 for the initial one. When `complete` is false a limit
    was hit or the net is unbounded, which `pump` then tells; the last states have no targets yet.
    """

    code: Packing
    markings: list[int]
    enabled: list[list[int]]
    targets: list[list[int]]
    parents: list[int]
    complete: bool
    pump: Pump | None

    def path_to(self, state: int) -> tuple[int, ...]:
        """The transitions of a shortest run to a state."""
        found: list[int] = []
        while state > 0:
            parent = self.parents[state]
            found.append(self.enabled[parent][self.targets[parent].index(state)])
            state = parent
        return tuple(reversed(found))


class _Outgrown(NamedTuple):
    """A sum that set a guard bit, and the edge that it came from."""

    sum_: int
    state: int
    transition: int


def graph_of(net: Petri, limit: int) -> Graph:
    """The graph, or the first `limit` states of it; a net that is seen to be unbounded is not followed further."""
    bits = least_bits(net)
    while True:
        graph, outgrown = _explored(packing_of(net, bits), limit)
        pump = None if outgrown is None else _pump(graph, outgrown)
        if outgrown is None or pump is not None:
            return graph._replace(pump=pump)
        _widen(bits, graph, outgrown)


def explored(net: Petri, limit: int) -> Graph:
    """The first `limit` states of a net, bounded or not."""
    bits = least_bits(net)
    while True:
        graph, outgrown = _explored(packing_of(net, bits), limit)
        if outgrown is None:
            return graph
        _widen(bits, graph, outgrown)
        # Each restart costs the whole search, so that all fields become roomy at once.
        bits = [max(each, ROOMY) for each in bits]  # more of them will grow


def _widen(bits: list[int], graph: Graph, outgrown: _Outgrown) -> None:
    for place in graph.code.outgrown(outgrown.sum_):
        bits[place] *= 2


def _explored(code: Packing, limit: int) -> tuple[Graph, _Outgrown | None]:
    """The graph, and what outgrew a field when the search ended for that."""
    _, _, _, guard, initial, delta, need, want, touching = code
    touched = [frozenset(numbers) for numbers in touching]
    index, markings, parents = {initial: 0}, [initial], [-1]
    enabled, targets = [code.enabled(initial)], list[list[int]]()
    get = index.get
    # Breadth first: the parent of a state lies on a shortest run to it, and stories are told along parents.
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
                    return graph, _Outgrown(after, here, transition)
                to = index[after] = len(markings)
                markings.append(after)
                parents.append(here)
                changed = touched[transition]
                # Only transitions whose inputs changed are asked again. The others are enabled as they were.
                following = [each for each in able if each not in changed]
                following += [each for each in touching[transition] if (after + need[each]) & want[each] == want[each]]
                enabled.append(following)
            row.append(to)
        if len(markings) > limit:
            return Graph(code, markings, enabled, targets, parents, False, None), None
    return Graph(code, markings, enabled, targets, parents, True, None), None


def _pump(graph: Graph, outgrown: _Outgrown) -> Pump | None:
    """The pump that a marking which outgrew a field shows: it lies above a marking on its own way."""
    code, (sum_, state, transition) = graph.code, outgrown
    after = list(code.marking(sum_))
    for place in code.outgrown(sum_):
        after[place] += 1 << code.bits[place]
    cycle = [transition]
    while state >= 0:
        before = code.marking(graph.markings[state])
        # A marking above one on its own way can repeat what led from there, since more tokens disable nothing (Karp
        # and Miller 1969). A bounded net has no such pair: its place gets a wider field.
        if all(low <= high for low, high in zip(before, after, strict=True)) and before != tuple(after):
            more = tuple(place for place, tokens in enumerate(before) if tokens < after[place])
            return Pump(graph.path_to(state), tuple(reversed(cycle)), more)
        parent = graph.parents[state]
        if parent >= 0:
            cycle.append(graph.enabled[parent][graph.targets[parent].index(state)])
        state = parent
    return None
