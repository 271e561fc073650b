"""wait-for-nothing: a `wait` names neither a signal nor a timer.

Why it matters
    Nothing can end it: the execution ends as `blocked` as soon as nothing else can go on.
Example
    tool: {kind: wait, desc: until somebody says yes}
Instead
    tool: {kind: wait, events: [approved], timers: {late: 2d}}
When to ignore
    Never: what comes behind the wait is not reached.
"""

from collections.abc import Iterator

from noetl_ir.expr import Literal
from noetl_ir.kinds.wait import AT
from noetlc.ast.defaults import timeout_of
from noetlc.ast.pipeline import ends_from_outside
from noetlc.ast.playbook import Playbook, Step, Task
from noetlc.ast.timers import timers_of
from noetlc.diag.diagnostic import Diagnostic, Severity
from noetlc.rules import LintRule, Unit

_HELP = "write the names of signals in `events`, or durations in `timers`"


def check(unit: Unit) -> Iterator[Diagnostic]:
    """Waits whose signals and timers are written out, and are none."""
    for step in unit.playbook.steps:
        for task in step.tasks:
            # A limit of time or an interrupt ends it as failed, which an arc may be about.
            if (
                task.kind == "wait"
                and not _is_limited(unit.playbook, step, task)
                and _is_empty(task, "events")
                and _has_no_timer(task)
            ):
                yield RULE.finding(f"`{task.name}` waits for no signal and no timer", task.name_span, help=_HELP)


def _is_limited(playbook: Playbook, step: Step, task: Task) -> bool:
    return timeout_of(playbook, step, task, parks=True) is not None or ends_from_outside(step)


def _is_empty(task: Task, field: str) -> bool:
    value = dict(task.fields).get(field)
    return value is None or (isinstance(value.template, Literal) and not value.template.value)


def _has_no_timer(task: Task) -> bool:
    """Whether no timer is set: a timer that is null is none, and so is one at no time."""
    if _is_empty(task, "timers"):
        return True
    timers = [timer for _, timer, _ in timers_of(task)]
    return bool(timers) and all(isinstance(timer, Literal) and timer.value in (None, {AT: None}) for timer in timers)


RULE = LintRule("NL817", Severity.WARNING, "ast", check, about=("wait",))
