"""idle-transient: a wait says `transient` and waits for no signal.

Why it matters
    `transient` says which signals end the wait; without `events` there is none, and only a timer ends it.
Example
    tool: {kind: wait, transient: true, timers: {pause: 5m}}
Instead
    tool: {kind: wait, timers: {pause: 5m}}
When to ignore
    Never: it has no effect. Most likely `events` is missing.
"""

from collections.abc import Iterator

from noetl_ir.expr import Literal
from noetlc.diag.diagnostic import Diagnostic, Severity
from noetlc.rules import LintRule, Unit


def check(unit: Unit) -> Iterator[Diagnostic]:
    """Transient waits without the name of a signal."""
    for step in unit.playbook.steps:
        for task in step.tasks:
            fields = dict(task.fields) if task.kind == "wait" else {}
            events, transient = fields.get("events"), fields.get("transient")
            if transient is None or transient.template == Literal(False) or transient.template == Literal(None):
                continue
            if events is None or events.template in (Literal(None), Literal([])):
                help = "name the signals in `events`, or remove `transient`"
                yield RULE.finding(
                    f"`{task.name}` waits for no signal that `transient` could say anything of",
                    transient.span,
                    help=help,
                )


RULE = LintRule("NL816", Severity.WARNING, "ast", check, about=("wait",))
