"""The gate of a step: its admission rules, folded into one guard.

rules: [{when: a, allow}, {when: b, deny}, {else: allow}]   →   true if a else (false if b else true)
"""

from noetl_ir.expr import Conditional, Const, Expr
from noetlc.ast.playbook import Admit
from noetlc.codegen.pool import Pool

_TRUE, _FALSE = Const(True), Const(False)


def guard_of(admit: Admit | None, pool: Pool) -> int:
    """The pool index of the folded rules; -1 when every token is admitted."""
    if admit is None:
        return -1
    first, rest = (admit.rules[0], admit.rules[1:]) if admit.rules else (None, ())
    if first is not None and first.when is None and first.allow:
        return -1
    denied = all(rule.when is None and not rule.allow for rule in rest)
    if first is not None and first.when is not None and first.allow and denied:
        return pool.guard(first.when)
    expr, text = _folded(admit)
    return pool.expression(expr, text, admit.span)


def _folded(admit: Admit) -> tuple[Expr, str]:
    expr: Expr = _FALSE  # no rule matches: denied
    text = "false"
    for rule in reversed(admit.rules):
        verdict, word = (_TRUE, "true") if rule.allow else (_FALSE, "false")
        if rule.when is None:
            expr, text = verdict, word
        else:
            expr = Conditional(rule.when.expr, verdict, expr)
            text = f"{word} if {rule.when.text} else ({text})"
    return expr, text
