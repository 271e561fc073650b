"""Expressions to closures over a scope: what is constant is looked at once, when a plan is loaded.

A closure may raise anything; `noetl_ir.evaluate` turns that into a fault.
"""

from collections.abc import Callable
from typing import Any, Protocol, TypeAlias

from noetl_ir.evaluate.access import PASSING, item, kind_of, method, path_of
from noetl_ir.evaluate.data_filters import range_
from noetl_ir.evaluate.operators import BINARY, COMPARE, UNARY, failure
from noetl_ir.evaluate.predicates import TESTS
from noetl_ir.evaluate.selecting import FILTERS
from noetl_ir.evaluate.settle import joined_texts
from noetl_ir.evaluate.work import SHORT_TEXT, Crowd, spend
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
    operands_of,
)
from noetl_ir.scopes.values import Fault, ResultView, Undefined, key_text, plain, refuse_marker, stored_value
from noetl_ir.scopes.vocabulary import FUNCTIONS


class Scope(Protocol):
    """The meaning of the names in an expression: `noetl_ir.scopes.PlayScope`, or a double in a test."""

    def lookup(self, name: str) -> object:
        """The value of a bare name, a `ResultView` for a result, or `Undefined`; of `name()` the function so called."""
        ...


Closure: TypeAlias = Callable[[Scope], Any]
_Arguments: TypeAlias = Callable[[Scope], tuple[tuple[Any, ...], dict[str, Any]]]
_Named: TypeAlias = tuple[tuple[str, Expr], ...]


def closure(expr: Expr) -> Closure:
    """From a scope to the expression's value."""
    match expr:
        case Const(value=value):
            return lambda scope: value
        case Name() | Attribute():
            return _path(expr)
        case Item():
            return _path(expr) if isinstance(expr.key, Const) else _item(expr)
        case Slice():
            return _slice(expr)
        case Call():
            return _call(expr)
        case Filter(name=name):
            return _applied(expr, f"the filter `{name}`", FILTERS.get(name))
        case Test(name=name):
            return _applied(expr, f"the test `{name}`", TESTS.get(name))
        case Unary(op=op, of=of):
            return _unary(op, closure(of))
        case Not(of=of):
            inner = closure(of)
            return lambda scope: not inner(scope)
        case Binary(op=op, left=left, right=right):
            return _binary(op, closure(left), closure(right))
        case Logic():
            return _logic(expr)
        case Compare():
            return _compare(expr)
        case Conditional():
            return _conditional(expr)
        case Concat(parts=parts):
            return _concat([closure(part) for part in parts])
        case ListOf(items=items):
            entries = [closure(entry) for entry in items]
            return lambda scope: [entry(scope) for entry in entries]
        case TupleOf(items=items):
            members = [closure(entry) for entry in items]
            return lambda scope: tuple([member(scope) for member in members])
        case MapOf(items=items):
            pairs = [(closure(key), closure(value)) for key, value in items]
            return lambda scope: {key(scope): value(scope) for key, value in pairs}


def _path(expr: Expr, finish: Callable[[object], object] = plain) -> Closure:
    """A chain of constant keys on a name or on another expression; `finish` is done to a view at its end."""
    keys: list[object] = []
    while True:
        match expr:
            case Attribute(of=of, name=key):
                keys.append(key)
                expr = of
            case Item(of=of, key=Const(value=value)):
                keys.append(value)
                expr = of
            case _:
                break
    keys.reverse()
    if not isinstance(expr, Name):
        return _keys(closure(expr), "…", keys, finish)
    name = expr.name
    if keys:
        return _keys(lambda scope: scope.lookup(name), name, keys, finish)
    if name in FUNCTIONS:
        return lambda scope: _no_function(name, scope.lookup(name))
    return lambda scope: finish(scope.lookup(name))


def _no_function(name: str, value: object) -> object:
    """A function is no value: without its call the name means only data that is called so."""
    return Undefined(name) if callable(value) else plain(value)


def _keys(root: Closure, shown: str, keys: list[object], finish: Callable[[object], object]) -> Closure:
    texts = [key_text(key) for key in keys]

    def run(scope: Scope) -> object:
        value = root(scope)
        for place, key in enumerate(keys, 1):
            # A mapping that has the key is by far the most frequent case.
            if type(value) is dict and key in value:
                value = value[key]
                continue
            reached = item(value, key)
            if type(reached) is Undefined:
                return missing(value, place, reached.hint)
            value = reached
        return finish(value) if isinstance(value, ResultView) else value

    def missing(value: object, place: int, hint: str) -> Undefined:
        path, known = shown + "".join(texts), shown + "".join(texts[:place])
        if isinstance(value, Undefined):
            return Undefined(path, value.hint or f"there is no `{value.path}`")
        return Undefined(path, hint or (f"there is no `{known}`" if place < len(keys) else ""))

    return run


def _item(expr: Item) -> Closure:
    of, key = _raw(expr.of), closure(expr.key)
    return lambda scope: plain(item(of(scope), key(scope)))


def _raw(expr: Expr) -> Closure:
    """Like `closure`, but a name of a result stays a view, whose keys are its own."""
    if isinstance(expr, Name):
        name = expr.name
        return lambda scope: scope.lookup(name)
    return closure(expr)


def _slice(expr: Slice) -> Closure:
    of = closure(expr.of)
    bounds = [None if bound is None else closure(bound) for bound in (expr.lower, expr.upper, expr.step)]

    def run(scope: Scope) -> object:
        value = of(scope)
        part = slice(*[None if bound is None else bound(scope) for bound in bounds])
        if isinstance(value, (list, tuple, str, range)):
            if len(value) > SHORT_TEXT:
                spend(len(range(*part.indices(len(value)))) >> 3)
            return value[part]
        if isinstance(value, Undefined):
            return value
        raise Fault("template.error", f"{kind_of(value)} has no slices")

    return run


def _call(expr: Call) -> Closure:
    arguments = _arguments(expr.args, expr.named)
    match expr.callee:
        case Attribute(of=of, name=name):
            owner = closure(of)

            def call_method(scope: Scope) -> object:
                value = owner(scope)
                args, named = arguments(scope)
                try:
                    return method(value, name, args, named)
                except (TypeError, ValueError) as error:
                    raise Fault("template.error", f"the method `{name}` failed: {error}") from error

            return call_method
        case Name(name="range"):
            return lambda scope: range_(*_positional(arguments(scope), "range"))
        case Name(name="dict"):
            return lambda scope: _dict(*arguments(scope))
        case Name(name="ref"):
            return _ref(expr)
        case Name(name=name):

            def call_function(scope: Scope) -> object:
                args, named = arguments(scope)
                return _function(scope, name)(*args, **named)

            return call_function
        case _:
            raise Fault("template.error", "a value cannot be called")


def _ref(expr: Call) -> Closure:
    """`ref(path)`: the scope's function gets what is stored under the path, a `Reference` or the value itself."""
    if len(expr.args) != 1 or expr.named or path_of(expr.args[0]) is None:
        raise Fault("template.error", "`ref` takes one plain path")
    path = _path(expr.args[0], stored_value)

    return lambda scope: _function(scope, "ref")(path(scope))


def _function(scope: Scope, name: str) -> Callable[..., object]:
    function = scope.lookup(f"{name}()")
    if not callable(function) or isinstance(function, Undefined):
        raise Fault("template.error", f"`{name}` is no function here")
    return function


def _positional(argument: tuple[tuple[Any, ...], dict[str, Any]], name: str) -> tuple[Any, ...]:
    args, named = argument
    if named:
        raise Fault("template.error", f"`{name}` takes no named arguments")
    return args


def _dict(args: tuple[Any, ...], named: dict[str, Any]) -> dict[object, object]:
    for argument in args:
        if isinstance(argument, dict):
            spend(3 * len(argument))
        elif isinstance(argument, (list, tuple)):
            crowd = Crowd()
            for pair in argument:
                spend(8)
                if isinstance(pair, (list, tuple)) and pair:
                    crowd.spend(pair[0])
    return dict(*args, **named)


def _arguments(args: tuple[Expr, ...], named: _Named) -> _Arguments:
    plain_args = [closure(arg) for arg in args]
    if not named:
        if not plain_args:
            return lambda scope: ((), {})
        if len(plain_args) == 1:
            only = plain_args[0]
            return lambda scope: ((only(scope),), {})
        return lambda scope: (tuple([arg(scope) for arg in plain_args]), {})
    pairs = [(name, closure(value)) for name, value in named]

    def run(scope: Scope) -> tuple[tuple[Any, ...], dict[str, Any]]:
        values = [arg(scope) for arg in plain_args]
        by_name: dict[str, Any] = {}
        for name, value in pairs:
            if name == "*":
                values.extend(value(scope))
                spend(len(values))
            else:
                more = dict(value(scope)) if name == "**" else {name: value(scope)}
                spend(4 * len(more))
                if by_name.keys() & more.keys():
                    raise Fault("template.error", "an argument is given twice")
                by_name.update(more)
        return tuple(values), by_name

    return run


def _applied(expr: Filter | Test, what: str, function: Callable[..., object] | None) -> Closure:
    if function is None:
        raise Fault("template.error", f"there is no such thing as {what}")
    of, arguments = closure(expr.of), _arguments(expr.args, expr.named)
    apply = function
    passes = isinstance(expr, Test) or expr.name in PASSING

    def run(scope: Scope) -> object:
        value = of(scope)
        if not passes:
            refuse_marker(value)
        args, named = arguments(scope)
        try:
            return apply(value, *args, **named)
        except Fault:
            raise
        except Exception as error:
            raise Fault("template.error", f"{what} failed: {error}") from error

    return run


def _unary(op: str, of: Closure) -> Closure:
    apply = UNARY[op]

    def run(scope: Scope) -> object:
        value = of(scope)
        try:
            return apply(value)
        except Exception as error:
            raise failure(op, error, value) from error

    return run


def _binary(op: str, left: Closure, right: Closure) -> Closure:
    apply = BINARY[op]

    def run(scope: Scope) -> object:
        first, second = left(scope), right(scope)
        try:
            return apply(first, second)
        except Exception as error:
            raise failure(op, error, first, second) from error

    return run


def _logic(expr: Logic) -> Closure:
    first, *operands = [closure(operand) for operand in operands_of(expr)]
    if expr.op == "and":

        def run_and(scope: Scope) -> object:
            value = first(scope)
            for operand in operands:
                if not value:
                    return value
                value = operand(scope)
            return value

        return run_and

    def run_or(scope: Scope) -> object:
        value = first(scope)
        for operand in operands:
            if value:
                return value
            value = operand(scope)
        return value

    return run_or


def _compare(expr: Compare) -> Closure:
    first = closure(expr.first)
    rest = [(op, COMPARE[op], closure(right)) for op, right in expr.rest]

    def run(scope: Scope) -> object:
        left = first(scope)
        holds: object = True
        for op, compare, right_of in rest:
            right = right_of(scope)
            try:
                holds = compare(left, right)
            except Exception as error:
                raise failure(op, error, left, right) from error
            if not holds:
                return holds
            left = right
        return holds

    return run


def _conditional(expr: Conditional) -> Closure:
    test, then = closure(expr.test), closure(expr.then)
    if expr.otherwise is None:
        missing = Undefined("", "the condition is false and there is no `else`")
        return lambda scope: then(scope) if test(scope) else missing
    otherwise = closure(expr.otherwise)
    return lambda scope: then(scope) if test(scope) else otherwise(scope)


def _concat(parts: list[Closure]) -> Closure:
    def run(scope: Scope) -> object:
        return joined_texts("", [part(scope) for part in parts])

    return run
