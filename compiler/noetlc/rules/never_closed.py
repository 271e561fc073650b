"""never-closed: a loop that signals add items to, and that nothing ends.

Why it matters
    The loop waits for the next item for ever, and the execution with it.
Example
    loop:
      iterator: order
      spec: {more: {events: [order]}}
Instead
    spec: {more: {events: [order]}, close: {events: [last_order], timers: {night: 8h}}}
When to ignore
    Where the execution is meant to run until somebody cancels it.
"""

from collections.abc import Iterator

from noetlc.ast.pipeline import ends_from_outside
from noetlc.ast.walk import loops_of
from noetlc.diag.diagnostic import Diagnostic, Severity
from noetlc.rules import LintRule, Unit


def check(unit: Unit) -> Iterator[Diagnostic]:
    """Loops with `more` and without `close`, `complete`, `enough`, a limit of time or an interrupt around them."""
    if unit.playbook.executor.lifecycle_timeout is not None:
        return
    for step in unit.playbook.steps:
        for loop in loops_of(step):
            verbs = {signal.verb: signal for signal in loop.signals}
            if "more" in verbs and len(verbs) == 1 and loop.enough is None and not ends_from_outside(step):
                message = f"nothing ends the loop of `{step.name}`: it waits for items for ever"
                help = "write `close: {events: [NAME]}`, `complete`, or `policy: {enough: N}` beside it"
                yield RULE.finding(message, verbs["more"].span, help=help)


RULE = LintRule("NL520", Severity.WARNING, "ast", check, about=("loop",), words=("more",))
