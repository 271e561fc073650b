"""The places from which a token can still come to a `settled` join (EXTENSIONS.md §3, `join: settled`).

    [settle S]: (got S) + (idle S) → (got S) + (pick S 0)     only while no such place holds a token

A token can still come while one of control lies in a place from which arcs lead to the join, whatever guards say: in a
task, a delay, a wait, a gate, a router, a join that has not met. Not counted is what the join has already, and what is
of the step behind it, up to its router: that passes the step before it comes again. Of a step with loops the run counts
(`loop`, `closing`) and not what is in it: iterations that the step has left behind come nowhere.

The sets follow from the net alone, so that a plan has no bytes for them; engine and analysis read them here.
"""

from collections.abc import Mapping

from noetl_ir.emptiness import Emptiness, waves_of
from noetl_ir.net import PlaceClass
from noetl_ir.plan import Plan
from noetl_ir.records import NamedTuple

_BEHIND = frozenset({"ready", "at", "run", "due", "parked", "out", "bad", "loop", "closing", "rest", "todo", "fin"})
"""Roles of the places of a run that has begun and not ended."""

_INNER = _BEHIND - {"ready", "loop", "closing"} | {"slot"}
"""Roles of the places within a loop."""

_JOINED = frozenset({"held", "got", "pick", "gate"})
"""Roles of the places of a token that a settled join has, or that has passed it."""


def sources_of(plan: Plan) -> Mapping[int, Emptiness]:
    """Step → where tokens can still come to its join from, of the steps whose join is `settled`: of counting joins on
    the way what a wave has, until it has met.
    """
    places = plan.net.places
    steps = sorted({place.step for place in places if place.role == "pick"})
    if not steps:
        return {}
    before, waves = _before(plan), waves_of(plan)
    entered: dict[int, list[int]] = {step: [] for step in steps}
    for number, place in enumerate(places):
        if place.role == "held" and place.step in entered:
            entered[place.step].append(number)
    found = {}
    for step in steps:
        near = _leading(plan, before, entered[step], step)
        flat = frozenset(n for n in near if places[n].kind is PlaceClass.CONTROL)
        found[step] = Emptiness(flat, tuple([wave for wave in waves.values() if wave.got in near]))
    return found


def _before(plan: Plan) -> list[list[int]]:
    """Place → the places that its tokens can be made of."""
    found: list[set[int]] = [set() for _ in plan.net.places]
    for t in plan.net.transitions:
        for made, _ in t.outputs:
            found[made].update(arc.place for arc in t.inputs)
    return [sorted(each) for each in found]


def _leading(plan: Plan, before: list[list[int]], entered: list[int], join: int) -> set[int]:
    """The places that lead to some, without passing the step of the join."""
    places = plan.net.places
    found: set[int] = set()
    waiting = [*entered]
    while waiting:
        for number in before[waiting.pop()]:
            place = places[number]
            behind = place.step == join and (place.role in _JOINED or place.role in _BEHIND)
            # Inside of a loop nothing comes that its run does not bring.
            inner = bool(plan.steps[place.step].loops) and (place.level > 0 or place.role in _INNER)
            if number not in found and not behind and not inner:
                found.add(number)
                waiting.append(number)
    return found


class Settled(NamedTuple):
    """A settled join by the numbers of its places and transitions: `sources` are, in file order, the place in which
    tokens of a source wait, and what takes one or finds none.
    """

    step: int
    got: int
    settle: int
    force: int
    meet: int
    sources: tuple[tuple[int, int, int], ...]


def settled_joins(plan: Plan) -> tuple[Settled, ...]:
    """The settled joins of a plan."""
    places = plan.net.places
    rows: dict[int, dict[str, list[int]]] = {place.step: {} for place in places if place.role == "pick"}
    for number, t in enumerate(plan.net.transitions):
        if t.step in rows:
            rows[t.step].setdefault(t.role, []).append(number)
    found = []
    for step, roles in sorted(rows.items()):
        [settle], [force], [meet] = roles["settle"], roles["force"], roles["meet"]
        got = plan.net.transitions[settle].inputs[0].place
        # The arcs stand in the order in which `noetl_ir.assembly.joining` writes them.
        kept = [plan.net.transitions[gather].inputs[1].place for gather in roles["gather"]]
        sources = tuple(zip(kept, roles["gather"], roles["lack"], strict=True))
        found.append(Settled(step, got, settle, force, meet, sources))
    return tuple(found)


def settled_tests(plan: Plan) -> Mapping[int, Emptiness]:
    """Transition → the places that hold no token when it fires, of those of settled joins that ask."""
    found: dict[int, Emptiness] = {}
    sources = sources_of(plan)
    for join in settled_joins(plan):
        found[join.settle] = sources[join.step]
        found.update({lack: Emptiness(frozenset({place})) for place, _, lack in join.sources})
    return found
