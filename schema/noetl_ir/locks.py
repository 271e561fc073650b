"""The emptiness sets of a net: the places that hold no token when a transition fires (EXTENSIONS.md §3, `lock`).

    [admit S]: (gate S) → (ready S)     only while no run of a step that has a lock in common with S holds a token

A run holds its locks from its admission until it has ended, with all iterations that its step has left behind; not at
its router. The sets follow from the tables of a plan (`locks`), so that a plan has no bytes for them. What S cancels
counts as empty: withdrawal, lock and start are one.
"""

from collections.abc import Mapping

from noetl_ir.net import Place
from noetl_ir.plan import Plan
from noetl_ir.resets import JOINING

_FREE = JOINING | {"gate", "fly", "c", "n", "s", "slot"}
"""Roles of places whose tokens hold no lock. The slots of a loop are there as long as the loop is."""


def holds(place: Place) -> bool:
    """Whether a token in a place of a step holds the locks of the step."""
    return place.role not in _FREE and (place.role not in ("done", "failed") or place.level > 0)


def lock_places(plan: Plan) -> Mapping[int, tuple[int, ...]]:
    """Step → the places in which a token holds its locks, of the steps that have some."""
    found: dict[int, list[int]] = {step: [] for step, _ in plan.locks}
    for number, place in enumerate(plan.net.places if found else ()):
        if place.step in found and holds(place):
            found[place.step].append(number)
    return {step: tuple(places) for step, places in found.items()}


def tests_of(plan: Plan) -> Mapping[int, tuple[int, ...]]:
    """Transition → the places that hold no token when it fires, of those that ask."""
    if not plan.locks:
        return {}
    names, cancels = dict(plan.locks), dict(plan.cancels)
    holders: dict[str, list[int]] = {}
    for step, locks in plan.locks:
        for name in locks:
            holders.setdefault(name, []).append(step)
    places, found = lock_places(plan), {}
    for number, t in enumerate(plan.net.transitions):
        if t.role == "admit" and t.step in names:
            others = {step for name in names[t.step] for step in holders[name]}.difference(cancels.get(t.step, ()))
            found[number] = tuple(sorted(place for step in others for place in places[step]))
    return found
