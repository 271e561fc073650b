"""Which places may be marked at once, from the arcs alone (Kovalyov 1992): a fixed point over pairs of places.

More pairs than can really be marked together, never fewer: what is not in the relation is proved, in polynomial time
and whatever the number of markings. For free-choice nets that are live and bounded it is exact.
"""

from collections import deque
from collections.abc import Iterable

from noetl_ir.rows import NamedTuple
from noetlc.analysis.petri import Arcs, Petri, consumers_of


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
    """The relation while it grows: the transitions of which an input has more beside it wait, the longest first."""

    def __init__(self, net: Petri) -> None:
        self._net = net
        self._rows = [0] * len(net.places)
        self._marked = 0
        self._takers = consumers_of(net)
        self._taken = [sum([1 << place for place, _ in arcs]) for arcs in net.inputs]
        self._made = [sum([1 << place for place, _ in arcs]) for arcs in net.outputs]
        self._done = [-1] * len(net.transitions)  # what a transition was last fired beside, -1: never
        self._waits = bytearray(len(net.transitions))
        self._waiting = deque[int]()
        first = tuple((place, tokens) for place, tokens in enumerate(net.initial) if tokens)
        self._wake([number for number, arcs in enumerate(net.inputs) if not arcs])
        self._mark(first, sum([1 << place for place, _ in first]), 0)

    def found(self) -> Concurrency:
        while self._waiting:
            transition = self._waiting.popleft()
            self._waits[transition] = 0
            beside, done = self._beside(transition), self._done[transition]
            if beside >= 0 and (done < 0 or beside & ~done):
                self._done[transition] = beside
                fresh = beside if done < 0 else beside & ~done
                self._mark(self._net.outputs[transition], self._made[transition], fresh)
        marked = frozenset(place for place in range(len(self._rows)) if self._marked >> place & 1)
        return Concurrency(tuple(self._rows), marked)

    def _beside(self, transition: int) -> int:
        """The places that may be marked together with all inputs, -1 when these cannot be marked together."""
        taken = self._taken[transition]
        if taken & ~self._marked:
            return -1
        beside = -1
        for place, weight in self._net.inputs[transition]:
            row = self._rows[place]
            if (weight > 1 and not row >> place & 1) or taken & ~(row | 1 << place):
                return -1
            beside &= row
        return beside if taken else self._marked

    def _mark(self, arcs: Arcs, made: int, beside: int) -> None:
        """Tokens come to `made` places, beside others that were not there when they came last."""
        together = made | beside
        for place, weight in arcs:
            self._widen(place, together if weight > 1 or beside >> place & 1 else together & ~(1 << place))
        rest = beside & ~made
        while rest:
            low = rest & -rest
            self._widen(low.bit_length() - 1, made)
            rest ^= low

    def _widen(self, place: int, row: int) -> None:
        bit = 1 << place
        if row & ~self._rows[place] or not self._marked & bit:
            self._rows[place] |= row
            self._marked |= bit
            self._wake(self._takers[place])

    def _wake(self, transitions: Iterable[int]) -> None:
        for each in transitions:
            if not self._waits[each]:
                self._waits[each] = 1
                self._waiting.append(each)
