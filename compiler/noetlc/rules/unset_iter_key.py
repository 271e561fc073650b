"""unset-iter-key: an expression reads a key of `iter` that nothing sets.

Why it matters
    `iter` holds what the step's loops and the `set_iter` of its own tasks put there; any other key is undefined.
Example
    rules: [{else: {then: {do: continue, set_iter: {page: "{{ outcome.result.next }}"}}}}]
    params: {page: "{{ iter.pgae }}"}
Instead
    params: {page: "{{ iter.page }}"}
When to ignore
    Never: the value is undefined whenever it is read.
"""

from collections.abc import Iterator

from noetl_ir.expr import Expr
from noetl_ir.nearest import OWN_LIKENESS, nearest
from noetlc.ast.once import Once
from noetlc.ast.playbook import Step
from noetlc.ast.walk import loops_of, step_expressions, task_values
from noetlc.diag.diagnostic import Diagnostic, Severity
from noetlc.expr.block_reads import reads_in_blocks
from noetlc.expr.closed import asks_what_is_there
from noetlc.expr.paths import Access, accesses
from noetlc.rules import LintRule, Unit
from noetlc.source.nodes import Scalar


def check(unit: Unit) -> Iterator[Diagnostic]:
    """Keys of `iter` that are no iterator and that no rule of the step sets."""
    entries = [task for _, task in unit.playbook.workbook]
    for step in unit.playbook.steps:
        known: set[str] | None = None
        for access, scalar in _read_in(unit, step):
            # Entries of the workbook may set keys in whichever step calls them.
            known = known or _known(step) | {key for task in entries for rule in task.rules for key, _ in rule.set_iter}
            key = access.keys[0]
            if not isinstance(key, str) or key in known or "" in known or key.startswith("__"):
                continue
            end = access.nodes[0].end
            yield RULE.finding(
                f"nothing sets `iter.{key}` in `{step.name}`",
                unit.source.inner_span(scalar, access.root.start, end),
                help=_help(key, known),
            )


def _read_in(unit: Unit, step: Step) -> Iterator[tuple[Access, Scalar]]:
    for expr, scalar, _ in step_expressions(step):
        if scalar is not None:
            yield from ((access, scalar) for access in _of_iter(expr))
    for task in step.tasks if unit.has_blocks else ():
        for value in task_values(task):
            found = reads_in_blocks(value)
            yield from ((access, scalar) for access, scalar in found if access.root.name == "iter" and access.keys)


def _known(step: Step) -> set[str]:
    set_keys = {key for task in step.tasks for rule in task.rules for key, _ in rule.set_iter}
    return {"index", "parent", *(loop.iterator for loop in loops_of(step)), *set_keys}


def _help(key: str, known: set[str]) -> str:
    near = nearest(key, sorted(known), OWN_LIKENESS)
    return f"did you mean `{near}`?" if near else f"set it in a rule of a task before: `set_iter: {{{key}: …}}`"


def _read(expr: Expr) -> tuple[Access, ...]:
    if asks_what_is_there(expr):
        return ()
    return tuple(access for access in accesses(expr) if access.root.name == "iter" and access.keys)


_of_iter = Once(_read)

RULE = LintRule("NL404", Severity.WARNING, "ast", check, whole=True, words=("iter",))
