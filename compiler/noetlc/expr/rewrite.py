"""Expressions with some of their parts replaced: on the tree, so that nothing inside a text constant changes."""

from collections.abc import Callable
from typing import TypeAlias, assert_never

from noetl_ir.expr import (
    Attribute,
    Binary,
    Call,
    Compare,
    Concat,
    Conditional,
    Const,
    Expr,
    Filter,
    Item,
    ListOf,
    Logic,
    MapOf,
    Name,
    Not,
    Slice,
    Test,
    TupleOf,
    Unary,
)

Replace: TypeAlias = Callable[[Expr], Expr | None]
"""The expression to put in the place of another, or None to look inside it."""


def rewritten(expr: Expr, replace: Replace) -> Expr:
    """The expression with its outermost parts replaced for which `replace` has something; itself if there are none."""
    found = replace(expr)
    if found is not None:
        return found
    if isinstance(expr, Const | Name):
        return expr
    # Nothing is built anew where nothing changes: callers ask by `is`, and most expressions of a file stay as they
    # are.
    changed = False

    def each(part: Expr) -> Expr:
        nonlocal changed
        made = rewritten(part, replace)
        changed = changed or made is not part
        return made

    made = _inside(expr, each)
    return made if changed else expr


def _inside(expr: Expr, each: Callable[[Expr], Expr]) -> Expr:
    match expr:
        case Const() | Name():
            return expr
        case Attribute(of=of, name=name):
            return Attribute(each(of), name)
        case Item(of=of, key=key):
            return Item(each(of), each(key))
        case Slice(of=of, lower=lower, upper=upper, step=step):
            low, high, by = (None if part is None else each(part) for part in (lower, upper, step))
            return Slice(each(of), low, high, by)
        # The name of a method is no key of a value: `replace` must never see `x.items` of `x.items()` as a path.
        case Call(callee=Attribute(of=of, name=name), args=args, named=named):
            return Call(Attribute(each(of), name), _all(args, each), _named(named, each))
        case Call(callee=callee, args=args, named=named):
            return Call(callee, _all(args, each), _named(named, each))
        case Filter(of=of, name=name, args=args, named=named):
            return Filter(each(of), name, _all(args, each), _named(named, each))
        case Test(of=of, name=name, args=args, named=named):
            return Test(each(of), name, _all(args, each), _named(named, each))
        case Unary(op=op, of=of):
            return Unary(op, each(of))
        case Not(of=of):
            return Not(each(of))
        case Binary(op=op, left=left, right=right):
            return Binary(op, each(left), each(right))
        case Concat(parts=parts):
            return Concat(_all(parts, each))
        case Logic(op=op, left=left, right=right):
            return Logic(op, each(left), each(right))
        case Compare(first=first, rest=rest):
            return Compare(each(first), tuple((op, each(right)) for op, right in rest))
        case Conditional(test=test, then=then, otherwise=other):
            return Conditional(each(test), each(then), None if other is None else each(other))
        case ListOf(items=items):
            return ListOf(_all(items, each))
        case TupleOf(items=items):
            return TupleOf(_all(items, each))
        case MapOf(items=pairs):
            return MapOf(tuple((each(key), each(value)) for key, value in pairs))
        case _:
            assert_never(expr)


def _all(parts: tuple[Expr, ...], each: Callable[[Expr], Expr]) -> tuple[Expr, ...]:
    return tuple(each(part) for part in parts)


def _named(parts: tuple[tuple[str, Expr], ...], each: Callable[[Expr], Expr]) -> tuple[tuple[str, Expr], ...]:
    return tuple((name, each(value)) for name, value in parts)
