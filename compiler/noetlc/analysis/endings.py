"""Which states of a reduced net may be ends of a run of the whole one: asked of some bits of the marking behind it."""

from noetl_ir.net import PlaceClass
from noetlc.analysis.petri import PetriMarking
from noetlc.analysis.reachability import Graph
from noetlc.analysis.reductions import Reduced
from noetlc.analysis.skeleton import Skeleton, over_place
from noetlc.analysis.whole_markings import WholeMarkings


class Endings:
    """Which states of a graph may be ends of a run, and what is left in the others."""

    def __init__(self, skeleton: Skeleton, small: Reduced, graph: Graph) -> None:
        self._skeleton = skeleton
        self._whole = WholeMarkings(skeleton.net, small, graph)
        self._lay_out()

    def _lay_out(self) -> None:
        """Lay the masks out for the width that fields have now."""
        skeleton, places, bits = self._skeleton, self._skeleton.plan.net.places, self._whole.bits
        self._bits, self._field = bits, (1 << bits) - 1
        rows = [(number, place) for number, place in enumerate(places) if number not in skeleton.doomed]

        def mask(numbers: list[int]) -> int:
            return _mask(numbers, bits)

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

    def marking(self, state: int) -> PetriMarking:
        """The marking of the whole net."""
        return self._whole.marking(state)

    def _marking(self, state: int) -> int:
        found = self._whole.packed(state)
        if self._whole.bits != self._bits:
            self._lay_out()
        return found


def _mask(places: list[int], bits: int) -> int:
    """The fields of some places, all bits set."""
    size = bits // 8
    found = bytearray(size * (max(places, default=-1) + 1))
    for place in places:
        found[size * place : size * (place + 1)] = b"\xff" * size
    return int.from_bytes(found, "little")
