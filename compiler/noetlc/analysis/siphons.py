"""The proofs of siphons and traps about a net without any of its markings (Commoner 1972; Hack 1972).

A siphon is a set of places that only its own takers can refill: once empty, it stays so. A trap, once marked, stays so.
When every siphon has a marked trap inside, no marking is dead, in any net whose arcs weigh one. In a free-choice net
that is so exactly when the net is live; in an asymmetric-choice net it is enough for that.

    (a) → [t] → (b)          {a} is a siphon: nothing refills it           [u] ⇄ (b): {b} is a trap

A plan's skeleton ends, so it is never live. Closed, with what ends a run beginning the next one, it is live and bounded
exactly when the skeleton is sound and each run ends with one token (van der Aalst 1997).
"""

from collections import deque
from collections.abc import Iterable
from enum import Enum

from noetl_ir.records import NamedTuple
from noetlc.analysis.concurrency import is_safe
from noetlc.analysis.petri import Petri, consumers_of, producers_of
from noetlc.analysis.properties import structure_of

SETS = 5_000
"""Sets of places that are looked at."""


class SiphonResult(Enum):
    """The answers that the siphons of a net give."""

    MARKED = "every siphon has a marked trap"
    BARE = "a siphon has no marked trap"
    OPEN = "the limit of sets was hit"


class Siphons(NamedTuple):
    """`bare` is a siphon without a marked trap; empty without one."""

    found: SiphonResult
    bare: frozenset[int]


def siphons_of(net: Petri, limit: int = SETS) -> Siphons:
    """Whether every siphon has a marked trap inside; arcs must weigh one."""
    takers, makers = consumers_of(net), producers_of(net)
    inputs = [tuple(place for place, _ in arcs) for arcs in net.inputs]
    outputs = [frozenset(place for place, _ in arcs) for arcs in net.outputs]
    # A place that nobody takes from keeps nobody waiting when it is empty, so that no dead marking is due to it.
    waiting = deque(frozenset({place}) for place in range(len(net.places)) if takers[place])
    seen = set(waiting)
    looked = 0
    while waiting:  # small sets first
        places = waiting.popleft()
        looked += 1
        # The number of siphons may be exponential. The limit counts sets and not time, and leads to no verdict.
        if looked > limit:
            return Siphons(SiphonResult.OPEN, frozenset())
        # A marked trap inside keeps the set from ever being empty, and every larger set with it.
        if any(net.initial[place] for place in _trap(places, takers, outputs)):
            continue  # so has whatever is larger
        refills = next(
            # Who refills the set without taking from it keeps it from being a siphon. One of its inputs must belong
            # to any siphon around, so that one of these sets at least is on the way to each. Sorted, for the same
            # answer everywhere.
            (t for place in sorted(places) for t in makers[place] if places.isdisjoint(inputs[t])),
            None,
        )
        if refills is None:
            return Siphons(SiphonResult.BARE, places)
        for place in inputs[refills]:
            larger = places | {place}
            if larger not in seen:
                seen.add(larger)
                waiting.append(larger)
    return Siphons(SiphonResult.MARKED, frozenset())


def _trap(places: frozenset[int], takers: list[list[int]], outputs: list[frozenset[int]]) -> frozenset[int]:
    """The largest trap inside."""
    left = set(places)
    while True:
        # A taker that puts nothing back can empty the place's tokens out of the set. Taking such places out leaves
        # the largest trap, which is unique, because unions of traps are traps.
        leaking = [place for place in left if any(left.isdisjoint(outputs[taker]) for taker in takers[place])]
        if not leaking:
            return frozenset(left)
        left.difference_update(leaking)


class Theory(NamedTuple):
    """The verdicts that theorems give: no dead marking, every transition live, and the theorem; None where none
    applies.
    """

    deadlock_free: bool | None
    live: bool | None
    why: str


def theory_of(net: Petri, limit: int = SETS) -> Theory:
    """The verdicts that the class of a net and its siphons prove."""
    shape = structure_of(net)
    # A transition without inputs could fire for ever also where no arcs lead round.
    if shape.acyclic and net.transitions and all(net.inputs):
        return Theory(False, False, "the arcs lead round nowhere, so that every run ends")
    # With weights a marked trap may hold one token where two are asked for, so that the theorems do not hold.
    if not shape.ordinary or not net.transitions:
        return Theory(None, None, "")
    siphons = siphons_of(net, limit)
    if siphons.found is SiphonResult.MARKED:
        # In other classes no dead marking is all that follows (Commoner 1972): part of the net may still stop for
        # ever.
        if shape.extended_free_choice or shape.asymmetric_choice:
            kind = "free choice" if shape.extended_free_choice else "asymmetric choice"
            return Theory(True, True, f"{kind}, and {SiphonResult.MARKED.value}")
        return Theory(True, None, SiphonResult.MARKED.value)
    # The reverse is a theorem for free choice alone (Hack 1972). Elsewhere a bare siphon may never become empty.
    if siphons.found is SiphonResult.BARE and shape.extended_free_choice:
        names = ", ".join(net.places[place] for place in sorted(siphons.bare))
        return Theory(None, False, f"free choice, and the siphon {names} has no marked trap")
    return Theory(None, None, "")


def is_proved_sound(net: Petri, limit: int = SETS) -> bool:
    """Whether a net that begins in one place is free choice and, when closed, live and safe.

    Then from everywhere an end can be reached, nothing is left there, and every transition can fire.
    """
    start = [place for place, tokens in enumerate(net.initial) if tokens]
    ends = [number for number, arcs in enumerate(net.outputs) if not arcs]
    # The theorem is about workflow nets: one place at the start with one token in it, and an end.
    if len(start) != 1 or net.initial[start[0]] != 1 or not ends:
        return False
    closed = net._replace(outputs=_closed(net.outputs, start[0]))
    # Live says that an end can always be reached and that every transition can fire; safe says that nothing is left
    # when it is, since the next run would put a second token where it lies.
    return theory_of(closed, limit).live is True and is_safe(closed)


def _closed(outputs: Iterable[tuple[tuple[int, int], ...]], start: int) -> tuple[tuple[tuple[int, int], ...], ...]:
    return tuple(arcs or ((start, 1),) for arcs in outputs)
