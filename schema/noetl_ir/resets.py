"""The reset sets of a net: the places that a transition empties when it fires (EXTENSIONS.md §3, `cancels`).

    [admit S]: (gate S) → (ready S)     resets every place of a step that S cancels, and its join's memory

A transition takes its tokens, then its set is emptied and the memory of joins in it is as at first, then it makes its
tokens. The sets follow from the tables of a plan (`cancels`), so that a plan has no bytes for them: what is cancelled
are the tokens on the way to a step, in its join, at its gate, in its runs and at its router. A step that cancels, and
whose join keeps a wave, begins a new one: what still waits in its join is withdrawn.
"""

from collections.abc import Iterator, Mapping, Sequence

from noetl_ir.net import PlaceClass
from noetl_ir.plan import Plan
from noetl_ir.records import NamedTuple

WAVES = frozenset({"count", "taken"})
"""The joins that keep a wave."""

JOINING = frozenset({"in", "dead", "free", "held", "got", "idle", "met", "cold", "warm", "merge", "pick"})
"""Roles of the places of a join."""


class Reset(NamedTuple):
    """A reset set: the places that are emptied, in the order of the net, and those of them (memory of joins) that get
    their initial token back.
    """

    places: tuple[int, ...]
    restored: tuple[int, ...]


def resets_of(plan: Plan) -> Mapping[int, Reset]:
    """Transition → its reset set, of those that have one."""
    if not plan.cancels:
        return {}
    admits = {t.step: number for number, t in enumerate(plan.net.transitions) if t.role == "admit"}
    owned = places_by_owner(plan)
    marked = dict(plan.net.initial)
    found = {}
    for step, targets in plan.cancels:
        # By owner and not by step: a token in an arc's delay is on its way to the target, and goes with it.
        emptied = {number for target in targets for number in owned.get(target, ())}
        if plan.steps[step].join.mode in WAVES:
            emptied.update(number for number in owned[step] if plan.net.places[number].role in JOINING)
        places = sorted(emptied)
        restored = [each for each in places if marked.get(each) and plan.net.places[each].kind is PlaceClass.MEMO]
        found[admits[step]] = Reset(tuple(places), tuple(restored))
    return found


def owners_of(plan: Plan) -> Iterator[int]:
    """For each place the step that a token there belongs to; a token that waits for an arc's delay, to the arc's
    target.
    """
    flying = {
        t.inputs[0].place: plan.arcs[t.arc].target for t in plan.net.transitions if t.role == "land" and t.arc >= 0
    }
    for number, place in enumerate(plan.net.places):
        yield flying.get(number, place.step)


def places_by_owner(plan: Plan) -> Mapping[int, Sequence[int]]:
    """Step → the places whose tokens belong to it (`owners_of`)."""
    owned: dict[int, list[int]] = {}
    for number, owner in enumerate(owners_of(plan)):
        owned.setdefault(owner, []).append(number)
    return owned


def renewed_joins(plan: Plan) -> frozenset[int]:
    """The steps whose joins are reset when some step starts, so that they may meet again in the same wave."""
    numbers = {number for reset in resets_of(plan).values() for number in reset.restored}
    return frozenset(plan.net.places[number].step for number in numbers)
