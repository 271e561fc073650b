"""enough-above-items: a loop that needs more successes than it has items.

Why it matters
    The loop fails with `loop.not_enough` in every run, however its iterations end.
Example
    loop:
      in: [a, b]
      iterator: mirror
      spec: {mode: parallel, policy: {enough: 3}}
Instead
    spec: {mode: parallel, policy: {enough: 2}}
When to ignore
    Never: what the loop has is written out beside it.
"""

from collections.abc import Iterator

from noetl_ir.expr import ListTemplate, Literal, MapTemplate, Template
from noetlc.ast.walk import loops_of
from noetlc.diag.diagnostic import Diagnostic, Severity
from noetlc.rules import LintRule, Unit


def check(unit: Unit) -> Iterator[Diagnostic]:
    """Numbers in `enough` above the number of items, where both are written out."""
    for step in unit.playbook.steps:
        for loop in loops_of(step):
            grows = any(signal.verb == "more" for signal in loop.signals)
            if grows or loop.enough is None or not isinstance(loop.enough.template, Literal):
                continue
            needed, items = loop.enough.template.value, _count(loop.items.template)
            if items is not None and isinstance(needed, int) and needed > items:
                message = f"the loop of `{step.name}` has {items} items, and {needed} have to succeed"
                yield RULE.finding(message, loop.enough.span, help=f"write {items} or less" if items else "")


def _count(items: Template) -> int | None:
    match items:
        case Literal(value=list() | dict() as value):
            return len(value)
        case ListTemplate(items=parts) | MapTemplate(items=parts):
            return len(parts)
    return None


RULE = LintRule("NL515", Severity.WARNING, "ast", check, about=("loop",), words=("enough",))
