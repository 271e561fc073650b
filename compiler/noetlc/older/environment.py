"""Variables of the environment: which expression reads one, and which of them hold secrets by their names (REAL.md)."""

from collections.abc import Iterator

from noetl_ir.expr import Call, Expr, Name, expressions_of, walk
from noetlc.ast.playbook import Playbook, Task, Value
from noetlc.ast.walk import all_expressions, expressions_in
from noetlc.ast.workbook import pairs_of
from noetlc.expr.paths import accesses
from noetlc.expr.shorthand import static_path

ENV = "env"
_ENDS = ("PASSWORD", "API_KEY", "TOKEN", "SECRET")
_NAMING = frozenset({"auth", "credential", "secret", "secret_name"})
"""Fields that name an entry of the keychain."""


def variable_of(expr: Expr) -> str:
    """The variable that an expression is, and nothing else; "" for any other."""
    here = static_path(expr)
    return here[1] if len(here) == 2 and here[0] == ENV else ""


def is_declared(playbook: Playbook) -> bool:
    """Whether `env` is a name that the playbook has itself."""
    return any(name == ENV for name in (*dict(playbook.workload), *(step.name for step in playbook.steps)))


def secrets_among(playbook: Playbook) -> frozenset[str]:
    """The variables that hold secrets, as their names say, but for those whose value is used as the name of one."""
    read = {str(keys[0]) for expr, _ in all_expressions(playbook) for keys in _keys(expr) if keys}
    return frozenset(name for name in read if name.upper().endswith(_ENDS)) - {*_naming(playbook)}


def _keys(expr: Expr) -> Iterator[tuple[str | int, ...]]:
    return (access.keys for access in accesses(expr) if access.root.name == ENV)


def _naming(playbook: Playbook) -> Iterator[str]:
    """The variables whose value is the name of a secret, directly or by way of a workload value."""
    workload = dict(playbook.workload)
    for expr in _names_of_secrets(playbook):
        for access in accesses(expr):
            word, keys = access.root.name, access.keys
            if word == ENV and keys:
                yield str(keys[0])
                continue
            key = str(keys[0]) if word == "workload" and keys else word
            if key in workload:
                yield from (
                    str(keys[0]) for part in expressions_of(workload[key].template) for keys in _keys(part) if keys
                )


def _names_of_secrets(playbook: Playbook) -> Iterator[Expr]:
    for entry in playbook.keychain:
        yield from (expr for _, value in entry.fields for expr, _ in expressions_in(value))
    for task in (*(task for step in playbook.steps for task in step.tasks), *(task for _, task in playbook.workbook)):
        yield from _of_task(task)
    for expr, _ in all_expressions(playbook):
        for part in walk(expr):
            if isinstance(part, Call) and isinstance(part.callee, Name) and part.callee.name == "token":
                yield from part.args


def _of_task(task: Task) -> Iterator[Expr]:
    waiting: list[tuple[str, Value]] = [*task.fields]
    if task.args is not None:
        waiting.append(("args", task.args))
    for name, value in waiting:
        if task.kind == "secrets" or name in _NAMING:
            yield from (expr for expr, _ in expressions_in(value))
            continue
        for key, inner in (pairs_of(value.template) or {}).items():
            if key in _NAMING:
                yield from expressions_of(inner)
