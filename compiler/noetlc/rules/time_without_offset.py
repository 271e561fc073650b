"""time-without-offset: the time of a timer does not say where it is that time.

Why it matters
    The time is read as UTC. Nine o'clock in Oslo is seven or eight in UTC, by the season: the wait ends one or
    two hours late.
Example
    tool: {kind: wait, timers: {opening: {at: "2026-03-01T09:00:00"}}}
Instead
    tool: {kind: wait, timers: {opening: {at: "2026-03-01T09:00:00+01:00"}}}
When to ignore
    Never: a `Z` behind a time of UTC says so.
"""

from collections.abc import Iterator

from noetl_ir.expr import Json, Literal, MapTemplate, Template
from noetl_ir.kinds.wait import AT, moment_of
from noetlc.ast.timers import timers_of
from noetlc.diag.diagnostic import Diagnostic, Severity
from noetlc.rules import LintRule, Unit


def check(unit: Unit) -> Iterator[Diagnostic]:
    """Times that are written out; the log tells of those that are computed."""
    for step in unit.playbook.steps:
        for task in step.tasks:
            for name, timer, span in timers_of(task):
                moment = moment_of(_time(timer))
                if moment is not None and not moment[1]:
                    message = f"the time of the timer `{name}` has no offset: it is read as UTC"
                    yield RULE.finding(
                        message, span, help="write the offset behind it, such as `+01:00`, or `Z` for UTC"
                    )


def _time(timer: Template) -> Json:
    match timer:
        case Literal(value=dict(value)):
            return value.get(AT)
        case MapTemplate(items=items):
            part = dict(items).get(AT)
            return part.value if isinstance(part, Literal) else None
    return None


RULE = LintRule("NL815", Severity.WARNING, "ast", check, about=("wait",))
