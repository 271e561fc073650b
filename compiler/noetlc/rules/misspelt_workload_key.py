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
from noetlc.expr.block_reads import all_reads_in_blocks
from noetlc.expr.closed import needs_all
from noetlc.expr.paths import Access, accesses
from noetlc.rules import LintRule, Unit
from noetlc.source.nodes import Scalar

_LIKENESS = 0.75


def check(unit: Unit) -> Iterator[Diagnostic]:
    """`workload.x` where x is not declared and something like it is."""
    declared, inputs = workload_names(unit.playbook), unit.playbook.executor.inputs
    near: dict[str, str] = {}
    for access, scalar, needed in _read_in(unit) if declared or inputs is not None else ():
        key = access.keys[0]
        if not isinstance(key, str) or key in declared:
            continue
        if key not in near:
            near[key] = nearest(key, sorted(declared), _LIKENESS)
        # A key that is like none may come with the payload, unless inputs are declared.
        if near[key] or (inputs is not None and needed):
            end = access.nodes[0].end
            # In a subscript quotes and a bracket stand behind the key; one with escapes does not stand in the file.
            at = scalar.text.rfind(key, access.root.end, end)
            span = unit.source.inner_span(scalar, at if at >= 0 else access.root.end, at + len(key) if at >= 0 else end)
            plain = at >= 0 and span.line == span.end_line
            meant = f"did you mean `{near[key]}`? " if near[key] else ""
            where = "among the inputs" if inputs is not None else "where it is a key of the payload"
            yield RULE.finding(
                f"the workload declares no `{key}`",
                span,
                help=f"{meant}Declare `{key}` {where}",
                fix=Fix(span, near[key], f"write `{near[key]}`", safe=False) if plain and near[key] else None,
            )


def _read_in(unit: Unit) -> Iterator[tuple[Access, Scalar, bool]]:
    """The reads of keys of the workload, each with its scalar, and whether its expression needs what it reads."""
    for expr, scalar in all_expressions(unit.playbook):
        if scalar is not None:
            yield from ((access, scalar, needs_all(expr)) for access in _of_workload(expr))
    # A branch of a block template may never be taken.
    found = all_reads_in_blocks(unit.playbook) if unit.has_blocks else ()
    yield from ((each, scalar, False) for each, scalar in found if each.root.name == "workload" and each.keys)


def _read(expr: Expr) -> tuple[Access, ...]:
    return tuple(access for access in accesses(expr) if access.root.name == "workload" and access.keys)


_of_workload = Once(_read)


RULE = LintRule("NL403", Severity.WARNING, "ast", check)
