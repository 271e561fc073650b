"""A run in which a time limit or an interrupt cuts tasks short, rewritten as a run in which these tasks fail.

A script (`script`) can say that a task fails, but not that a limit expires or a signal comes. Both ends lead to the
same rest of the run, since the token leaves the pipeline with a failure either way.
"""

from collections.abc import Iterator, Sequence

from noetl_ir.net import Transition
from noetl_ir.plan import Plan
from noetlc.analysis.skeleton import impossible

CUTS = frozenset({"expire", "interrupt"})
_BEFORE = {"at": ("start",), "due": ("wake", "start"), "run": ()}
"""What comes before the outcome of an attempt, by the role of the place where the token stands."""


def told_by_outcomes(plan: Plan, run: Sequence[Transition]) -> tuple[Transition, ...]:
    """The run with each `expire` or `interrupt` replaced by the transitions of an attempt that fails.

    A cut stays as it is where its task cannot fail; a run that still has one cannot be scripted.
    """
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
