"""The places from which a token can still come to a `settled` join (EXTENSIONS.md §3, `join: settled`).

    [settle S]: (got S) + (idle S) → (got S) + (pick S 0)     only while no such place holds a token

A token can still come while a control token lies in a place from which arcs lead to the join, whatever guards say: in a
task, a delay, a wait, a gate, a router, a join that has not met. Two sorts of tokens do not count. Tokens that the join
has already, and those of runs of its own step up to their router, come again only after the step. Tokens within a loop
lead nowhere by themselves: the loop's run counts instead (`loop`, `closing`), since iterations that a step has left
behind never go on.

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
    """Step with a `settled` join → the places from which tokens can still come to the join.

    Counting joins on the way are given by their waves: what they have counted matters until they have met.
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
    """Place → the inputs of all transitions that put a token into it."""
    found: list[set[int]] = [set() for _ in plan.net.places]
    for t in plan.net.transitions:
        for made, _ in t.outputs:
            found[made].update(arc.place for arc in t.inputs)
    return [sorted(each) for each in found]


def _leading(plan: Plan, before: list[list[int]], entered: list[int], join: int) -> set[int]:
    """The places from which tokens can come to those of `entered` without a run of the join's own step."""
    places = plan.net.places
    found: set[int] = set()
    # Backwards from the join: what can come to it is found without asking what guards say.
    waiting = [*entered]
    while waiting:
        for number in before[waiting.pop()]:
            place = places[number]
            behind = place.step == join and (place.role in _JOINED or place.role in _BEHIND)
            # Places within a loop are left out: the place of the loop's run stands for them.
            inner = bool(plan.steps[place.step].loops) and (place.level > 0 or place.role in _INNER)
            if number not in found and not behind and not inner:
                found.add(number)
                waiting.append(number)
    return found


class Settled(NamedTuple):
    """The places (`got`) and transitions of a settled join, by number.

    `sources` has, for each source in file order, the place in which its tokens wait (`held`), the transition that takes
    one (`gather`) and the one that fires where there is none (`lack`).
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
        # Exactly one of each, as `noetl_ir.assembly.joining` makes them.
        [settle], [force], [meet] = roles["settle"], roles["force"], roles["meet"]
        got = plan.net.transitions[settle].inputs[0].place
        # The arcs stand in the order in which `noetl_ir.assembly.joining` writes them.
        kept = [plan.net.transitions[gather].inputs[1].place for gather in roles["gather"]]
        sources = tuple(zip(kept, roles["gather"], roles["lack"], strict=True))
        found.append(Settled(step, got, settle, force, meet, sources))
    return tuple(found)


def settled_tests(plan: Plan) -> Mapping[int, Emptiness]:
    """Transition of a settled join → the places that must be empty for it to fire."""
    found: dict[int, Emptiness] = {}
    sources = sources_of(plan)
    for join in settled_joins(plan):
        found[join.settle] = sources[join.step]
        found.update({lack: Emptiness(frozenset({place})) for place, _, lack in join.sources})
    return found
