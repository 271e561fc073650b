"""The markings of a whole net behind the states of the reduced one, without a replay of the run to each.

A marking is one integer (`packing`); what a reduced transition changes is one, too, so that a state costs one addition
to the marking of the state before. Whether it may be an end is asked of some bits.
"""

from collections.abc import Iterator

from noetl_ir.net import PlaceClass
from noetlc.analysis.origin import run_of
from noetlc.analysis.petri import Marking, effect_of
from noetlc.analysis.reachability import Graph
from noetlc.analysis.reductions import Reduced
from noetlc.analysis.skeleton import Skeleton

BITS = 24
"""Bits of a place, whole bytes."""


class Endings:
    """Which states of a graph may be ends of a run, and what is left in the others."""

    def __init__(self, skeleton: Skeleton, small: Reduced, graph: Graph) -> None:
        net, places = skeleton.net, skeleton.plan.net.places
        self._graph = graph
        self._small = small
        self._net = net
        self._markings = {0: sum(tokens << BITS * place for place, tokens in enumerate(net.initial) if tokens)}
        self._changes: dict[int, int] = {}
        field = (1 << BITS) - 1
        rows = [(number, place) for number, place in enumerate(places) if number not in skeleton.doomed]
        self._control = _mask([n for n, p in rows if p.kind is PlaceClass.CONTROL and p.role != "warm"])
        self._waves = [
            (_mask([n for n, p in rows if p.role == "idle" and p.step == step]), _mask(held))
            for step in {place.step for _, place in rows if place.role == "idle"}
            if (held := [n for n, p in rows if p.role == "held" and p.step == step])
        ]
        self._left = self._control | _mask([n for n, p in rows if p.role == "held"])
        self._hopeless = [tuple((BITS * place, weight) for place, weight in arcs) for _, arcs in skeleton.hopeless]
        self._field = field

    def is_end(self, state: int) -> bool:
        """Whether a run may end there, or has a token with no way left but into an unhandled failure."""
        marking = self._marking(state)
        if not marking & self._control and not any(marking & idle and marking & held for idle, held in self._waves):
            return True
        return self.gives_up(state)

    def gives_up(self, state: int) -> bool:
        """Whether a token has no way left but into an unhandled failure."""
        marking = self._marking(state)
        return any(all((marking >> shift & self._field) >= weight for shift, weight in arcs) for arcs in self._hopeless)

    def left(self, state: int) -> int:
        """The tokens that are left there, to be compared with what is left elsewhere."""
        return self._marking(state) & self._left

    def marking(self, state: int) -> Marking:
        """The marking of the whole net."""
        marking = self._marking(state)
        return tuple(marking >> BITS * place & self._field for place in range(len(self._net.places)))

    def _marking(self, state: int) -> int:
        way = list(self._unknown(state))
        graph = self._graph
        for here in reversed(way):
            parent = graph.parents[here]
            transition = graph.enabled[parent][graph.targets[parent].index(here)]
            if transition not in self._changes:
                # A reduced transition may stand for thousands. Its change is worked out once, and each state costs
                # one addition.
                self._changes[transition] = self._change(transition)
            self._markings[here] = self._markings[parent] + self._changes[transition]
        return self._markings[state]

    def _change(self, transition: int) -> int:
        """The change that a reduced transition makes, as the difference of two markings."""
        found: dict[int, int] = {}
        for each in run_of(self._small.origins[transition]):
            for place, count in effect_of(self._net, each).items():
                found[place] = found.get(place, 0) + count
        # Single fields may be negative, and the integer as well. Added to a marking that enables the run, it gives
        # the marking behind it, in which no field is.
        return sum(count << BITS * place for place, count in found.items())

    def _unknown(self, state: int) -> Iterator[int]:
        while state not in self._markings:
            yield state
            state = self._graph.parents[state]


def _mask(places: list[int]) -> int:
    """The fields of some places, all bits set."""
    size = BITS // 8
    found = bytearray(size * (max(places, default=-1) + 1))
    for place in places:
        found[size * place : size * (place + 1)] = b"\xff" * size
    return int.from_bytes(found, "little")


def depths_of(graph: Graph) -> list[int]:
    """How many transitions the way to each state has."""
    found = [0] * len(graph.parents)
    for state, parent in enumerate(graph.parents):
        if parent >= 0:
            found[state] = found[parent] + 1  # a state is always found after its parent
    return found
