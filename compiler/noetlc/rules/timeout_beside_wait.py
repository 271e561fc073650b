"""timeout-beside-wait: a step or a loop has a `timeout`, which does not reach its `wait` or `playbook`.

Why it matters
    `timeout` is how long one attempt may keep a worker. A `wait` and a call of a playbook keep none, and may take days:
    they have only a limit that is written at the task, or for their kind in `executor.spec.tasks`.
Example
    - step: approval
      spec: {timeout: 2m}
      tool: {kind: wait, events: [approved]}
Instead
    - step: approval
      tool: {kind: wait, events: [approved], spec: {timeout: 2m}}
    Or, for the whole step: `spec: {policy: {lifecycle: {timeout_s: 120}}}`.
When to ignore
    Where the `timeout` is meant for the other tasks of the step.
"""

from collections.abc import Iterator

from noetlc.ast.defaults import timeout_of
from noetlc.ast.pipeline import is_bounded
from noetlc.ast.playbook import Playbook, Step, Task, Value
from noetlc.ast.walk import loops_of
from noetlc.diag.diagnostic import Diagnostic, Severity
from noetlc.reading.kinds import kind_of
from noetlc.rules import LintRule, Unit, listed_steps


def check(unit: Unit) -> Iterator[Diagnostic]:
    """Limits of attempts of a step or loop, with tasks inside that wait outside of a worker and have no limit."""
    for step in unit.playbook.steps:
        limits = [
            value for value in (step.spec.timeout, *(loop.timeout for loop in loops_of(step))) if value is not None
        ]
        waiting = [task.name for task in step.tasks if _is_unlimited(unit.playbook, step, task)] if limits else []
        if waiting:
            yield _finding(step, limits[-1], waiting)


def _finding(step: Step, limit: Value, waiting: list[str]) -> Diagnostic:
    message = f"this `timeout` does not reach {listed_steps(waiting)}, which a worker does not wait for"
    help = "write `spec: {timeout: …}` at the task, or `lifecycle: {timeout_s: …}` for the whole step"
    # A task beside them takes it, and may be the one that it is meant for.
    if len(waiting) < len(step.tasks):
        return RULE.note(message, limit.span, help=help)
    return RULE.finding(message, limit.span, help=help)


def _is_unlimited(playbook: Playbook, step: Step, task: Task) -> bool:
    kind = kind_of(task.kind)
    if kind is None or not kind.parks or task.generated or is_bounded(step):
        return False
    own = any(name == "timeout" for name, _ in task.fields)
    return not own and timeout_of(playbook, step, task, parks=True) is None


RULE = LintRule("NL830", Severity.WARNING, "ast", check, about=("wait", "playbook"))
