"""idle-keep-for: a signal to an execution says how long it is kept.

Why it matters
    `keep_for` is for signals with a `key`, which are kept where nobody waits under it. One that goes `to` an execution
    is kept there as long as that runs, and by nobody else.
Example
    tool: {kind: signal, to: parent, signal: done, keep_for: 1h}
Instead
    tool: {kind: signal, to: parent, signal: done}
When to ignore
    Never: it has no effect. Most likely `key` is meant, and the `correlation` of a `wait`.
"""

from collections.abc import Iterator

from noetl_ir.expr import Literal
from noetlc.diag.diagnostic import Diagnostic, Severity
from noetlc.rules import LintRule, Unit


def check(unit: Unit) -> Iterator[Diagnostic]:
    """Signals without a key that are to be kept for some time."""
    for step in unit.playbook.steps:
        for task in step.tasks:
            fields = dict(task.fields) if task.kind == "signal" else {}
            keep_for = fields.get("keep_for")
            if keep_for is None or keep_for.template == Literal(None) or "key" in fields:
                continue
            help = "remove it, or write a `key` instead of `to`, for whoever waits under it"
            yield RULE.finding(
                f"`{task.name}` goes to an execution: nothing is kept for a time", keep_for.span, help=help
            )


RULE = LintRule("NL819", Severity.WARNING, "ast", check, about=("signal",))
