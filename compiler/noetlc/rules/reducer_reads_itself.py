"""reducer-reads-itself: what is contributed to a reduced key is made of the key's own value.

Why it matters
    `set_ctx` contributes to a key that `executor.spec.ctx` declares: with `ctx.n + 1` the old value counts twice.
Example
    executor: {spec: {ctx: {n: {reduce: sum}}}}
    set_ctx: {n: "{{ ctx.n + 1 }}"}
Instead
    set_ctx: {n: 1}
When to ignore
    Where the old value is meant to count again, as in a sum that is to double.
"""

from collections.abc import Iterator

from noetlc.ast.reducers import contributions_in
from noetlc.diag.diagnostic import Diagnostic, Severity
from noetlc.expr.updates import reads_key, update_of
from noetlc.rules import LintRule, Unit


def check(unit: Unit) -> Iterator[Diagnostic]:
    """Contributions that read the value of their own key."""
    for key, reducer, value in contributions_in(unit.playbook):
        if reads_key(value.template, key):
            update = update_of(value.template, key)
            alone = update is not None and update.reduce == reducer
            help = f"write `set_ctx: {{{key}: {update.contribution}}}`" if update is not None and alone else _HELP
            yield RULE.finding(
                f"what is contributed to `ctx.{key}` is made of `ctx.{key}` itself", value.span, help=help
            )


_HELP = "write what is added alone: the reducer puts it to what is there"

RULE = LintRule("NL420", Severity.WARNING, "ast", check, about=("reducers",))
