"""unread-input: a start may bring an input that nothing reads.

Why it matters
    Whoever gives it believes that it does something.
Example
    executor: {spec: {inputs: {day: {type: string}, limit: {type: integer}}}}
    args: {day: "{{ workload.day }}"}
Instead
    args: {day: "{{ workload.day }}", limit: "{{ workload.limit }}"}
When to ignore
    Where callers bring it already, and a later version is to read it.
"""

from collections.abc import Iterator

from noetl_ir.expr import Expr, Literal, texts_in
from noetl_ir.python_names import words_of
from noetlc.ast.once import Once
from noetlc.ast.walk import all_expressions, all_values, blocks_in
from noetlc.diag.diagnostic import Diagnostic, Severity
from noetlc.expr.paths import accesses
from noetlc.rules import LintRule, Unit


def check(unit: Unit) -> Iterator[Diagnostic]:
    """Inputs that no expression, block template or program names, where none reads the workload as a whole."""
    inputs = unit.playbook.executor.inputs
    if not inputs:
        return
    read = {name for expr, _ in all_expressions(unit.playbook) for name in _names(expr)}
    words = set[str]()
    for value in all_values(unit.playbook):
        for block in blocks_in(value):
            words |= words_of(block.text)
    # Programs may take any name as a parameter, or read `context`.
    for language in unit.programs.values():
        for _, _, value in language:
            if not isinstance(value.template, Literal):
                continue
            for text in texts_in(value.template.value):
                words |= words_of(text)
    if "" in read or "workload" in words or "context" in words:
        return
    for one in inputs:
        if one.name not in read and one.name not in words:
            yield RULE.finding(
                f"nothing reads the input `{one.name}`",
                one.name_span,
                help=f"read it as `workload.{one.name}`, or leave it out",
            )


def _read(expr: Expr) -> tuple[str, ...]:
    """The names that an expression may read of the workload: keys below it, and bare ones; "" for any."""
    found = []
    for access in accesses(expr):
        if access.root.name != "workload":
            found.append(access.root.name)
        else:
            key = access.keys[0] if access.keys else ""
            found.append(key if isinstance(key, str) else "")
    return tuple(found)


_names = Once(_read)

RULE = LintRule("NL414", Severity.WARNING, "ast", check, whole=True, about=("inputs",))
