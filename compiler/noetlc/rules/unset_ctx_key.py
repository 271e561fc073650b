"""unset-ctx-key: an expression reads a key of `ctx` that nothing sets.

Why it matters
    `ctx` holds what `set_ctx` of some task put there; any other key is undefined in every run.
Example
    rules: [{else: {then: {do: continue, set_ctx: {total: "{{ outcome.result.total }}"}}}}]
    args: {sum: "{{ ctx.totl }}"}
Instead
    args: {sum: "{{ ctx.total }}"}
When to ignore
    Never: the value is undefined whenever it is read.
"""

from collections.abc import Iterator

from noetl_ir.expr import Expr
from noetl_ir.nearest import OWN_LIKENESS, nearest
from noetlc.ast.once import Once
from noetlc.ast.reducers import keys_in
from noetlc.ast.walk import all_expressions
from noetlc.diag.diagnostic import Diagnostic, Severity
from noetlc.expr.block_reads import all_reads_in_blocks
from noetlc.expr.closed import asks_what_is_there
from noetlc.expr.paths import Access, accesses
from noetlc.rules import LintRule, Unit
from noetlc.source.nodes import Scalar


def check(unit: Unit) -> Iterator[Diagnostic]:
    """Keys of `ctx` that no rule of any task sets."""
    written = keys_in(unit.playbook)
    for access, scalar in _read_in(unit):
        key = access.keys[0]
        # Keys that lowering sets are read where lowering says so.
        if isinstance(key, str) and key not in written and not key.startswith("__"):
            yield RULE.finding(
                f"nothing sets `ctx.{key}`",
                unit.source.inner_span(scalar, access.root.start, access.nodes[0].end),
                help=_help(key, written, {name for name, _ in unit.playbook.workload}),
            )


def _read_in(unit: Unit) -> Iterator[tuple[Access, Scalar]]:
    for expr, scalar in all_expressions(unit.playbook):
        if scalar is not None:
            yield from ((access, scalar) for access in _of_ctx(expr))
    found = all_reads_in_blocks(unit.playbook) if unit.has_blocks else ()
    yield from ((access, scalar) for access, scalar in found if access.root.name == "ctx" and access.keys)


def _help(key: str, written: set[str], workload: set[str]) -> str:
    if key in workload:
        return f"did you mean `workload.{key}`?"
    near = nearest(key, sorted(written), OWN_LIKENESS)
    return f"did you mean `{near}`?" if near else f"set it in a rule of a task before: `set_ctx: {{{key}: …}}`"


def _read(expr: Expr) -> tuple[Access, ...]:
    if asks_what_is_there(expr):
        return ()
    return tuple(access for access in accesses(expr) if access.root.name == "ctx" and access.keys)


_of_ctx = Once(_read)

RULE = LintRule("NL406", Severity.WARNING, "ast", check, whole=True)
