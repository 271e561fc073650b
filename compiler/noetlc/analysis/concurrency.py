"""Which places may be marked at once, from the arcs alone (Kovalyov 1992): a fixed point over pairs of places.

The relation has every pair that can be marked together, and perhaps more: that a pair is missing is a proof, found in
polynomial time whatever the number of markings. For free-choice nets that are live and bounded it is exact.
"""

from collections.abc import Iterator, Sequence
from functools import cache

from noetl_ir.records import NamedTuple
from noetlc.analysis.petri import Petri, PetriArcs, consumers_of

FIRINGS, FEWEST_FIRINGS = 5, 20_000
"""Firings of the fixed point for each transition of a net, and at least: where all steps lead to each other, each place
gets what is beside it a few places at a time.
"""

PAIRS = 16
"""New pairs for each place up to which a round enters them one by one."""


class ConcurrencyRelation(NamedTuple):
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


def concurrency_of(net: Petri) -> ConcurrencyRelation:
    """The relation; where it would cost too much, the trivial one, in which every place may be beside every place."""
    return _Fixpoint(net).found()


def is_safe(net: Petri) -> bool:
    """Whether no place can hold two tokens: a proof when true. Stops at the first place that may hold two."""
    return _Fixpoint(net).is_safe()


class _Fixpoint:
    """The relation while it grows. Each round fires all transitions of which an input got something new beside it.

    The relation is symmetric, but a firing only writes the rows of the places that get tokens, each as one integer. The
    other half is filled in at the end of a round (`_mirror`): pair by pair where there are few, else by transposing the
    whole matrix.
    """

    def __init__(self, net: Petri) -> None:
        self._net = net
        self._rows = [0] * len(net.places)
        self._marked = 0
        self._takers = consumers_of(net)
        self._taken = [sum([1 << place for place, _ in arcs]) for arcs in net.inputs]
        self._made = [sum([1 << place for place, _ in arcs]) for arcs in net.outputs]
        # Only what came since a transition was last fired is entered again: without that, each round would cost as
        # much as the whole relation.
        self._done = [-1] * len(net.transitions)  # what a transition was last fired beside, -1: never
        self._waiting: dict[int, None] = {}
        self._news: list[tuple[int, int]] = []  # places that got tokens, and what was marked beside them
        self._is_safe = True
        self._fired = 0

    def found(self) -> ConcurrencyRelation:
        left = max(FEWEST_FIRINGS, FIRINGS * len(self._net.transitions))
        for _ in self._rounds():
            if self._fired > left:
                count = len(self._rows)
                return ConcurrencyRelation(((1 << count) - 1,) * count, frozenset(range(count)))
        marked = frozenset(place for place in range(len(self._rows)) if self._marked >> place & 1)
        return ConcurrencyRelation(tuple(self._rows), marked)

    def is_safe(self) -> bool:
        return all(self._rounds())

    def _rounds(self) -> Iterator[bool]:
        """Run round after round; after each, yield whether still no place may hold two tokens."""
        first = tuple((place, tokens) for place, tokens in enumerate(self._net.initial) if tokens)
        self._waiting.update((number, None) for number, arcs in enumerate(self._net.inputs) if not arcs)
        self._mark(first, sum([1 << place for place, _ in first]), 0)
        self._mirror()
        yield self._is_safe
        while self._waiting:
            batch, self._waiting = self._waiting, {}
            for transition in batch:
                beside, done = self._beside(transition), self._done[transition]
                if beside >= 0 and (done < 0 or beside & ~done):
                    self._done[transition] = beside
                    fresh = beside if done < 0 else beside & ~done
                    self._fired += 1
                    self._mark(self._net.outputs[transition], self._made[transition], fresh)
            self._mirror()
            yield self._is_safe

    def _beside(self, transition: int) -> int:
        """The places that may be marked together with all inputs, -1 when these cannot be marked together."""
        taken = self._taken[transition]
        # A place that was never marked keeps the transition from firing. Its empty row alone does not say so: with it
        # as the only input the transition would seem to fire beside nothing.
        if taken & ~self._marked:
            return -1
        beside = -1
        for place, weight in self._net.inputs[transition]:
            row = self._rows[place]
            # An arc that takes two tokens needs a place that may hold two. Inputs that are never marked at once keep
            # the transition dead: that is all that makes the relation smaller than "everything beside everything".
            if (weight > 1 and not row >> place & 1) or taken & ~(row | 1 << place):
                return -1
            # What stays marked while the transition fires must be able to lie beside every input, so that the rows
            # are intersected.
            beside &= row
        # A transition without inputs may fire in any marking, beside whatever is ever marked.
        return beside if taken else self._marked

    def _mark(self, arcs: PetriArcs, made: int, beside: int) -> None:
        """Enter that the places of `made` get tokens, by `arcs`, while the places of `beside` may be marked.

        Both are sets of bits; `beside` has only places that were not beside the transition when it last fired.
        """
        together = made | beside
        for place, weight in arcs:
            # The own bit of a place says that a second token may come. It is set where one arc brings two, or where
            # the place may be marked already when one comes.
            if weight > 1 or beside >> place & 1:
                self._is_safe = False
                self._widen(place, together)
            else:
                self._widen(place, together & ~(1 << place))
        if made and beside & ~made:
            self._news.append((made, beside & ~made))

    def _mirror(self) -> None:
        """Make the relation symmetric again: where q was entered beside p in this round, enter p beside q."""
        news, self._news = self._news, []
        # Few pairs are cheaper one by one. In a wide fork there are as many as the square of its branches, and one
        # turn of the matrix enters all of them.
        if sum([beside.bit_count() for _, beside in news]) <= PAIRS * len(self._rows):
            for made, beside in news:
                for place in bits_of(beside):
                    self._widen(place, made)
        else:
            for place, row in enumerate(transposed(self._rows)):
                if row:
                    self._widen(place, row)

    def _widen(self, place: int, row: int) -> None:
        bit = 1 << place
        if row & ~self._rows[place] or not self._marked & bit:
            self._rows[place] |= row
            self._marked |= bit
            self._waiting.update(dict.fromkeys(self._takers[place]))


def bits_of(mask: int) -> Iterator[int]:
    """The numbers of the bits that are set, from the lowest on."""
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low


def transposed(rows: Sequence[int]) -> list[int]:
    """A square matrix of bits turned over: bit q of row p becomes bit p of row q.

    All rows as one integer, in which ever smaller blocks beside the diagonal are exchanged (Warren, Hacker's Delight,
    section 7-3): some shifts of the whole for each doubling of the size, not one for each bit.
    """
    count = len(rows)
    size = 8
    while size < count:
        size *= 2
    width = size // 8
    matrix = int.from_bytes(b"".join([row.to_bytes(width, "little") for row in rows]), "little")
    block = size // 2
    while block:
        shift = block * (size - 1)
        mask = _upper_right(size, block)
        changed = (matrix ^ matrix >> shift) & mask
        matrix ^= changed ^ changed << shift
        block //= 2
    data = matrix.to_bytes(size * width, "little")
    return [int.from_bytes(data[at * width : (at + 1) * width], "little") for at in range(count)]


@cache
def _upper_right(size: int, block: int) -> int:
    """The mask of `transposed` for one size of blocks, as bits of the whole matrix.

    The matrix is cut into squares of 2·block × 2·block bits; the mask has the upper right quarter of each.
    """
    line = int.from_bytes(_repeated(block, size), "little")
    line ^= (1 << size) - 1  # the upper half of each two blocks of columns
    row = line.to_bytes(size // 8, "little")
    both = row * block + bytes(size // 8) * block
    return int.from_bytes(both * (size // (2 * block)), "little")


def _repeated(block: int, size: int) -> bytes:
    """`block` ones and as many zeros by turns, from the lowest bit on."""
    ones = (1 << block) - 1
    found = ones
    width = 2 * block
    while width < size:
        found |= found << width
        width *= 2
    return found.to_bytes(size // 8, "little")
