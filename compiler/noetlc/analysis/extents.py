"""How often each step can run, how many of its runs there can be at once, and beside which other steps."""

from typing import NamedTuple

from noetl_ir.plan import Plan
from noetlc.analysis.answers import counting
from noetlc.analysis.components import components_of
from noetlc.analysis.concurrency import Concurrency, concurrency_of
from noetlc.analysis.goals import Never, coverable
from noetlc.analysis.reductions import reduced
from noetlc.analysis.skeleton import Skeleton, whole_skeleton

MOST = 8
"""How far runs are counted; more is "many"."""

ASKED = 40
"""Steps whose runs are counted by search; what the arcs bound to one needs none."""


class Extent(NamedTuple):
    """Of one step: the most runs in all and at once, and the steps that may run beside it (by name, in file order).

    `runs` is None where a cycle leads back to the step; above `MOST` it is a bound. `at_once` None means many.
    """

    step: str
    runs: int | None
    at_once: int | None
    beside: tuple[str, ...]


def extents_of(plan: Plan, limit: int) -> tuple[Extent, ...]:
    """The extents of all steps, with loops of two items and two slots."""
    skeleton = whole_skeleton(plan, 2)
    ready = _ready(plan)
    small = reduced(skeleton.net, frozenset(ready))
    relation = concurrency_of(small.net)
    where = {place: number for number, place in enumerate(small.places)}
    at = [where[place] for place in ready]
    upper = _most_runs(plan)
    found = []
    asked = 0
    for number, step in enumerate(plan.steps):
        runs: int | None = upper[number]
        at_once: int | None = 1
        if at[number] not in relation.marked:
            runs = at_once = 0
        elif relation.together(at[number], at[number]) or (runs is not None and runs > 1):
            asked += 1
            runs, at_once = _counted(skeleton, ready[number], runs, limit) if asked <= ASKED else (runs, None)
        found.append(Extent(step.name, runs, at_once, _beside(plan, relation, at, number)))
    return tuple(found)


def _ready(plan: Plan) -> list[int]:
    found = [-1] * len(plan.steps)
    for number, place in enumerate(plan.net.places):
        if place.role == "ready" and place.level == 0:
            found[place.step] = number
    return found


def _beside(plan: Plan, relation: Concurrency, at: list[int], number: int) -> tuple[str, ...]:
    row = relation.rows[at[number]]
    return tuple(step.name for other, step in enumerate(plan.steps) if other != number and row >> at[other] & 1)


def _counted(skeleton: Skeleton, place: int, runs: int | None, limit: int) -> tuple[int | None, int | None]:
    """Runs in all, where no cycle repeats them, and at once."""
    if runs is not None:
        most = min(runs, MOST)
        runs = next((n for n in range(1, most) if _never_again(skeleton, place, n, limit)), runs)
    for count in range(2, MOST + 1):
        if isinstance(coverable(skeleton.net, ((place, count),), limit), Never):
            return runs, count - 1
    return runs, None


def _never_again(skeleton: Skeleton, place: int, runs: int, limit: int) -> bool:
    counted, target = counting(skeleton, place, runs + 1)
    return isinstance(coverable(counted.net, target, limit), Never)


def _most_runs(plan: Plan) -> list[int | None]:
    """An upper bound on the runs of each step from its arcs alone; None on and behind cycles."""
    targets = [[plan.arcs[row].target for row in step.arcs if plan.arcs[row].target >= 0] for step in plan.steps]
    found: list[int | None] = [0] * len(plan.steps)
    for members in reversed(list(components_of(targets))):
        for number in members:
            if len(members) > 1 or number in targets[number]:
                found[number] = None
            elif number == plan.entry or found[number] is not None:
                found[number] = _joined(plan, number, found, targets)
    return found


def _joined(plan: Plan, number: int, found: list[int | None], targets: list[list[int]]) -> int | None:
    """The runs of a step off every cycle, its sources being known."""
    step = plan.steps[number]
    index = {each.name: at for at, each in enumerate(plan.steps)}
    given: list[int | None] = []
    for source in step.join.sources:
        if source == "@entry":
            given.append(1)
            continue
        runs, arcs = found[index[source]], targets[index[source]].count(number)
        given.append(None if runs is None else runs * (arcs if plan.steps[index[source]].inclusive else min(arcs, 1)))
    known = [each for each in given if each is not None]
    if step.join.mode == "all":
        return min(known) if known else None
    if len(known) < len(given):
        return None
    return sum(known) if step.join.mode == "any" else max(known, default=0)
