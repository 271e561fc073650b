"""What an expression does to a secret that cannot be done: a worker would do it to the marker, and it is a fault.

A secret joins with texts, compares, has a length, and is given to the filters that work on the true value
(`noetl_ir.scopes.values.Sealed`). Only what is certain is told: a part is a secret where each way of coming to it is.
"""

from collections.abc import Callable, Iterator

from noetl_ir.expr import (
    Attribute,
    Binary,
    Call,
    Concat,
    Conditional,
    Const,
    Expr,
    Filter,
    Item,
    ListOf,
    Logic,
    Name,
    Slice,
    Test,
    TupleOf,
    Unary,
    walk,
)
from noetl_ir.rows import NamedTuple

IsSecret = Callable[[str, str], bool]
"""Whether a field of a keychain entry, by the names of both, is a text that is hidden."""

_MAKING = frozenset({"urlencode", "b64encode", "tojson"})
"""Filters that make another secret of one."""
_PASSING = frozenset({"default", "d"})
_WORKING = frozenset({"length", "count"}) | _MAKING | _PASSING
_OF_PLAIN = frozenset({"replace", "format"})
"""Filters whose arguments become part of what they give, as texts."""
_REFUSING_TESTS = frozenset({"odd", "even", "divisibleby", "lower", "upper", "filter", "test"})


class Operation(NamedTuple):
    """What is done: the expression that does it, the one that is the secret, and its name in words."""

    expr: Expr
    secret: Expr
    name: str


def secret_operations(expr: Expr, is_secret: IsSecret) -> Iterator[Operation]:
    """The operations of an expression on keychain values that are none for a secret, innermost first."""
    parts = list(walk(expr))
    called = {id(part.callee) for part in parts if isinstance(part, Call)}
    secrets: set[int] = set()
    for part in reversed(parts):  # what is inside comes before what it is in
        if (key := _entry(part)) is not None and is_secret(*key):
            secrets.add(id(part))
        elif found := _refused(part, secrets, called):
            yield found
        elif _stays(part, secrets):
            secrets.add(id(part))


def _entry(expr: Expr) -> tuple[str, str] | None:
    """The entry and the field of `keychain.ENTRY.FIELD`, in all its spellings."""
    keys: list[str] = []
    while len(keys) < 3:
        match expr:
            case Attribute(of=of, name=name) | Item(of=of, key=Const(value=str() as name)):
                keys.append(name)
                expr = of
            case Name(name="keychain") if len(keys) == 2:
                return keys[1], keys[0]
            case _:
                return None
    return None


def _refused(part: Expr, secrets: set[int], called: set[int]) -> Operation | None:
    match part:
        case Attribute(of=of, name=name) if id(of) in secrets and id(part) not in called:
            return Operation(part, of, f"`.{name}`")
        case Call(callee=Attribute(of=of, name=name)) if id(of) in secrets:
            return Operation(part, of, f"the method `{name}`")
        case Item(of=of) | Slice(of=of) if id(of) in secrets:
            return Operation(part, of, "`[…]`")
        case Filter(of=of, name=name) if id(of) in secrets and name not in _WORKING:
            return Operation(part, of, f"the filter `{name}`")
        case Filter(name=name, args=args) if name in _OF_PLAIN:
            return _first(part, args, secrets, f"the filter `{name}`")
        case Test(of=of, name=name) if id(of) in secrets and name in _REFUSING_TESTS:
            return Operation(part, of, f"the test `{name}`")
        case Unary(of=of, op=op) if id(of) in secrets:
            return Operation(part, of, f"`{op}`")
        case Binary(op=op, left=left, right=right) if op != "+":
            return _first(part, (left, right), secrets, f"`{op}`")
        case Call(callee=Name(name="range"), args=args):
            return _first(part, args, secrets, "`range`")
    return None


def _first(part: Expr, of: tuple[Expr, ...], secrets: set[int], name: str) -> Operation | None:
    secret = next((one for one in of if id(one) in secrets), None)
    return None if secret is None else Operation(part, secret, name)


def _stays(part: Expr, secrets: set[int]) -> bool:
    """Whether a part that is no field of the keychain is a secret all the same."""
    match part:
        case Concat(parts=parts):
            return any(id(one) in secrets for one in parts)
        case Binary(op="+", left=left, right=right):
            return id(left) in secrets or id(right) in secrets
        case Filter(of=of, name=name) if name in _MAKING | _PASSING:
            return id(of) in secrets
        case Filter(of=ListOf(items=items) | TupleOf(items=items), name="join", args=args):
            return any(id(one) in secrets for one in (*items, *args[:1]))
        case Conditional(then=then, otherwise=otherwise):
            return id(then) in secrets and id(otherwise) in secrets
        case Logic(op="or", left=left):
            return id(left) in secrets
    return False
