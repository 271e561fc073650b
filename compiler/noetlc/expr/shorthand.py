"""Expressions made by lowering, in few words. They stand at no place in a text: their offsets are 0."""

from collections.abc import Iterator
from functools import reduce
from re import compile as pattern

from noetl_ir.expr import Attribute, Compare, Conditional, Const, Expr, Filter, Item, ListOf, Logic, Name, Not, Test

_WORD = pattern(r"[^\W\d]\w*")


def path(root: str, *keys: str) -> Expr:
    """`root.a.b`, with a subscript where a key is no word."""
    made: Expr = Name(root)
    for key in keys:
        made = Attribute(made, key) if _WORD.fullmatch(key) else Item(made, Const(key))
    return made


def result_of(name: str) -> Expr:
    """The result of a step or a task of this pipeline, by its name."""
    return Name(name) if _WORD.fullmatch(name) else path("steps", name)


def equal(left: Expr, right: str | int) -> Expr:
    """`left == right`."""
    return Compare(left, (("==", Const(right)),))


def compared(left: Expr, op: str, right: Expr) -> Expr:
    """`left op right`."""
    return Compare(left, ((op, right),))


def one_of(left: Expr, values: tuple[str, ...]) -> Expr:
    """`left == value`, or `left in [values]` for several."""
    if len(values) == 1:
        return equal(left, values[0])
    return Compare(left, (("in", ListOf(tuple(Const(value) for value in values))),))


def both(*parts: Expr) -> Expr:
    """`a and b …`: the last one is the value of the whole where all others are true."""
    return reduce(lambda left, right: Logic("and", left, right), parts)


def conjuncts(expr: Expr) -> Iterator[Expr]:
    """The parts of a condition that `and` joins, from left to right; the condition itself where none does."""
    # A stack, since lowering chains as many conditions as a `case` has rules.
    waiting = [expr]
    while waiting:
        match waiting.pop():
            case Logic(op="and", left=left, right=right):
                # The right side below the left one, so that parts come out in the order of the text.
                waiting += (right, left)
            case part:
                yield part


def either(*parts: Expr) -> Expr:
    """`a or b …`."""
    return reduce(lambda left, right: Logic("or", left, right), parts)


def negated(expr: Expr) -> Expr:
    """`not expr`, without piling `not` on `not`."""
    # A double `not` is no identity as a value (`not not 5` is true); what is made here is only asked for its truth.
    return expr.of if isinstance(expr, Not) else Not(expr)


def defined(expr: Expr) -> Expr:
    """`expr is defined`."""
    return Test(expr, "defined", (), ())


def filtered(expr: Expr, name: str, *args: Expr) -> Expr:
    """`expr | name(args)`."""
    return Filter(expr, name, args, ())


def otherwise(expr: Expr, value: Expr) -> Expr:
    """`expr | default(value)`."""
    return Filter(expr, "default", (value,), ())


def chosen(test: Expr, then: Expr, other: Expr) -> Expr:
    """`then if test else other`."""
    return Conditional(test, then, other)


TRUE, FALSE = Const(True), Const(False)
OUTCOME_OK = equal(path("outcome", "status"), "ok")
OUTCOME_ERROR = equal(path("outcome", "status"), "error")
