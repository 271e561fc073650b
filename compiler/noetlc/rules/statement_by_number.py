"""statement-by-number: the result of a SQL statement is read by the statement's number.

Why it matters
    `command_0` is how older playbooks read results. Because of it every SQL task of the file keeps the rows of all its
    statements, those of the last one twice. A statement that is added in front gives all others another number.
Example
    - {kind: sqlite, query: "SELECT count(*) AS n FROM orders"}
    result: "{{ start.command_0.rows[0].n }}"
Instead
    result: "{{ start.rows[0].n }}"
    The result of a task is that of its last statement; give each statement whose rows are read a task of its own.
When to ignore
    Where one text of several statements has to stay one task, and the rows of more than one are read.
"""

from collections.abc import Iterator

from noetlc.ast.walk import all_expressions
from noetlc.codegen.statements import NAMED
from noetlc.diag.diagnostic import Diagnostic, Severity
from noetlc.expr.paths import accesses
from noetlc.rules import LintRule, Unit


def check(unit: Unit) -> Iterator[Diagnostic]:
    """Paths with `command_N` in canonical text; older dialects are read as they were meant."""
    if unit.playbook.legacy:
        return
    for expr, scalar in all_expressions(unit.playbook):
        for access in accesses(expr) if scalar is not None and "command_" in scalar.text else ():
            for key, node in zip(access.keys, access.nodes, strict=False):
                if scalar is not None and isinstance(key, str) and NAMED.fullmatch(key):
                    yield RULE.finding(
                        f"`{key}` is the result of a statement by its number",
                        unit.source.inner_span(scalar, access.root.start, node.end),
                        help="read `rows` of the task: that of its last statement",
                    )


RULE = LintRule("NL813", Severity.NOTE, "ast", check, words=("command_",))
