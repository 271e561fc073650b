"""How often each step can run, how many of its runs there can be at once, and beside which other steps."""

from collections.abc import Mapping, Sequence

from noetl_ir.plan import Plan
from noetl_ir.records import NamedTuple
from noetl_ir.resets import renewed_joins
from noetlc.analysis.effort import Effort
from noetlc.analysis.goals import Never, Reached, searched
from noetlc.analysis.petri import Petri
from noetlc.analysis.query_checks import counting
from noetlc.analysis.regions import PhaseRegion, regions_of
from noetlc.analysis.skeleton import unemptied_skeleton, unended, whole_skeleton
from noetlc.analysis.together import together_of
from noetlc.analysis.waves import folded_joins
from noetlc.ast.components import components_of

MOST = 8
"""How far runs are counted; more is "many"."""

ASKED, ASKED_PLACES = 40, 4_000
"""Steps whose runs are counted by search, and the places that these searches see in all; the arcs decide most."""

DENSE = 200
"""Transitions for each step (`effort`) of a plan whose steps are counted."""


class Extent(NamedTuple):
    """How often one step can run in all and at once, and the steps that may run beside it (by name, in file order).

    `runs` is None where a cycle leads back to the step; above `MOST` it is a bound. `at_once` None means many.
    """

    step: str
    runs: int | None
    at_once: int | None
    beside: tuple[str, ...]


def extents_of(plan: Plan, effort: Effort) -> tuple[Extent, ...]:
    """The extents of all steps, with loops of two items and two slots; empty where the net is too dense to look at."""
    if effort.refuses(plan, DENSE):
        return ()
    regions = regions_of(plan)
    renewed = frozenset[int]().union(*(renewed_joins(region.plan) for region in regions))
    upper = _most_runs(plan, renewed)
    undoing: dict[int, list[int]] = {}
    for each in plan.compensations:
        undoing.setdefault(each.target, []).append(each.step)
    found: dict[int, Extent] = {}
    for region in regions:
        found.update(_extents(region, upper, effort))
        if region.plan.entry not in undoing:
            continue
        undone = _undone(plan, undoing[region.plan.entry], found)
        for at in region.steps:
            runs = found[at].runs
            many = None if runs is None or undone is None else runs * undone
            found[at] = found[at]._replace(runs=0 if runs == 0 else many)
    return tuple([found[at] for at in range(len(plan.steps))])


def _undone(plan: Plan, steps: Sequence[int], found: Mapping[int, Extent]) -> int | None:
    """The most runs of some steps together; None where a cycle or a loop gives any number of them."""
    most = 0
    for step in steps:
        runs = found[step].runs
        if runs is None or plan.steps[step].loops:
            return None
        most += runs
    return most


def _extents(region: PhaseRegion, upper: Sequence[int | None], effort: Effort) -> dict[int, Extent]:
    """The extents of the steps of a region, none of which runs more often than its `upper` bound."""
    plan = region.plan
    places = enumerate(plan.net.places)
    ready = {place.step: at for at, place in places if place.role == "ready" and not place.level}
    numbers = {place: number for number, place in ready.items()}
    # What steps cancel makes the net dear; settled joins without their question would start once for each token.
    net = folded_joins(unended(unemptied_skeleton(plan, 2) if plan.cancels else whole_skeleton(plan, 2))).net
    together = together_of(net, frozenset(numbers), effort)
    small = together.small
    found = {}
    # A large net makes each search dear, so that fewer steps are searched for. The number depends on the net alone,
    # not on the machine.
    left = min(ASKED, max(4, ASKED_PLACES // len(small.net.places)))
    for number, place in sorted(ready.items()):
        runs, at_once = upper[number], together.most[place]
        if at_once == 0:
            runs = 0
        # One run in all and one at once is what the arcs say of most steps, and needs no search.
        elif at_once != 1 or (runs is not None and runs > 1):
            left -= 1
            if left >= 0 and not effort.is_spent:
                runs = None if runs is None else _runs(small.net, small.place(place), runs, effort)
                at_once = _at_once(small.net, small.place(place), effort) if at_once is None else at_once
        beside = tuple(plan.steps[each].name for each in sorted(numbers[other] for other in together.beside[place]))
        found[number] = Extent(plan.steps[number].name, runs, at_once, beside)
    return found


def _runs(net: Petri, place: int, upper: int, effort: Effort) -> int:
    """The most runs in all, as far as they are counted; no more than `upper`."""
    for most in range(1, min(upper, MOST)):
        if effort.is_spent:
            break
        found = searched(*counting(net, place, most + 1), effort)
        if not isinstance(found, Reached):
            # With the limit hit, the bound from the arcs is still right, though it may be too large.
            return most if isinstance(found, Never) else upper
    return upper


def _at_once(net: Petri, place: int, effort: Effort) -> int | None:
    for most in range(1, MOST):
        if effort.is_spent:
            break
        found = searched(net, ((place, most + 1),), effort)
        if not isinstance(found, Reached):
            # No number is better than one that is too small: None says "many".
            return most if isinstance(found, Never) else None
    return None


def _most_runs(plan: Plan, renewed: frozenset[int]) -> list[int | None]:
    """An upper bound on the runs of each step from its arcs alone; None on and behind cycles. The joins of the steps
    that are `renewed` may begin anew.
    """
    targets = [[plan.arcs[row].target for row in step.arcs if plan.arcs[row].target >= 0] for step in plan.steps]
    index = {each.name: at for at, each in enumerate(plan.steps)}
    found: list[int | None] = [0] * len(plan.steps)
    for members in reversed(list(components_of(targets))):
        for number in members:
            on_cycle = len(members) > 1 or number in targets[number]
            found[number] = None if on_cycle else _joined(plan, number, found, targets, index, number in renewed)
    return found


def _joined(
    plan: Plan,
    number: int,
    found: list[int | None],
    targets: list[list[int]],
    index: Mapping[str, int],
    is_renewed: bool,
) -> int | None:
    """The runs of a step off every cycle, its sources being known."""
    step = plan.steps[number]
    arriving: list[int | None] = []
    for source in step.join.sources:
        if source == "@entry":
            arriving.append(1)
            continue
        runs, arcs = found[index[source]], targets[index[source]].count(number)
        arriving.append(
            None if runs is None else runs * (arcs if plan.steps[index[source]].inclusive else min(arcs, 1))
        )
    known = [each for each in arriving if each is not None]
    if step.join.mode == "all":
        # A join that waits for all runs no more often than its rarest source. A source on a cycle does not matter
        # where another one is bounded.
        return min(known) if known else None
    if len(known) < len(arriving):
        return None
    if step.join.mode == "tokens":
        return sum(known) // step.join.n
    if step.join.mode in ("any", "settled"):
        return sum(known)
    # A join that counts meets once a wave; where it is emptied, with every number of tokens that it counts.
    return sum(known) // max(1, step.join.n) if is_renewed else max(known, default=0)
