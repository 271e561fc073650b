"""Runs in which tasks are cut short, told as runs in which they fail: a script has words for these, and no time limit
and no signal comes into it. What follows is the same: the token leaves the pipeline badly from wherever it stands.
"""

from collections.abc import Iterator, Sequence

from noetl_ir.net import Transition
from noetl_ir.plan import Plan
from noetlc.analysis.skeleton import impossible

CUTS = frozenset({"expire", "interrupt"})
_BEFORE = {"at": ("start",), "due": ("wake", "start"), "run": ()}
"""What comes before the outcome of an attempt, by the role of the place where the token stands."""


def told_by_outcomes(plan: Plan, run: Sequence[Transition]) -> tuple[Transition, ...]:
    """The run of a plan's net with an attempt that fails for each that is cut short, where the task may fail."""
    if not any(t.role in CUTS for t in run):
        return tuple(run)
    shut = impossible(plan)
    by_task: dict[tuple[int, str], Transition] = {}
    for number, t in enumerate(plan.net.transitions):
        wanted = t.role in ("start", "wake") or (t.role == "fail" and t.outcome == "error")
        if wanted and number not in shut:
            by_task.setdefault((t.task, t.role), t)
    return tuple([each for t in run for each in _told(plan, t, by_task)])


def _told(plan: Plan, t: Transition, by_task: dict[tuple[int, str], Transition]) -> Iterator[Transition]:
    before = _BEFORE.get(plan.net.places[t.inputs[0].place].role) if t.role in CUTS else None
    roles = () if before is None else (*before, "fail")
    if roles and all((t.task, role) in by_task for role in roles):
        yield from (by_task[t.task, role] for role in roles)
    else:
        yield t
