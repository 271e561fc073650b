"""hyphenated-name: a name with a dash is used in an expression, where the dash is a minus.

Why it matters
    `fetch-page.data` is `fetch` minus `page.data`.
Example
    - {name: fetch-page, kind: noop}
    - {name: use, kind: noop, args: {note: "{{ fetch-page.data }}"}}
Instead
    Name the task `fetch_page`; the result of a step `fetch-page` is also `steps['fetch-page']`.
"""

from collections.abc import Iterator

from noetl_ir.expr import Attribute, Binary, Expr, Name, walk
from noetlc.ast.walk import all_expressions
from noetlc.diag.diagnostic import Diagnostic, Severity
from noetlc.rules import Rule, Unit


def check(unit: Unit) -> Iterator[Diagnostic]:
    """Differences that spell the name of a step or task."""
    steps = {step.name for step in unit.playbook.steps if "-" in step.name}
    tasks = {task.name for step in unit.playbook.steps for task in step.tasks if "-" in task.name}
    if not steps and not tasks:
        return
    for expr, scalar in all_expressions(unit.playbook):
        for part in walk(expr):
            if isinstance(part, Binary) and part.op == "-" and scalar is not None:
                spelt = scalar.text[part.start : part.end]
                name = _spelt(part)
                if name in steps | tasks and spelt.startswith(name):
                    way = f"steps['{name}']" if name in steps else name.replace("-", "_")
                    yield RULE.finding(
                        f"`{name}` in an expression is a difference, not the name",
                        unit.source.inner_span(scalar, part.start, part.start + len(name)),
                        help=f"write `{way}`" + ("" if name in steps else " and rename the task"),
                    )


def _spelt(expr: Expr) -> str:
    """The name that a chain of differences spells; "" where it spells none."""
    parts: list[str] = []
    while isinstance(expr, Binary) and expr.op == "-":
        root = expr.right
        while isinstance(root, Attribute):
            root = root.of
        if not isinstance(root, Name):
            return ""
        parts.append(root.name)
        expr = expr.left
    if not isinstance(expr, Name):
        return ""
    return "-".join((expr.name, *reversed(parts)))


RULE = Rule("NL312", Severity.WARNING, "ast", check)
