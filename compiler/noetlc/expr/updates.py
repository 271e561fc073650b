"""Updates of a key of `ctx` from its old value, and the reducers that would say them (EXTENSIONS §4)."""

from noetl_ir.expr import Binary, Concat, Const, Expr, Filter, ListOf, Native, Template, Unary, expressions_of
from noetl_ir.paths import static_path
from noetl_ir.records import NamedTuple
from noetlc.expr.paths import accesses
from noetlc.expr.unparse import unparse


class Update(NamedTuple):
    """The reducer that says an update, and what is contributed then, as it is written."""

    reduce: str
    contribution: str


def reads_key(template: Template, key: str) -> bool:
    """Whether a value is made of what a key of `ctx` holds."""
    found = [access for expr in expressions_of(template) for access in accesses(expr)]
    return any(access.root.name == "ctx" and access.keys[:1] in ((key,), ()) for access in found)


def update_of(template: Template, key: str) -> Update | None:
    """The update of a key that a value is: `ctx.n + 1`, `ctx.seen + [x]`, `[ctx.top, x] | max`; None for any other."""
    match template.expr if isinstance(template, Native) else None:
        case Binary(op="+", left=left, right=right) if _is_old(left, key):
            return _added(right)
        case Binary(op="+", left=left, right=right) if _is_old(right, key) and not isinstance(left, ListOf):
            return _added(left)
        case Binary(op="-", left=left, right=right) if _is_old(left, key):
            return Update("sum", _written(Unary("-", right)))
        case Filter(of=ListOf(items=(one, other)), name="min" | "max" as name, args=()):
            rest = other if _is_old(one, key) else one if _is_old(other, key) else None
            return None if rest is None else Update(name, _written(rest))
    return None


def advice(key: str, update: Update) -> str:
    """The words that say how a reducer is declared and contributed to."""
    declared = f"executor: {{spec: {{ctx: {{{key}: {{reduce: {update.reduce}}}}}}}}}"
    return f"declare `{declared}`, and write `set_ctx: {{{key}: {update.contribution}}}`"


def _is_old(expr: Expr, key: str) -> bool:
    """Whether an expression is the key's old value, or a default where there is none."""
    while isinstance(expr, Filter) and expr.name in ("default", "d"):
        expr = expr.of
    return static_path(expr) == ("ctx", key)


def _added(expr: Expr) -> Update | None:
    match expr:
        case ListOf(items=(item,)):
            return Update("append", _written(item))
        case ListOf() | Concat() | Const(value=str()):
            return None
    return Update("sum", _written(expr))


def _written(expr: Expr) -> str:
    """A value as it is written in a file; braces in quotes, as YAML asks for."""
    if isinstance(expr, Const) and isinstance(expr.value, int) and not isinstance(expr.value, bool):
        return str(expr.value)
    return f'"{{{{ {unparse(expr)} }}}}"'
