"""unread-ctx-key: a key of `ctx` is set, and nothing reads it.

Why it matters
    Either the reader was forgotten or misspelt, or the value is carried through every event for nothing.
Example
    set_ctx: {tottal: "{{ outcome.result.total }}"}
    args: {sum: "{{ ctx.total | default(0) }}"}
Instead
    set_ctx: {total: "{{ outcome.result.total }}"}
When to ignore
    Where somebody outside looks at `ctx`, as with `noetl status`. Nothing is said of a playbook that reads no key of
    `ctx` at all: it sets them for that.
"""

from collections.abc import Iterator

from noetl_ir.expr import Expr, Literal
from noetl_ir.nearest import OWN_LIKENESS, nearest
from noetl_ir.python_names import python_reads
from noetlc.ast.once import Once
from noetlc.ast.python_code import python_code
from noetlc.ast.walk import all_expressions, all_values, blocks_in
from noetlc.diag.diagnostic import Diagnostic, Severity
from noetlc.expr.paths import accesses
from noetlc.rules import LintRule, Unit


def check(unit: Unit) -> Iterator[Diagnostic]:
    """Keys that no expression names, where none reads `ctx` as a whole; each at its first place."""
    playbook = unit.playbook
    rules = [rule for step in playbook.steps for task in step.tasks for rule in task.rules]
    # Backwards, so that the first place of each key stays.
    written = {key: value for rule in reversed(rules) for key, value in reversed(rule.set_ctx)}
    by_code = _read_by_code(unit) if written and not playbook.legacy else None
    if by_code is None:
        return
    read = by_code | {name for expr, _ in all_expressions(playbook) for name in _names(expr)}
    asked = {key for expr, _ in all_expressions(playbook) for key in _keys(expr)}
    # Where nothing of `ctx` is read at all there is no slip between two names, and nothing is told.
    if not asked and read.isdisjoint(written):
        return
    unset = sorted(asked - written.keys())
    for key, value in sorted(written.items()):
        if key not in read and not key.startswith("__") and "" not in read:
            path = f"ctx.{key}" if key.isidentifier() else f"ctx[{key!r}]"
            near = nearest(key, unset, OWN_LIKENESS)
            help = _meant(near) if near else _to_read(path)
            yield RULE.finding(f"nothing reads `{path}`", value.span, help=help)


def _to_read(path: str) -> str:
    return f"read it as `{path}` in an expression, give it to code in `args`, or do not set it"


def _meant(name: str) -> str:
    return f"`ctx.{name}` is read, and nothing sets it: write one name in both places"


def _keys_read(expr: Expr) -> tuple[str, ...]:
    """The keys that an expression reads of `ctx` by its name."""
    found = (access for access in accesses(expr) if access.root.name == "ctx" and access.keys)
    return tuple(str(access.keys[0]) for access in found)


def _read_by_code(unit: Unit) -> set[str] | None:
    """The keys that python code may read by their names; None where code or a block template may read any."""
    if any(True for value in all_values(unit.playbook) for _ in blocks_in(value)):
        return None
    found: set[str] = set()
    for _, _, value in unit.programs["code"]:
        text = value.template.value if isinstance(value.template, Literal) else None
        if not isinstance(text, str):
            return None
        reads = python_reads(text)
        names = reads.parameters | (reads.keys or set())
        if reads.keys is None or "ctx" in names or any(name.name == "ctx" for name in python_code(text).free):
            return None
        found |= names
    return found


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
_keys = Once(_keys_read)

RULE = LintRule("NL408", Severity.NOTE, "ast", check, whole=True)
