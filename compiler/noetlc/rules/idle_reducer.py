"""idle-reducer: nothing contributes to a key of `ctx` that `executor.spec.ctx` declares.

Why it matters
    The key keeps its initial value: a contribution was forgotten, or its key is misspelt.
Example
    executor: {spec: {ctx: {total: {reduce: sum}}}}
    set_ctx: {totl: "{{ outcome.result.n }}"}
Instead
    set_ctx: {total: "{{ outcome.result.n }}"}
When to ignore
    Never: a constant belongs in `workload`.
"""

from collections.abc import Iterator

from noetl_ir.nearest import OWN_LIKENESS, nearest
from noetlc.ast.reducers import settings_in
from noetlc.diag.diagnostic import Diagnostic, Severity
from noetlc.rules import LintRule, Unit


def check(unit: Unit) -> Iterator[Diagnostic]:
    """Declared keys that no rule of any task sets."""
    written = {key for key, _ in settings_in(unit.playbook)}
    declared = {one.key for one in unit.playbook.executor.reducers}
    for one in unit.playbook.executor.reducers:
        if one.key not in written:
            near = nearest(one.key, sorted(written - declared), OWN_LIKENESS)
            help = f"`{near}` is set: write one name in both places" if near else f"write `set_ctx: {{{one.key}: …}}`"
            yield RULE.finding(f"nothing contributes to `ctx.{one.key}`", one.key_span, help=help)


RULE = LintRule("NL422", Severity.WARNING, "ast", check, whole=True, about=("reducers",))
