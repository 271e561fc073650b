"""Which places may be marked at once, from the arcs alone (Kovalyov 1992): a fixed point over pairs of places.

More pairs than can really be marked together, never fewer: what is not in the relation is proved, in polynomial time
and whatever the number of markings. For free-choice nets that are live and bounded it is exact.
"""

from noetl_ir.rows import NamedTuple
from noetlc.analysis.petri import Petri, consumers_of


class Concurrency(NamedTuple):
    """`rows[p]` has the bit of each place that may be marked together with p; its own for a second token."""

    rows: tuple[int, ...]
    marked: frozenset[int]

    def together(self, one: int, other: int) -> bool:
        """Whether both may hold a token at once; of one place: whether it may hold two."""
        return bool(self.rows[one] >> other & 1)

    def allows(self, net: Petri, transition: int) -> bool:
        """Whether the inputs of a transition may be marked at once."""
        places = [place for place, _ in net.inputs[transition]]
        return self.marked.issuperset(places) and all(
            one == other or self.together(one, other) for one in places for other in places
        )

    @property
    def is_safe(self) -> bool:
        """Whether no place can hold two tokens: a proof when true."""
        return not any(row >> place & 1 for place, row in enumerate(self.rows))


def concurrency_of(net: Petri) -> Concurrency:
    """The relation."""
    return _Fixpoint(net).found()


class _Fixpoint:
    def __init__(self, net: Petri) -> None:
        self._net = net
        self._rows = [0] * len(net.places)
        self._marked = bytearray(len(net.places))
        self._takers = consumers_of(net)
        self._waiting: dict[int, None] = dict.fromkeys(number for number, arcs in enumerate(net.inputs) if not arcs)
        self._done = [-1] * len(net.transitions)  # what a transition was last fired beside, -1: never
        self._mark(tuple((place, tokens) for place, tokens in enumerate(net.initial) if tokens), 0)

    def found(self) -> Concurrency:
        while self._waiting:
            transition, _ = self._waiting.popitem()
            beside = self._beside(transition)
            done = self._done[transition]
            if beside >= 0 and (done < 0 or beside & ~done):
                self._done[transition] = beside
                self._mark(self._net.outputs[transition], beside & ~max(done, 0))
        marked = frozenset(place for place, there in enumerate(self._marked) if there)
        return Concurrency(tuple(self._rows), marked)

    def _beside(self, transition: int) -> int:
        """The places that may be marked together with all inputs, -1 when these cannot be marked together."""
        arcs = self._net.inputs[transition]
        beside = (1 << len(self._rows)) - 1
        for place, weight in arcs:
            if not self._marked[place] or (weight > 1 and not self._rows[place] >> place & 1):
                return -1
            row = self._rows[place]
            if any(other != place and not row >> other & 1 for other, _ in arcs):
                return -1
            beside &= row
        if not arcs:
            beside = sum(1 << place for place, there in enumerate(self._marked) if there)
        return beside

    def _mark(self, arcs: tuple[tuple[int, int], ...], beside: int) -> None:
        made = sum(1 << place for place, _ in arcs)
        for place, weight in arcs:
            own = made | beside if weight > 1 or beside >> place & 1 else (made | beside) & ~(1 << place)
            self._widen(place, own, fresh=not self._marked[place])
            self._marked[place] = 1
        rest = beside & ~made  # only what was not there when the transition was fired last
        while rest:
            low = rest & -rest
            self._widen(low.bit_length() - 1, made, fresh=False)
            rest ^= low

    def _widen(self, place: int, row: int, *, fresh: bool) -> None:
        if fresh or row & ~self._rows[place]:
            self._rows[place] |= row
            self._waiting.update(dict.fromkeys(self._takers[place]))
