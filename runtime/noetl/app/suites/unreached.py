"""Why generated cases do not reach some parts of a playbook, as far as the plan and the runs tell."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from noetl.app.suites.running import Ran
from noetl.app.suites.step_runs import steps_of
from noetl.engine.evolve_tasks import WAIT
from noetl.engine.program import Program
from noetl_ir.plan import Plan, Task
from noetl_ir.suite import PURE_KINDS, PlaybookPart

MOST = 20
"""Parts that are named for one reason."""

_NO_DATA = "No data were found for"
_NO_CHILD = "Not reached, as no child playbook is compiled in (`--path`, and `noetlc lint`)"
_NO_ERROR = "Not reached, as no signal and no outcome of a script makes an error of it"
_NO_RUN = "Not reached, as no run came to the step"


def reasons(program: Program, missing: Sequence[PlaybookPart], runs: Sequence[Ran]) -> Iterator[str]:
    """A line for each reason, with the parts that it holds for."""
    plan = program.plan
    came = {name for ran in runs for name in steps_of(plan, ran.log)}
    rows: dict[str, list[PlaybookPart]] = {}
    for part in missing:
        rows.setdefault(_reason(plan, part, came), []).append(part)
    for reason, parts in rows.items():
        more = f"; and {len(parts) - MOST} more" if len(parts) > MOST else ""
        yield f"{reason}: {'; '.join(f'{part.span} {part.name}' for part in parts[:MOST])}{more}"


def _reason(plan: Plan, part: PlaybookPart, came: set[str]) -> str:
    steps = {t.step for t in plan.net.transitions if t.id in part.transitions}
    # A step that is not reached is looked for at the arcs that lead there; of what is in it nothing else is known.
    if part.kind != "step" and not any(plan.steps[step].name in came for step in steps):
        return _NO_RUN
    task = _task_of(plan, part)
    if task is None:
        return _NO_DATA
    if task.kind == "playbook" and not plan.children:
        return _NO_CHILD
    if task.timeout < 0 and (task.kind == WAIT or task.kind in PURE_KINDS):
        return _NO_ERROR
    return _NO_DATA


def _task_of(plan: Plan, part: PlaybookPart) -> Task | None:
    """The task that a part is an error of."""
    own = {(t.task, t.outcome) for t in plan.net.transitions if t.id in part.transitions and t.task >= 0}
    tasks = {number for number, outcome in own if outcome == "error" or plan.tasks[number].kind == "playbook"}
    return plan.tasks[tasks.pop()] if part.kind in ("outcome", "rule") and len(tasks) == 1 else None
