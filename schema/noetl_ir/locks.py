"""The emptiness sets of a net: the places that hold no token when a transition fires (EXTENSIONS.md §3, `lock`).

    [admit S]: (gate S) → (ready S)     only while no token lies where it holds a lock that S takes

A run holds its locks from its admission until it has ended, with all iterations that its step has left behind; not at
its router. A section (`through`) is held by each token that is in the step which takes it, behind its gate, or on the
way to, at or in a step of `through`: routers, delays, joins and gates count, and of a counting join a wave that has
begun and started nothing. A step inside takes it no more. The sets follow from the tables of a plan (`locks`,
`sections`), so that a plan has no bytes for them. What S cancels counts as empty: withdrawal, lock and start are one.
"""

from collections.abc import Iterator, Mapping

from noetl_ir.emptiness import Emptiness, together, waves_of
from noetl_ir.net import Place, PlaceClass
from noetl_ir.plan import Plan, entries_of
from noetl_ir.resets import JOINING, places_by_owner

_FREE = JOINING | {"gate", "fly", "c", "n", "s", "slot"}
"""Roles of places whose tokens hold no lock of their step. The slots of a loop are there as long as the loop is."""

_BEFORE = JOINING | {"gate", "fly"}
"""Roles of places whose tokens are on the way to their step."""


def takes_of(plan: Plan) -> Mapping[int, frozenset[str]]:
    """Step → the locks that its admission takes, without those of sections that it is inside of; steps with none are
    left out.
    """
    inside = insides_of(plan)
    found: dict[int, set[str]] = {}
    for step, names in (*plan.locks, *((each.step, (each.name,)) for each in plan.sections)):
        # A step inside of the section has the lock already, and would wait for itself for ever.
        taken = {name for name in names if step not in inside.get(name, ())}
        if taken:
            found.setdefault(step, set()).update(taken)
    return {step: frozenset(found[step]) for step in sorted(found)}


def insides_of(plan: Plan) -> Mapping[str, frozenset[int]]:
    """Name of a section → the steps that it is held through."""
    found: dict[str, set[int]] = {}
    for section in plan.sections:
        found.setdefault(section.name, set()).update(section.through)
    return {name: frozenset(steps) for name, steps in found.items()}


def ways_past(plan: Plan, name: str) -> Iterator[tuple[int, int]]:
    """The ways into a section that pass no step which takes it: (arc, step), the arc -1 where the step is an entry."""
    inside = insides_of(plan)[name]
    takers = {each.step for each in plan.sections if each.name == name}
    yield from ((-1, step) for step in sorted(entries_of(plan) & inside))
    for number, arc in enumerate(plan.arcs):
        # An arc within the section or from one that takes it brings the lock along.
        if arc.target in inside and arc.step not in inside and arc.step not in takers:
            yield number, arc.target


def holds(place: Place) -> bool:
    """Whether a token in a place of a step belongs to a run that holds its locks: one that was admitted and
    not ended.
    """
    return place.role not in _FREE and (place.role not in ("done", "failed") or place.level > 0)


def lock_places(plan: Plan) -> Mapping[int, tuple[int, ...]]:
    """Step → the places in which a token means that a run holds its locks, for steps with `policy.lock`."""
    found: dict[int, list[int]] = {step: [] for step, _ in plan.locks}
    for number, place in enumerate(plan.net.places if found else ()):
        if place.step in found and holds(place):
            found[place.step].append(number)
    return {step: tuple(places) for step, places in found.items()}


def sections_of(plan: Plan) -> Mapping[str, Mapping[int, Emptiness]]:
    """Name of a section → step → the places and waves of that step in which tokens hold the section's lock."""
    if not plan.sections:
        return {}
    owned, places = places_by_owner(plan), plan.net.places
    inside, waves = insides_of(plan), waves_of(plan)
    found: dict[str, dict[int, Emptiness]] = {name: {} for name in inside}
    for section in plan.sections:
        behind = [each for each in owned[section.step] if _is_flow(places[each]) and places[each].role not in _BEFORE]
        if section.step not in inside[section.name]:
            found[section.name][section.step] = Emptiness(frozenset(behind))
        for step in section.through:
            if step not in found[section.name]:
                flow = frozenset([each for each in owned[step] if _is_flow(places[each])])
                found[section.name][step] = Emptiness(flow, (waves[step],) if step in waves else ())
    return found


def _is_flow(place: Place) -> bool:
    return place.kind is PlaceClass.CONTROL


def tests_of(plan: Plan) -> Mapping[int, tuple[Emptiness, ...]]:
    """Transition → the sets that must be empty for it to fire: one for each lock that it takes, by the locks' names."""
    takes = takes_of(plan) if plan.locks or plan.sections else {}
    if not takes:
        return {}
    holders = {name: dict(rows) for name, rows in sections_of(plan).items()}
    places = lock_places(plan)
    for step, names in plan.locks:
        for name in names:  # a step of the section of that name is there already, with these places at least
            holders.setdefault(name, {}).setdefault(step, Emptiness(frozenset(places[step])))
    cancels = dict(plan.cancels)
    found = {}
    for number, t in enumerate(plan.net.transitions):
        if t.role == "admit" and t.step in takes:
            less = cancels.get(t.step, ())
            rows = [holders[name].items() for name in sorted(takes[t.step])]
            found[number] = tuple([together(test for step, test in row if step not in less) for row in rows])
    return found
