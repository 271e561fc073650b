"""The markings of a whole net behind the states of a graph of the reduced one, without a replay of the run to each.

A marking is one integer with a field for each place; what a reduced transition changes is one, too, so that a state
costs one addition to the marking of the state before. The runs to all states are quadratic: where tokens pile up, the
graph is thousands of firings deep.
"""

from collections.abc import Iterator, Mapping

from noetlc.analysis.petri import Petri, PetriMarking
from noetlc.analysis.reachability import Graph
from noetlc.analysis.reductions import Reduced

BITS = 24
"""Bits of a place at first, whole bytes. They double where a place holds more, as forks without joins make it."""


class WholeMarkings:
    """The markings of `net` behind the states of `graph`, the graph of `small`.

    `bits` is the width of a field; it doubles when a marking needs more, and every integer that was given before is
    then of another layout. The highest bit of a field is clear in every marking.
    """

    def __init__(self, net: Petri, small: Reduced, graph: Graph) -> None:
        self._net = net
        self._small = small
        self._graph = graph
        bits = BITS
        while max(net.initial, default=0) >> bits - 1:
            bits *= 2
        self._lay_out(bits)

    def _lay_out(self, bits: int) -> None:
        self.bits = bits
        size = bits // 8
        self._outgrown = int.from_bytes((b"\0" * (size - 1) + b"\x80") * len(self._net.places), "little")
        self._markings = {0: self._packed(dict(enumerate(self._net.initial)))}
        self._changes: dict[int, int] = {}

    def packed(self, state: int) -> int:
        """The marking behind a state, `bits` for each place, the first lowest."""
        while (found := self._followed(state)) is None:
            self._lay_out(2 * self.bits)
        return found

    def marking(self, state: int) -> PetriMarking:
        """The marking behind a state."""
        packed, count = self.packed(state), len(self._net.places)
        size = self.bits // 8
        # As bytes: a shift for each place would be quadratic in the net.
        row = packed.to_bytes(size * count, "little")
        return tuple(int.from_bytes(row[at : at + size], "little") for at in range(0, size * count, size))

    def _followed(self, state: int) -> int | None:
        """The marking, None where a place holds more than its field."""
        way = list(self._unknown(state))
        graph = self._graph
        for here in reversed(way):
            parent = graph.parents[here]
            transition = graph.enabled[parent][graph.targets[parent].index(here)]
            if transition not in self._changes:
                # A reduced transition may stand for thousands. Its change is worked out once, and each state costs
                # one addition.
                change = self._small.change(self._net, (transition,))
                if any(abs(count) >> self.bits - 1 for count in change.values()):
                    return None
                self._changes[transition] = self._packed(change)
            marking = self._markings[parent] + self._changes[transition]
            # Two numbers below the highest bit of a field never carry into the next one.
            if marking & self._outgrown:
                return None
            self._markings[here] = marking
        return self._markings[state]

    def _packed(self, counts: Mapping[int, int]) -> int:
        """The tokens of places, or what a transition changes.

        Single fields of a change may be negative, and the integer as well. Added to a marking that enables the run,
        it gives the marking behind it, in which no field is.
        """
        return sum(count << self.bits * place for place, count in counts.items() if count)

    def _unknown(self, state: int) -> Iterator[int]:
        while state not in self._markings:
            yield state
            state = self._graph.parents[state]


def depths_of(graph: Graph) -> list[int]:
    """How many transitions the way to each state has."""
    found = [0] * len(graph.parents)
    for state, parent in enumerate(graph.parents):
        if parent >= 0:
            found[state] = found[parent] + 1  # a state is always found after its parent
    return found
