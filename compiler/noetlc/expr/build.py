"""The values of the grammar's alternatives: one function for each name behind an arrow in `grammar`.

A function takes the values of an alternative's parts, and the offsets of its first and behind its last one.
A terminal's value is its token's. Brackets belong to the offsets of what stands around them.
"""

from collections.abc import Callable
from typing import Any, TypeAlias

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
from noetl_ir.records import NamedTuple
from noetlc.expr.errors import TemplateError

_Parts: TypeAlias = list[Any]
"""The values of an alternative's parts. What each is, the grammar alone says."""
_Maker: TypeAlias = Callable[[_Parts, int, int], Any]
Arguments: TypeAlias = tuple[tuple[Expr, ...], tuple[tuple[str, Expr], ...]]


class _Bounds(NamedTuple):
    """The slice between `[` and `]` when it is a slice, and no key."""

    lower: Expr | None
    upper: Expr | None
    step: Expr | None
    start: int
    end: int


def const(parts: _Parts, start: int, end: int) -> Expr:
    return Const(parts[0], start, end)


def name(parts: _Parts, start: int, end: int) -> Expr:
    return Name(parts[0], start, end)


def string(parts: _Parts, start: int, end: int) -> str:
    return str(parts[0])


def string_more(parts: _Parts, start: int, end: int) -> str:
    return str(parts[0]) + str(parts[1])


def text(parts: _Parts, start: int, end: int) -> Expr:
    return Const(parts[0], start, end)


def attribute(parts: _Parts, start: int, end: int) -> Expr:
    return Attribute(parts[0], parts[2], start, end)


def index(parts: _Parts, start: int, end: int) -> Expr:
    # `x.0` is the key 0 of Jinja2. The token's own offsets are gone here, so the key is counted back from the end.
    return Item(parts[0], Const(parts[2], end - len(str(parts[2])), end), start, end)


def item(parts: _Parts, start: int, end: int) -> Expr:
    of, keys = parts[0], parts[2]
    if len(keys) == 1:
        key = keys[0]
        # Only here is it known what the slice is of, so the grammar hands its bounds up as a value that is no
        # expression.
        if isinstance(key, _Bounds):
            return Slice(of, key.lower, key.upper, key.step, start, end)
        return Item(of, key, start, end)
    for key in keys:
        if isinstance(key, _Bounds):
            # Jinja2 reads `x[1:2, 3]`, and fails when it runs, as no list takes such a key.
            raise TemplateError("a slice stands alone between `[` and `]`", key.start, key.end)
    return Item(of, TupleOf(tuple(keys), keys[0].start, keys[-1].end), start, end)


def slice_(parts: _Parts, start: int, end: int) -> _Bounds:
    bounds = parts[::2]
    return _Bounds(bounds[0], bounds[1], bounds[2] if len(bounds) > 2 else None, start, end)


def nothing(parts: _Parts, start: int, end: int) -> None:
    return None


def call(parts: _Parts, start: int, end: int) -> Expr:
    args, named = parts[1]
    return Call(parts[0], args, named, start, end)


def positional(parts: _Parts, start: int, end: int) -> tuple[str, Expr]:
    return ("", parts[0])


def keyword(parts: _Parts, start: int, end: int) -> tuple[str, Expr]:
    return (parts[0], parts[2])


def unpacked(parts: _Parts, start: int, end: int) -> tuple[str, Expr]:
    return (parts[0], parts[1])


def arguments(parts: _Parts, start: int, end: int) -> Arguments:
    if len(parts) == 2:
        return (), ()
    args: list[Expr] = []
    named: list[tuple[str, Expr]] = []
    for key, value in parts[1]:
        # The order matters beyond style: a plain argument behind a named one would be given to another parameter.
        if not key and not named:
            args.append(value)
            continue
        seen = [word for word, _ in named]
        # Jinja2's order: plain ones, then `name=value` and one `*`, then one `**`.
        if not key or "**" in seen or key in seen:
            what = f"`{key}` is given twice" if key and key in seen else "an argument stands behind named ones"
            raise TemplateError(what, value.start, value.end, "plain arguments come first, `**` last")
        named.append((key, value))
    return tuple(args), tuple(named)


def dotted(parts: _Parts, start: int, end: int) -> str:
    return str(parts[0])


def dotted_more(parts: _Parts, start: int, end: int) -> str:
    return f"{parts[0]}.{parts[2]}"


def filter_(parts: _Parts, start: int, end: int) -> Expr:
    args, named = parts[3] if len(parts) > 3 else ((), ())
    return Filter(parts[0], parts[2], args, named, start, end)


def test(parts: _Parts, start: int, end: int) -> Expr:
    args, named = parts[3] if len(parts) > 3 else ((), ())
    return Test(parts[0], parts[2], args, named, start, end)


def test_one(parts: _Parts, start: int, end: int) -> Expr:
    return Test(parts[0], parts[2], (parts[3],), (), start, end)


def test_not(parts: _Parts, start: int, end: int) -> Expr:
    args, named = parts[4] if len(parts) > 4 else ((), ())
    return Not(Test(parts[0], parts[3], args, named, start, end), start, end)


def test_not_one(parts: _Parts, start: int, end: int) -> Expr:
    return Not(Test(parts[0], parts[3], (parts[4],), (), start, end), start, end)


def unary(parts: _Parts, start: int, end: int) -> Expr:
    return Unary(parts[0], parts[1], start, end)


def negation(parts: _Parts, start: int, end: int) -> Expr:
    return Not(parts[1], start, end)


def binary(parts: _Parts, start: int, end: int) -> Expr:
    return Binary(parts[1], parts[0], parts[2], start, end)


def logic(parts: _Parts, start: int, end: int) -> Expr:
    return Logic(parts[1], parts[0], parts[2], start, end)


def concat(parts: _Parts, start: int, end: int) -> Expr:
    return Concat(tuple(parts[0]), start, end)


def comparator(parts: _Parts, start: int, end: int) -> str:
    return str(parts[0])


def not_in(parts: _Parts, start: int, end: int) -> str:
    return "not in"


def chain_start(parts: _Parts, start: int, end: int) -> _Parts:
    return [parts[0], (parts[1], parts[2])]


def chain_more(parts: _Parts, start: int, end: int) -> _Parts:
    # Appended in place: a copy for each link would make a long chain quadratic. The list belongs to this chain alone.
    parts[0].append((parts[1], parts[2]))
    return list(parts[0])


def comparison(parts: _Parts, start: int, end: int) -> Expr:
    return Compare(parts[0][0], tuple(parts[0][1:]), start, end)


def conditional(parts: _Parts, start: int, end: int) -> Expr:
    return Conditional(parts[2], parts[0], parts[4] if len(parts) > 3 else None, start, end)


def first(parts: _Parts, start: int, end: int) -> _Parts:
    return [parts[0]]


def first_two(parts: _Parts, start: int, end: int) -> _Parts:
    return [parts[0], parts[2]]


def one_more(parts: _Parts, start: int, end: int) -> _Parts:
    parts[0].append(parts[2])
    kept: _Parts = parts[0]
    return kept


def bare_tuple(parts: _Parts, start: int, end: int) -> Expr:
    return TupleOf(tuple(parts[0]), start, end)


def single_tuple(parts: _Parts, start: int, end: int) -> Expr:
    return TupleOf((parts[0],), start, end)


def empty_tuple(parts: _Parts, start: int, end: int) -> Expr:
    return TupleOf((), start, end)


def parenthesised(parts: _Parts, start: int, end: int) -> Any:
    return parts[1]


def list_of(parts: _Parts, start: int, end: int) -> Expr:
    return ListOf(tuple(parts[1]) if len(parts) > 2 else (), start, end)


def map_of(parts: _Parts, start: int, end: int) -> Expr:
    return MapOf(tuple(parts[1]) if len(parts) > 2 else (), start, end)


def pair(parts: _Parts, start: int, end: int) -> tuple[Expr, Expr]:
    return (parts[0], parts[2])
