"""The markings of a whole net behind the states of the reduced one, without a replay of the run to each.

A marking is one integer (`packing`); what a reduced transition changes is one, too, so that a state costs one addition
to the marking of the state before. Whether it may be an end is asked of some bits.
"""

from collections.abc import Iterator, Mapping

from noetl_ir.net import PlaceClass
from noetlc.analysis.petri import Marking
from noetlc.analysis.reachability import Graph
from noetlc.analysis.reductions import Reduced
from noetlc.analysis.skeleton import Skeleton, over_place

BITS = 24
"""Bits of a place at first, whole bytes. They double where a place holds more, as forks without joins make it."""


class Endings:
    """Which states of a graph may be ends of a run, and what is left in the others."""

    def __init__(self, skeleton: Skeleton, small: Reduced, graph: Graph) -> None:
        self._graph = graph
        self._small = small
        self._skeleton = skeleton
        bits = BITS
        while max(skeleton.net.initial, default=0) >> bits - 1:
            bits *= 2
        self._lay_out(bits)

    def _lay_out(self, bits: int) -> None:
        """Begin with fields of so many bits, the highest of which is clear in every marking."""
        skeleton, places = self._skeleton, self._skeleton.plan.net.places
        self._bits, self._field = bits, (1 << bits) - 1
        rows = [(number, place) for number, place in enumerate(places) if number not in skeleton.doomed]

        def mask(numbers: list[int]) -> int:
            return _mask(numbers, bits)

        self._outgrown = _mask(list(range(len(skeleton.net.places))), bits, b"\0" * (bits // 8 - 1) + b"\x80")
        self._control = mask([n for n, p in rows if p.kind is PlaceClass.CONTROL and p.role != "warm"])
        self._waves = [
            (mask([n for n, p in rows if p.role == "idle" and p.step == step]), mask(held))
            for step in {place.step for _, place in rows if place.role == "idle"}
            if (held := [n for n, p in rows if p.role == "held" and p.step == step])
        ]
        self._left = self._control | mask([n for n, p in rows if p.role == "held"])
        plan = skeleton.plan
        self._over = mask([*([over_place(plan)] if plan.terminates else []), *(place for place, _ in skeleton.shut)])
        self._hopeless = [tuple((bits * place, weight) for place, weight in arcs) for _, arcs in skeleton.hopeless]
        self._markings = {0: self._packed(dict(enumerate(skeleton.net.initial)))}
        self._changes: dict[int, int] = {}

    def is_end(self, state: int) -> bool:
        """Whether a run may end there, or has a token with no way left but into an unhandled failure."""
        marking = self._marking(state)
        if marking & self._over:
            return True
        if not marking & self._control and not any(marking & idle and marking & held for idle, held in self._waves):
            return True
        return self.gives_up(state)

    def gives_up(self, state: int) -> bool:
        """Whether a token has no way left but into an unhandled failure."""
        marking = self._marking(state)
        return any(all((marking >> shift & self._field) >= weight for shift, weight in arcs) for arcs in self._hopeless)

    def left(self, state: int) -> int:
        """The tokens that are left there, to be compared with what is left in other states that were asked about."""
        return self._marking(state) & self._left

    def marking(self, state: int) -> Marking:
        """The marking of the whole net."""
        marking = self._marking(state)
        return tuple(marking >> self._bits * place & self._field for place in range(len(self._skeleton.net.places)))

    def _marking(self, state: int) -> int:
        while (found := self._followed(state)) is None:
            self._lay_out(2 * self._bits)
        return found

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
                change = self._small.change(self._skeleton.net, (transition,))
                if any(abs(count) >> self._bits - 1 for count in change.values()):
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
        return sum(count << self._bits * place for place, count in counts.items() if count)

    def _unknown(self, state: int) -> Iterator[int]:
        while state not in self._markings:
            yield state
            state = self._graph.parents[state]


def _mask(places: list[int], bits: int, value: bytes | None = None) -> int:
    """The fields of some places with a value, all bits set by default."""
    size = bits // 8
    found = bytearray(size * (max(places, default=-1) + 1))
    for place in places:
        found[size * place : size * (place + 1)] = value or b"\xff" * size
    return int.from_bytes(found, "little")


def depths_of(graph: Graph) -> list[int]:
    """How many transitions the way to each state has."""
    found = [0] * len(graph.parents)
    for state, parent in enumerate(graph.parents):
        if parent >= 0:
            found[state] = found[parent] + 1  # a state is always found after its parent
    return found
