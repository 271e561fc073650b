"""Markings as integers: a field of bits for each place, so that firing is one addition.

A place of capacity 1 has one value bit, which makes the marking of a safe net a bit set; others get the bits that
they turn out to need. Above each field stands a guard bit that is clear in every marking. A sum that sets one has
outgrown its field, and never reaches the field above. A guard bit also answers "at least w tokens?": adding
2^bits - w to a field sets it exactly then; for one bit and one token the value bit itself says it.
"""

from collections.abc import Sequence

from noetl_ir.records import NamedTuple
from noetlc.analysis.petri import Petri, PetriMarking, consumers_of, effect_of
from noetlc.analysis.verdict import TooLarge

MOST_FIELDS = 50_000_000
"""Places times transitions of a net whose markings are looked at: what a transition adds is as wide as a marking."""


class Packing(NamedTuple):
    """A net with packed markings. `m` may fire `t` exactly when `(m + need[t]) & want[t] == want[t]`.

    `delta[t]` is what firing adds, `guard` the guard bits of all fields, `touching[t]` the transitions that firing
    `t` may enable or disable, `bits` the value bits of each place's field and `shift` where it begins.
    """

    net: Petri
    bits: tuple[int, ...]
    shift: tuple[int, ...]
    guard: int
    initial: int
    delta: tuple[int, ...]
    need: tuple[int, ...]
    want: tuple[int, ...]
    touching: tuple[tuple[int, ...], ...]

    def packed(self, marking: PetriMarking) -> int:
        """The integer of a marking that fits."""
        return sum(tokens << shift for tokens, shift in zip(marking, self.shift, strict=True) if tokens)

    def marking(self, packed: int) -> PetriMarking:
        """The marking of an integer."""
        return tuple((packed >> shift) & ((1 << bits) - 1) for bits, shift in zip(self.bits, self.shift, strict=True))

    def tokens(self, packed: int, place: int) -> int:
        """The tokens of one place."""
        return (packed >> self.shift[place]) & ((1 << self.bits[place]) - 1)

    def outgrown(self, packed: int) -> list[int]:
        """The places whose fields are too small for that sum."""
        return [
            place
            for place, (bits, shift) in enumerate(zip(self.bits, self.shift, strict=True))
            if packed >> (shift + bits) & 1
        ]

    def enabled(self, packed: int) -> list[int]:
        """The transitions that may fire."""
        return [
            number
            for number, (need, want) in enumerate(zip(self.need, self.want, strict=True))
            if (packed + need) & want == want
        ]


def is_too_large(net: Petri) -> bool:
    """Whether a reduced net has so many places and transitions that a search of its markings would cost too much."""
    return len(net.places) * len(net.transitions) > MOST_FIELDS


def check_size(net: Petri) -> None:
    """Raise TooLarge where looking at the markings of a reduced net would cost too much."""
    if is_too_large(net):
        raise TooLarge(len(net.places), len(net.transitions))


def least_bits(net: Petri) -> list[int]:
    """The smallest fields that the initial marking and every weight fit into."""
    most = list(net.initial)
    for side in (*net.inputs, *net.outputs):
        for place, weight in side:
            most[place] = max(most[place], weight)
    return [max(1, count.bit_length()) for count in most]


def packing_of(net: Petri, bits: Sequence[int]) -> Packing:
    """The packing of a net with fields of that many value bits, each at least as large as `least_bits`."""
    shift, top, guard = [], 0, 0
    for width in bits:
        shift.append(top)
        guard |= 1 << (top + width)
        top += width + 1
    delta, need, want = [], [], []
    for transition, arcs in enumerate(net.inputs):
        delta.append(sum(count << shift[place] for place, count in effect_of(net, transition).items()))
        added = asked = 0
        for place, weight in arcs:
            at, width = shift[place], bits[place]
            # One bit and one token: the value bit is the answer, and no guard bit is needed. In a safe net every
            # place is such a one.
            if width == 1 == weight:
                asked |= 1 << at
            else:
                added += ((1 << width) - weight) << at
                asked |= 1 << (at + width)
        need.append(added)
        want.append(asked)
    initial = sum(tokens << at for tokens, at in zip(net.initial, shift, strict=True) if tokens)
    return Packing(
        net, tuple(bits), tuple(shift), guard, initial, tuple(delta), tuple(need), tuple(want), _touching(net)
    )


def _touching(net: Petri) -> tuple[tuple[int, ...], ...]:
    takers = consumers_of(net)
    return tuple(
        tuple(sorted({taker for place in effect_of(net, transition) for taker in takers[place]}))
        for transition in range(len(net.transitions))
    )
