"""Verdicts about playbooks in which every construct may stand beside every other, held against a naive explorer."""

import pytest

from harness.samples import first
from mixed_explorer import Explored, explored
from mixed_playbooks import playbook_of
from nets import BOUNDED, CYCLES, PARTS, STUCK, Space, fired_in, is_endless, is_twice, plan_of
from noetl_ir.plan import Plan
from noetlc.analysis.effort import STANDARD, Effort
from noetlc.analysis.queries import query_of
from noetlc.analysis.report import query_verdict
from noetlc.analysis.soundness import soundness_of
from noetlc.analysis.verdict import Status

MOST = 800
SEEDS, SHARES = 1_000, 20
PROVED, UNKNOWN, REFUTED = Status.PROVED, Status.UNKNOWN, Status.REFUTED


def spaces_of(plan: Plan) -> list[list[tuple[Explored, Space]]] | None:
    """For each phase the states with loops of one and two items; None where there are too many."""
    found = []
    for phase in zip(*(explored(plan, items) for items in (1, 2)), strict=True):
        spaces = [(each, each.space(MOST)) for each in phase]
        whole = [(each, space) for each, space in spaces if space is not None]
        if len(whole) < len(spaces):
            return None
        found.append(whole)
    return found


def check(body: str) -> bool:
    """Hold the verdicts about a playbook against all its runs; whether they could be seen."""
    plan = plan_of(body)
    phases = spaces_of(plan)
    if phases is None:
        return False
    whole = [space for phase in phases for _, space in phase]
    stuck = any(
        not row and each.is_stuck(here) for phase in phases for each, space in phase for here, row in space.items()
    )
    endless = any(is_endless(space) for space in whole)
    fired = fired_in(whole)
    for verdict in soundness_of(plan):
        assert verdict.bug is None, verdict.bug
        if verdict.question == STUCK and verdict.status is PROVED:
            assert not stuck, body
        elif verdict.question == STUCK and verdict.status is REFUTED:
            assert stuck, body
        elif verdict.question == CYCLES and verdict.status is PROVED:
            assert not endless, body
        elif verdict.question == CYCLES and verdict.status is REFUTED:
            assert endless, body
        elif verdict.question == PARTS and verdict.status is PROVED:
            begun = fired if _begin_all(plan, fired) else _fired_also_by_failing(plan)
            assert begun is None or _begin_all(plan, begun), body
        elif verdict.question == BOUNDED:
            assert verdict.status is not REFUTED, body
    _check_queries(plan, [space for _, space in phases[0]], body)
    return True


def _begin_all(plan: Plan, fired: set[str]) -> bool:
    return all({f"begin {step.name}", f"expand {step.name} 0"} & fired for step in plan.steps)


def _fired_also_by_failing(plan: Plan) -> set[str] | None:
    """The transitions of all runs, also of those that fail: what only these have counts as no part that cannot run."""
    spaces = [each.space(MOST) for each in explored(plan, 1, fails=True)]
    return None if None in spaces else fired_in(space for space in spaces if space is not None)


def _check_queries(plan: Plan, spaces: list[Space], body: str) -> None:
    """Hold what is proved about steps of main against its runs."""
    places = {place.id: number for number, place in enumerate(plan.net.places)}
    for one, other in (("start", "s1"), ("s1", "s1")):
        least = 1 + (one == other)
        both = any(here and min(here[places[f"ready {one}"]], here[places[f"ready {other}"]]) >= least
                   for space in spaces for here in space)  # fmt: skip
        never = query_verdict(plan, query_of(f"never({one} and {other})"), "q", Effort(STANDARD))
        assert never.bug is None and not (never.status is PROVED and both), body
    once = query_verdict(plan, query_of("at most 1 of s1"), "q", Effort(STANDARD))
    twice = any(is_twice(space, "admit s1") for space in spaces)
    assert once.bug is None and not (once.status is PROVED and twice), body


@pytest.mark.parametrize("share", first(1, range(SHARES)))
def test_verdicts_are_those_of_the_explorer(share: int) -> None:
    for seed in range(share, SEEDS, SHARES):
        check(playbook_of(seed))
