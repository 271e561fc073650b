"""Expressions that are plain paths: a name and constant keys."""

from noetl_ir.expr import Attribute, Const, Expr, Item, Name


def path_of(expr: Expr) -> tuple[str | int, ...] | None:
    """The root name and the keys of an expression that is a plain path, else None."""
    keys: list[str | int] = []
    while True:
        match expr:
            case Name(name=name):
                return (name, *reversed(keys))
            case Attribute(of=of, name=key):
                keys.append(key)
                expr = of
            case Item(of=of, key=Const(value=int() | str() as value)) if not isinstance(value, bool):
                keys.append(value)
                expr = of
            case _:
                return None
