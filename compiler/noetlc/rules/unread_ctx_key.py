"""unread-ctx-key: a key of `ctx` is set, and nothing reads it.

Why it matters
    Either the reader was forgotten or misspelt, or the value is carried through every event for nothing.
Example
    set_ctx: {tottal: "{{ outcome.result.total }}"}
    args: {sum: "{{ ctx.total | default(0) }}"}
Instead
    set_ctx: {total: "{{ outcome.result.total }}"}
When to ignore
    Where somebody outside looks at `ctx`, as with `noetl status`.
"""

from collections.abc import Iterator

from noetl_ir.expr import Expr, Literal
from noetlc.ast.once import Once
from noetlc.ast.python_code import python_code
from noetlc.ast.walk import all_expressions, all_values, blocks_in
from noetlc.diag.diagnostic import Diagnostic, Severity
from noetlc.expr.paths import accesses
from noetlc.rules import Rule, Unit


def check(unit: Unit) -> Iterator[Diagnostic]:
    """Keys that no expression names, where none reads `ctx` as a whole; each at its first place."""
    playbook = unit.playbook
    rules = [rule for step in playbook.steps for task in step.tasks for rule in task.rules]
    written = {key: value for rule in reversed(rules) for key, value in reversed(rule.set_ctx)}
    if not written or playbook.legacy or _is_read_whole(unit):
        return
    read = {name for expr, _ in all_expressions(playbook) for name in _names(expr)}
    for key, value in sorted(written.items()):
        if key not in read and not key.startswith("__") and "" not in read:
            path = f"ctx.{key}" if key.isidentifier() else f"ctx[{key!r}]"
            help = f"read it as `{path}`, or remove it"
            yield RULE.finding(f"nothing reads `{path}`", value.span, help=help)


def _is_read_whole(unit: Unit) -> bool:
    """Whether code or a block template may read any key."""
    if any(True for value in all_values(unit.playbook) for _ in blocks_in(value)):
        return True
    for _, _, value in unit.programs["code"]:
        text = value.template.value if isinstance(value.template, Literal) else None
        if not isinstance(text, str) or any(name.name in ("ctx", "context") for name in python_code(text).free):
            return True
    return False


def _read(expr: Expr) -> tuple[str, ...]:
    """The names that an expression may read of `ctx`: keys below it, and bare ones; "" for any."""
    found = []
    for access in accesses(expr):
        if access.root.name != "ctx":
            found.append(access.root.name)
        else:
            found.append(str(access.keys[0]) if access.keys else "")
    return tuple(found)


_names = Once(_read)

RULE = Rule("NL408", Severity.NOTE, "ast", check)
