"""enough-from-the-start: a condition of `enough` that holds before anything is done.

Why it matters
    The condition is asked once when the loop begins, with all counts at 0: the loop ends there, and runs none of its
    items.
Example
    loop:
      in: "{{ workload.hosts }}"
      iterator: host
      spec: {mode: parallel, policy: {enough: "{{ event.failed < 3 }}"}}
Instead
    spec: {mode: parallel, policy: {enough: "{{ event.done > 0 and event.ok >= event.done / 2 }}"}}
When to ignore
    Where a loop without items is meant to end well.
"""

from collections.abc import Iterator

from noetl_ir.evaluate import Fault, compile_guard
from noetl_ir.expr import Expr, Name, Native, walk
from noetl_ir.scopes.play import PlayScope
from noetlc.ast.walk import loops_of
from noetlc.diag.diagnostic import Diagnostic, Severity
from noetlc.rules import LintRule, Unit


def check(unit: Unit) -> Iterator[Diagnostic]:
    """Conditions over the counts alone that hold when all of them are 0."""
    for step in unit.playbook.steps:
        for loop in loops_of(step):
            template = None if loop.enough is None else loop.enough.template
            if loop.enough is None or not isinstance(template, Native):
                continue
            # One that reads anything else may be false with its data.
            if {part.name for part in walk(template.expr) if isinstance(part, Name)} != {"event"}:
                continue
            help = "ask for something done too: `event.done > 0 and …`"
            if all(_holds(template.expr, total) for total in (1, 1_000)):
                message = f"`enough` of `{step.name}` holds when nothing is done, so that the loop ends as it begins"
                yield RULE.finding(message, loop.enough.span, help=help)
            elif _holds(template.expr, 0):
                message = f"`enough` of `{step.name}` holds of a loop without items, which ends well"
                yield RULE.note(message, loop.enough.span, help=help)


def _holds(expr: Expr, total: int) -> bool:
    """Whether a condition holds at the start of a loop of so many items."""
    try:
        return compile_guard(expr)(PlayScope({"event": {"total": total, "ok": 0, "failed": 0, "done": 0}}))
    except Fault:
        return False  # a fault tells of itself


RULE = LintRule("NL514", Severity.WARNING, "ast", check, about=("loop",), words=("enough",))
