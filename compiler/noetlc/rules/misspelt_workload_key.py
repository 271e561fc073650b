"""misspelt-workload-key: an expression reads a key that the workload lacks, beside one that is spelt much like it.

Why it matters
    A payload may bring keys that are not declared, so that nothing else finds the slip before the run.
Example
    workload: {region: eu}
    params: {region: "{{ workload.regoin }}"}
Instead
    params: {region: "{{ workload.region }}"}
When to ignore
    Where both keys exist and only one has a default: declare the other one as null.
"""

from collections.abc import Iterator

from noetl_ir.expr import Expr
from noetl_ir.nearest import nearest
from noetlc.ast.once import Once
from noetlc.ast.walk import all_expressions
from noetlc.ast.workload import workload_names
from noetlc.diag.diagnostic import Diagnostic, Fix, Severity
from noetlc.expr.closed import needs_all
from noetlc.expr.paths import Access, accesses
from noetlc.rules import LintRule, Unit

_LIKENESS = 0.75


def check(unit: Unit) -> Iterator[Diagnostic]:
    """`workload.x` where x is not declared and something like it is."""
    declared, inputs = workload_names(unit.playbook), unit.playbook.executor.inputs
    near: dict[str, str] = {}
    for expr, scalar in all_expressions(unit.playbook) if declared or inputs is not None else ():
        for access in _of_workload(expr):
            key = access.keys[0]
            if scalar is None or not isinstance(key, str) or key in declared:
                continue
            if key not in near:
                near[key] = nearest(key, sorted(declared), _LIKENESS)
            # A key that is like none may come with the payload, unless inputs are declared.
            if near[key] or (inputs is not None and needs_all(expr)):
                end = access.nodes[0].end
                span = unit.source.inner_span(scalar, end - len(key), end)
                # A key in a subscript or with escapes does not stand in the file as it is.
                plain = scalar.text[end - len(key) : end] == key and span.line == span.end_line
                meant = f"did you mean `{near[key]}`? " if near[key] else ""
                where = "among the inputs" if inputs is not None else "where it is a key of the payload"
                yield RULE.finding(
                    f"the workload declares no `{key}`",
                    span,
                    help=f"{meant}Declare `{key}` {where}",
                    fix=Fix(span, near[key], f"write `{near[key]}`", safe=False) if plain and near[key] else None,
                )


def _read(expr: Expr) -> tuple[Access, ...]:
    return tuple(access for access in accesses(expr) if access.root.name == "workload" and access.keys)


_of_workload = Once(_read)


RULE = LintRule("NL403", Severity.WARNING, "ast", check)
