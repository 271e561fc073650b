"""shell-template: a template is rendered into the text of a shell command.

Why it matters
    The value becomes part of the command: a quote, a `;` or a `$(…)` in it is run by the shell.
Example
    - {kind: shell, command: "grep '{{ workload.word }}' names.txt"}
Instead
    - {kind: shell, command: 'grep "$WORD" names.txt', env: {WORD: "{{ workload.word }}"}}
When to ignore
    Where the value cannot hold anything but letters and digits, as an id made by this playbook.
"""

from collections.abc import Iterator

from noetl_ir.expr import Expr, Name, walk
from noetlc.ast.once import Once
from noetlc.ast.walk import expressions_in
from noetlc.diag.diagnostic import Diagnostic, Severity
from noetlc.rules import Rule, Unit

_OURS = frozenset({"execution_id", "action_id", "loop_index", "_attempt", "_task", "_iteration", "now", "range"})
"""Names whose values no payload or result can shape."""


def check(unit: Unit) -> Iterator[Diagnostic]:
    """Expressions in shell text that data from outside feeds."""
    for _, task, value in unit.programs["shell"]:
        for expr, scalar in expressions_in(value):
            if scalar is not None and _is_fed(expr):
                yield RULE.finding(
                    f"shell of `{task.name}`: this value becomes part of the command",
                    unit.source.inner_span(scalar, expr.start, expr.end),
                    help='pass it through `env: {NAME: "{{ … }}"}` and write `"$NAME"` in the command',
                )


def _feeds(expr: Expr) -> bool:
    return any(isinstance(part, Name) and part.name not in _OURS for part in walk(expr))


_is_fed = Once(_feeds)

RULE = Rule("NL808", Severity.WARNING, "ast", check)
