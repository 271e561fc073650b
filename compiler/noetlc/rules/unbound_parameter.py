"""unbound-parameter: an SQL statement names a parameter that `params` does not have.

Why it matters
    The database refuses the statement, or binds null without a word.
Example
    - {kind: sqlite, query: "SELECT * FROM users WHERE name = :nam", params: {name: "{{ args.name }}"}}
Instead
    - {kind: sqlite, query: "SELECT * FROM users WHERE name = :name", params: {name: "{{ args.name }}"}}
When to ignore
    Where the database has a variable of that name.
"""

import re
from collections.abc import Iterator

from noetl_ir.expr import Literal
from noetl_ir.nearest import nearest
from noetlc.ast.playbook import Task
from noetlc.ast.workbook import pairs_of
from noetlc.diag.diagnostic import Diagnostic, Severity
from noetlc.rules import LintRule, Unit
from noetlc.source.nodes import Scalar

_PLACEHOLDER = {
    "sqlite": re.compile(r"(?<![:\w])[:@$]([A-Za-z_]\w*)"),
    "duckdb": re.compile(r"(?<![$\w])\$([A-Za-z_]\w*)(?!\w*\$)"),
    "postgres": re.compile(r"(?<!%)(?:%%)*%\((\w+)\)s"),
}
_TEXT = re.compile(r"'[^']*'|\"[^\"]*\"|--[^\n]*|/\*.*?\*/|\{\{.*?\}\}", re.DOTALL)
"""What holds no placeholders; psycopg alone looks into texts too."""


def check(unit: Unit) -> Iterator[Diagnostic]:
    """Placeholders in statements whose `params` are written out as a mapping."""
    for _, task, value in unit.programs["sql"]:
        pattern, bound = _PLACEHOLDER.get(task.kind), _bound_names(task)
        scalar = value.node
        if pattern is None or bound is None or not isinstance(scalar, Scalar) or not isinstance(scalar.value, str):
            continue
        text = scalar.text
        # The driver of postgres replaces placeholders in texts and comments, too.
        if task.kind != "postgres":
            text = _TEXT.sub(lambda found: " " * len(found.group()), text)
        for found in pattern.finditer(text):
            if found[1] not in bound:
                yield RULE.finding(
                    f"`params` of `{task.name}` has no `{found[1]}`",
                    unit.source.inner_span(scalar, found.start(), found.end()),
                    help=_help(found[1], bound),
                )


def _bound_names(task: Task) -> set[str] | None:
    """The keys of `params`; None where they are not written out."""
    fields = dict(task.fields)
    value = fields.get("params") or fields.get("parameters")
    if value is None or value.template == Literal(None):
        return None
    pairs = pairs_of(value.template)
    return None if pairs is None else set(pairs)


def _help(name: str, bound: set[str]) -> str:
    near = nearest(name, sorted(bound))
    return f"did you mean `{near}`?" if near else f"give it: `params: {{{name}: …}}`"


RULE = LintRule("NL807", Severity.WARNING, "ast", check, about=("sql",))
