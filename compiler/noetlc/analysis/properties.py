"""The properties that a finished reachability graph gives about its net: bounds, deadlocks, liveness, places that
never change.

Terms are those of the Model Checking Contest: a net is quasi-live when every transition can fire, live when each can
always fire again, and has a stable marking when some place never changes.
"""

from itertools import pairwise

from noetl_ir.records import NamedTuple
from noetlc.analysis.petri import Petri, effect_of
from noetlc.analysis.reachability import Graph
from noetlc.ast.components import terminal_components


class Properties(NamedTuple):
    """The answers. `edges` counts labelled edges, loops included; `deadlock` is the first dead state, -1 without one.

    `bounds` are the most tokens of each place; `dead` the transitions that never fire.
    """

    states: int
    edges: int
    bounds: tuple[int, ...]
    max_token_per_marking: int
    deadlock: int
    dead: tuple[int, ...]
    live: bool
    stable: tuple[int, ...]

    @property
    def max_token_in_place(self) -> int:
        """The most tokens that any place holds."""
        return max(self.bounds, default=0)


def properties_of(graph: Graph) -> Properties:
    """The properties of a net whose graph is complete."""
    assert graph.complete
    fired: set[int] = set()
    for row in graph.enabled:
        fired.update(row)
    count = len(graph.code.net.transitions)
    return Properties(
        states=len(graph.markings),
        edges=sum(map(len, graph.targets)),
        bounds=bounds_of(graph),
        max_token_per_marking=_most_tokens(graph),
        deadlock=next((state for state, row in enumerate(graph.enabled) if not row), -1),
        dead=tuple(number for number in range(count) if number not in fired),
        live=_is_live(graph, count),
        stable=_stable(graph),
    )


def bounds_of(graph: Graph) -> tuple[int, ...]:
    """The most tokens that each place held."""
    code, markings = graph.code, graph.markings
    ever = 0
    for marking in markings:
        ever |= marking
    bounds = []
    for bits, shift in zip(code.bits, code.shift, strict=True):
        mask = (1 << bits) - 1
        seen = ever >> shift & mask
        if seen & (seen - 1):  # several bits: their sum need not be a marking
            seen = max(marking >> shift & mask for marking in markings)
        bounds.append(seen)
    return tuple(bounds)


def _most_tokens(graph: Graph) -> int:
    # The sum of all fields, one bit of each at a time: as many counts of set bits as the widest field has, not one
    # look at each place.
    planes: list[tuple[int, int]] = []
    for weight in range(max(graph.code.bits, default=0)):
        mask = sum(
            1 << (at + weight) for at, bits in zip(graph.code.shift, graph.code.bits, strict=True) if weight < bits
        )
        planes.append((weight, mask))
    return max(sum((marking & mask).bit_count() << weight for weight, mask in planes) for marking in graph.markings)


def _is_live(graph: Graph, transitions: int) -> bool:
    # Every run can be led into a terminal component and not out again. A transition can always fire again exactly
    # when it fires in each of them.
    for members in terminal_components(graph.targets):
        fired: set[int] = set()
        for state in members:
            fired.update(graph.enabled[state])
        if len(fired) < transitions:
            return False
    return True


def _stable(graph: Graph) -> tuple[int, ...]:
    changed = 0
    for marking in graph.markings:
        # A bit that differs from the first marking anywhere says that its place changed.
        changed |= marking ^ graph.markings[0]
    code = graph.code
    fields = zip(code.bits, code.shift, strict=True)
    return tuple(place for place, (bits, at) in enumerate(fields) if not changed >> at & ((1 << bits) - 1))


class Structure(NamedTuple):
    """The properties that the arcs alone give, in the terms of the Model Checking Contest."""

    ordinary: bool
    simple_free_choice: bool
    extended_free_choice: bool
    asymmetric_choice: bool
    state_machine: bool
    marked_graph: bool
    connected: bool
    strongly_connected: bool
    acyclic: bool
    source_place: bool
    sink_place: bool
    source_transition: bool
    sink_transition: bool
    loop_free: bool
    conservative: bool
    subconservative: bool


def structure_of(net: Petri) -> Structure:
    """The structure of a net."""
    inputs = [frozenset(place for place, _ in arcs) for arcs in net.inputs]
    outputs = [frozenset(place for place, _ in arcs) for arcs in net.outputs]
    taken, made = _counted(len(net.places), inputs), _counted(len(net.places), outputs)
    ordinary = all(weight == 1 for arcs in (*net.inputs, *net.outputs) for _, weight in arcs)
    change = [sum(effect_of(net, number).values()) for number in range(len(net.transitions))]
    parts = _parts(net, inputs, outputs)
    return Structure(
        ordinary=ordinary,
        simple_free_choice=ordinary and all(taken[p] <= 1 or len(side) == 1 for side in inputs for p in side),
        extended_free_choice=ordinary and _extended(inputs),
        asymmetric_choice=ordinary and _asymmetric(len(net.places), inputs),
        state_machine=ordinary and all(len(a) == 1 == len(b) for a, b in zip(inputs, outputs, strict=True)),
        marked_graph=ordinary and all(count == 1 for count in (*taken, *made)),
        connected=_pieces(net, inputs, outputs) == 1,
        strongly_connected=parts == 1,
        acyclic=parts == len(net.places) + len(net.transitions),
        source_place=not all(made),
        sink_place=not all(taken),
        source_transition=not all(inputs),
        sink_transition=not all(outputs),
        loop_free=not any(a & b for a, b in zip(inputs, outputs, strict=True)),
        conservative=not any(change),
        subconservative=max(change, default=0) <= 0,
    )


def _counted(count: int, sides: list[frozenset[int]]) -> list[int]:
    found = [0] * count
    for side in sides:
        for place in side:
            found[place] += 1
    return found


def _extended(inputs: list[frozenset[int]]) -> bool:
    """Whether transitions that share an input share all."""
    first: dict[int, frozenset[int]] = {}
    return all(first.setdefault(place, side) == side for side in inputs for place in side)


def _asymmetric(count: int, inputs: list[frozenset[int]]) -> bool:
    """Whether of two places with a common taker one has all the takers of the other."""
    takers: list[set[int]] = [set() for _ in range(count)]
    for number, side in enumerate(inputs):
        for place in side:
            takers[place].add(number)
    for side in inputs:
        # Of sets that contain each other the smaller come first, so that only neighbours have to be compared.
        ordered = sorted(side, key=lambda place: len(takers[place]))
        if not all(takers[one] <= takers[other] for one, other in pairwise(ordered)):
            return False
    return True


def _pieces(net: Petri, inputs: list[frozenset[int]], outputs: list[frozenset[int]]) -> int:
    leader = list(range(len(net.places) + len(net.transitions)))

    def head(node: int) -> int:
        while leader[node] != node:
            # Halving the path (Tarjan) keeps chains short without recursion.
            leader[node] = leader[leader[node]]
            node = leader[node]
        return node

    for number, sides in enumerate(zip(inputs, outputs, strict=True)):
        for place in sides[0] | sides[1]:
            leader[head(place)] = head(len(net.places) + number)
    return sum(head(node) == node for node in range(len(leader)))


def _parts(net: Petri, inputs: list[frozenset[int]], outputs: list[frozenset[int]]) -> int:
    """How many strongly connected components the graph of the net has."""
    from noetlc.ast.components import components_of

    after: list[list[int]] = [[] for _ in net.places]
    for number, side in enumerate(inputs):
        for place in side:
            after[place].append(len(net.places) + number)
    return sum(1 for _ in components_of([*after, *(sorted(side) for side in outputs)]))
