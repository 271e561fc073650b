"""Names of secrets. A name tells where a secret is looked up, so that it may stand in a playbook; the
secret may not.
"""

from collections.abc import Iterator

from noetl_ir.expr import Call, Expr, Name, expressions_of, walk
from noetl_ir.secret_fields import NAMING
from noetlc.ast.once import Once
from noetlc.ast.playbook import Playbook, Task, Value
from noetlc.ast.walk import all_expressions, expressions_in, tasks_in
from noetlc.ast.workbook import pairs_of

_ENDS = ("PASSWORD", "API_KEY", "TOKEN", "SECRET")


def is_secret_name(name: str) -> bool:
    """Whether a variable or key of that name holds a secret, as its last word says (REAL.md, values)."""
    return name.upper().endswith(_ENDS)


def names_of_secrets(playbook: Playbook) -> Iterator[Expr]:
    """The expressions that give the name of a secret or of a keychain entry, and not the secret itself."""
    for entry in playbook.keychain:
        yield from (expr for _, value in entry.fields for expr, _ in expressions_in(value))
    for task in tasks_in(playbook):
        yield from _of_task(task)
    for expr, _ in all_expressions(playbook):
        yield from _of_calls(expr)


def _called(expr: Expr) -> Iterator[Expr]:
    for part in walk(expr):
        if isinstance(part, Call) and isinstance(part.callee, Name) and part.callee.name == "token":
            # `token('name')` of old playbooks names its secret.
            yield from part.args


_of_calls: Once[Expr, tuple[Expr, ...]] = Once(lambda expr: tuple(_called(expr)))


def _of_task(task: Task) -> Iterator[Expr]:
    waiting: list[tuple[str, Value]] = [*task.fields]
    if task.args is not None:
        waiting.append(("args", task.args))
    for name, value in waiting:
        if task.kind == "secrets" or name in NAMING:
            yield from (expr for expr, _ in expressions_in(value))
            continue
        for key, inner in (pairs_of(value.template) or {}).items():
            if key in NAMING:
                yield from expressions_of(inner)
