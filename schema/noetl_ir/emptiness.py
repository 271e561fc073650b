"""Places that hold no token when a transition fires. No arc of a plain net asks that; locks (`noetl_ir.locks`) and
settled joins (`noetl_ir.settling`) do, and engine and analysis read here what they ask about.
"""

from collections.abc import Iterable, Mapping

from noetl_ir.plan import Plan
from noetl_ir.records import NamedTuple


class Wave(NamedTuple):
    """The wave of a counting join by its places: it has tokens in `got`, and has started nothing while `idle` is
    marked; `met` is, once it has.
    """

    got: int
    idle: int
    met: int


class Emptiness(NamedTuple):
    """The places that hold no token, and the counting joins that hold no part of a wave which has started nothing."""

    places: frozenset[int]
    waves: tuple[Wave, ...] = ()


def waves_of(plan: Plan) -> Mapping[int, Wave]:
    """Step → the wave of its join, for joins that count.

    A join of which one token is enough has a wave, too: its token lies in it for a moment before the join has met.
    """
    roles: dict[int, dict[str, int]] = {n: {} for n, step in enumerate(plan.steps) if step.join.mode == "count"}
    for number, place in enumerate(plan.net.places if roles else ()):
        if place.step in roles:
            roles[place.step][place.role] = number
    return {step: Wave(own["got"], own["idle"], own["met"]) for step, own in roles.items() if "got" in own}


def together(tests: Iterable[Emptiness]) -> Emptiness:
    """The union of some sets: the places and waves that must be empty for all of them."""
    chosen = [*tests]
    places = frozenset[int]().union(*(test.places for test in chosen))
    return Emptiness(places, tuple([wave for test in chosen for wave in test.waves]))
