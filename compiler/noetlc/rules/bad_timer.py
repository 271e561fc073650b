"""bad-timer: a timer of a `wait` is neither a duration nor a time of day.

Why it matters
    The wait cannot begin: its task fails with `task.fields`, and no rule is asked.
Example
    tool: {kind: wait, events: [go], timers: {late: soon, noon: {at: "12:00"}}}
Instead
    tool: {kind: wait, events: [go], timers: {late: 90m, noon: {at: "2026-03-01T12:00:00+01:00"}}}
When to ignore
    Never: the task fails whenever it is come to.
"""

from collections.abc import Iterator

from noetl_ir.expr import Json, Literal, MapTemplate, Template
from noetl_ir.kinds.wait import AT, faulty_timer
from noetlc.ast.timers import timers_of
from noetlc.diag.diagnostic import Diagnostic, Severity
from noetlc.rules import LintRule, Unit


def check(unit: Unit) -> Iterator[Diagnostic]:
    """Timers whose value is written out, or a mapping that has other keys than it may."""
    for step in unit.playbook.steps:
        for task in step.tasks:
            for name, timer, span in timers_of(task):
                value = _written(timer)
                if value is not _COMPUTED and (why := faulty_timer(value)):
                    reason, _, help = why.partition(": ")
                    yield RULE.finding(f"the timer `{name}` of `{task.name}` {reason}", span, help=help)


def _written(timer: Template) -> Json:
    """A timer's value; where only its time is computed, one with a time that is none to complain about."""
    if isinstance(timer, Literal):
        return timer.value
    if isinstance(timer, MapTemplate):
        return {name: None if name == AT else _COMPUTED for name, _ in timer.items}
    return _COMPUTED


_COMPUTED: Json = "an expression"
"""Stands for what nobody knows before the run; no timer has this value."""

RULE = LintRule("NL814", Severity.ERROR, "ast", check, about=("wait",))
