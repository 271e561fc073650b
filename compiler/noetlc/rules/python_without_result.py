"""python-without-result: the `code` of a python task gives no result.

Why it matters
    Printed text is output, which `noetl logs` shows, and no result. The result is the value that the code assigns to
    `result` or returns, or that `main` gives.
Example
    - {kind: python, code: "total = 1 + 2\\nprint(total)"}
Instead
    - {kind: python, code: "result = 1 + 2"}
When to ignore
    Where the code is run for its effects alone.
"""

from collections.abc import Iterator

from noetl_ir.expr import Literal
from noetlc.ast.python_code import python_code
from noetlc.diag.diagnostic import Diagnostic, Severity
from noetlc.rules import LintRule, Unit


def check(unit: Unit) -> Iterator[Diagnostic]:
    """Programs that never set `result`, return, or define `main`."""
    for _, task, value in unit.programs["code"]:
        if task.kind != "python" or not isinstance(value.template, Literal):
            continue
        text = value.template.value
        if isinstance(text, str) and text.strip() and not python_code(text).gives:
            yield RULE.finding(
                f"the code of `{task.name}` gives no result: the task yields null",
                task.name_span,
                help="assign `result`, `return` a value, or define `main`; leave it if only what it does counts",
            )


RULE = LintRule("NL806", Severity.NOTE, "ast", check, about=("code",))
