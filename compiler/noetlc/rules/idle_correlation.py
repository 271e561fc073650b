"""idle-correlation: a wait has a key and waits for no signal.

Why it matters
    `correlation` says under which key signals are sent to the wait; without `events` it listens to none of them, and
    only a timer ends it.
Example
    tool: {kind: wait, correlation: "order {{ workload.order }}", timers: {late: 2d}}
Instead
    tool: {kind: wait, correlation: "order {{ workload.order }}", events: [paid], timers: {late: 2d}}
When to ignore
    Never: it has no effect. Most likely `events` is missing.
"""

from collections.abc import Iterator

from noetl_ir.expr import Literal
from noetlc.diag.diagnostic import Diagnostic, Severity
from noetlc.rules import LintRule, Unit


def check(unit: Unit) -> Iterator[Diagnostic]:
    """Waits under a key without the name of a signal."""
    for step in unit.playbook.steps:
        for task in step.tasks:
            fields = dict(task.fields) if task.kind == "wait" else {}
            events, correlation = fields.get("events"), fields.get("correlation")
            if correlation is None or correlation.template == Literal(None):
                continue
            if events is None or events.template in (Literal(None), Literal([])):
                help = "name the signals in `events`, or remove `correlation`"
                yield RULE.finding(f"`{task.name}` waits for no signal under its key", correlation.span, help=help)


RULE = LintRule("NL818", Severity.WARNING, "ast", check, about=("wait",))
