"""sql-template: a template is rendered into the text of an SQL statement.

Why it matters
    The value becomes part of the statement: a quote in it ends the literal, and what follows is run as SQL.
Example
    command: "SELECT * FROM users WHERE name = '{{ _prev.name }}'"
Instead
    command: "SELECT * FROM users WHERE name = %(name)s"
    params: {name: "{{ _prev.name }}"}
When to ignore
    Where a name of a table or column has to be put in, and comes from the author of the playbook alone.
"""

from collections.abc import Iterator

from noetl_ir.expr import Expr, Name, walk
from noetlc.ast.walk import expressions_in
from noetlc.diag.diagnostic import Diagnostic, Severity
from noetlc.rules import Rule, Unit
from noetlc.source.nodes import Scalar

_OURS = frozenset({"execution_id", "action_id", "loop_index", "_attempt", "_task", "_iteration", "now", "range"})
"""Names whose values no payload or result can shape."""


def check(unit: Unit) -> Iterator[Diagnostic]:
    """Expressions in SQL text that data from outside feeds; inside quotes the message says what may
    happen.
    """
    for _, task, value in unit.programs["sql"]:
        for expr, scalar in expressions_in(value):
            if scalar is None or not _is_fed(expr):
                continue
            span = unit.source.inner_span(scalar, expr.start, expr.end)
            if _is_quoted(scalar, expr):
                message = f"SQL of `{task.name}`: a quote in this value ends the literal, and what follows is run"
            else:
                message = f"SQL of `{task.name}`: this value becomes part of the statement"
            yield RULE.finding(
                message, span, help="bind it: write a placeholder in the statement and give the value in `params`"
            )


def _is_fed(expr: Expr) -> bool:
    return any(isinstance(part, Name) and part.name not in _OURS for part in walk(expr))


def _is_quoted(scalar: Scalar, expr: Expr) -> bool:
    """Whether the braces stand inside a quoted literal: an odd number of quotes stands before them."""
    return scalar.text.count("'", 0, expr.start) % 2 == 1


RULE = Rule("NL801", Severity.WARNING, "ast", check)
