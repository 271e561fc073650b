"""Whether a run of one plan can go on in the net of another: each marking of the old one, put into the new one.

The places of a net have the names of what the author wrote, so that a token has the same place in both. A join or a
loop that only the new net has begins with the memory that it begins with; everything else that is new is empty. Only
markings in which a run can rest count: nothing is left to be done in the same turn. Of each that can be put over it is
asked whether an end can still be reached; guards choose freely, and failures that nobody handles are left out.
"""

from collections.abc import Iterable
from typing import NamedTuple, TypeAlias

from noetl_ir.net import PlaceClass, Trigger
from noetl_ir.plan import Plan
from noetlc.analysis.petri import Petri, consumers_of
from noetlc.analysis.skeleton import Skeleton, success_skeleton

STATES = 20_000
"""Markings of each net that are looked at; beyond that there is no answer."""

Held: TypeAlias = tuple[tuple[int, int], ...]
"""A marking as its marked places, sorted, each with its tokens: a large net holds few at once."""


class Transfer(NamedTuple):
    """Places of the old plan, each where a run can rest and that the new one lacks; markings of the old plan from which
    the new one reaches no end and the old one does, the earliest first; whether all were looked at.
    """

    lacking: tuple[int, ...]
    stranded: tuple[Held, ...]
    complete: bool


def transfer_of(old: Plan, new: Plan) -> Transfer:
    """Where a run of the old plan cannot go on in the new one."""
    source, target = success_skeleton(old), success_skeleton(new)
    before = _explored(source.net, [_sparse(source.net.initial)])
    places = {place.id: number for number, place in enumerate(new.net.places)}
    at = [places.get(place.id, -1) for place in old.net.places]
    fresh = _fresh(target, set(at))
    now = {number for number in range(len(source.origin)) if source.transition(number).trigger is Trigger.NOW}
    hopeless = _without_end(source, before)
    lacking: dict[int, None] = {}
    moved: dict[Held, Held] = {}
    for marking, edges in before.edges.items():
        if marking in hopeless or any(transition in now for transition, _ in edges):
            continue
        lost = [place for place, _ in marking if at[place] < 0 and is_control(old, place)]
        if lost:
            lacking.update(dict.fromkeys(lost))
        else:
            kept = [(at[place], tokens) for place, tokens in marking if at[place] >= 0]
            moved.setdefault(tuple(sorted([*kept, *fresh])), marking)
    after = _explored(target.net, moved)
    bad = _without_end(target, after)
    stranded = tuple(marking for put, marking in moved.items() if put in bad) if after.complete else ()
    return Transfer(tuple(lacking), stranded, before.complete and after.complete)


def is_control(plan: Plan, place: int) -> bool:
    """Whether a token in a place is one of the flow, not a join's or a loop's memory."""
    return plan.net.places[place].kind is PlaceClass.CONTROL


class _Graph(NamedTuple):
    """Markings with what fires in each and leads where; when it is not `complete` the last have nothing yet."""

    edges: dict[Held, list[tuple[int, Held]]]
    complete: bool


def _explored(net: Petri, starts: Iterable[Held]) -> _Graph:
    """The markings that can be reached from some."""
    takers = consumers_of(net)
    queue = list(starts)
    edges: dict[Held, list[tuple[int, Held]]] = {marking: [] for marking in queue}
    for marking in queue:  # grows while it is walked
        if len(queue) > STATES:
            return _Graph(edges, False)
        tokens = dict(marking)
        for transition in sorted({each for place in tokens for each in takers[place]}):
            if all(tokens.get(place, 0) >= weight for place, weight in net.inputs[transition]):
                after = _fired(net, tokens, transition)
                edges[marking].append((transition, after))
                if after not in edges:
                    edges[after] = []
                    queue.append(after)
    return _Graph(edges, True)


def _fired(net: Petri, tokens: dict[int, int], transition: int) -> Held:
    after = dict(tokens)
    for place, weight in net.inputs[transition]:
        after[place] -= weight
    for place, weight in net.outputs[transition]:
        after[place] = after.get(place, 0) + weight
    return tuple(sorted((place, count) for place, count in after.items() if count))


def _sparse(marking: Iterable[int]) -> Held:
    return tuple((place, tokens) for place, tokens in enumerate(marking) if tokens)


def _fresh(skeleton: Skeleton, known: set[int]) -> list[tuple[int, int]]:
    """The memory of what only the new net has."""
    held = _sparse(skeleton.net.initial)
    return [(place, tokens) for place, tokens in held if place not in known and not is_control(skeleton.plan, place)]


def _without_end(skeleton: Skeleton, graph: _Graph) -> set[Held]:
    """The markings from which no end can be reached."""
    size = len(skeleton.net.places)
    before: dict[Held, list[Held]] = {marking: [] for marking in graph.edges}
    waiting = []
    for marking, edges in graph.edges.items():
        for _, after in edges:
            before[after].append(marking)
        if not edges:
            full = [0] * size
            for place, tokens in marking:
                full[place] = tokens
            if skeleton.is_final(tuple(full)):
                waiting.append(marking)
    good = set(waiting)
    while waiting:
        for marking in before[waiting.pop()]:
            if marking not in good:
                good.add(marking)
                waiting.append(marking)
    return set(before) - good
