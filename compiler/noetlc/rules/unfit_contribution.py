"""unfit-contribution: a value that its reducer cannot take is contributed to a key of `ctx`.

Why it matters
    The task fails with `reduce.type` whenever the rule is asked.
Example
    executor: {spec: {ctx: {seen: {reduce: union}}}}
    set_ctx: {seen: lemon}
Instead
    set_ctx: {seen: [lemon]}
When to ignore
    Never: the value is what it is in every run.
"""

from collections.abc import Iterator

from noetl_ir.expr import ListTemplate, Literal, MapTemplate, Template, Text
from noetl_ir.reducing import fault_of
from noetlc.ast.reducers import contributions_in
from noetlc.diag.diagnostic import Diagnostic, Severity
from noetlc.rules import LintRule, Unit


def check(unit: Unit) -> Iterator[Diagnostic]:
    """Contributions whose shape is known and does not fit."""
    for key, reducer, value in contributions_in(unit.playbook):
        why = _fault(reducer, value.template)
        if why:
            help = "write `[…]` around it" if reducer == "union" else ""
            yield RULE.finding(f"`ctx.{key}` is reduced: {why}", value.span, help=help)


def _fault(reducer: str, template: Template) -> str:
    """Why a value does not fit, as far as its shape is known."""
    match template:
        case Literal(value=value):
            return fault_of(reducer, value)
        case MapTemplate():
            return fault_of(reducer, {})
        case ListTemplate():
            return fault_of(reducer, [])
        case Text():
            return fault_of(reducer, "")
    return ""


RULE = LintRule("NL421", Severity.ERROR, "ast", check, about=("reducers",))
