"""Paths into the result of an http task, completed: a key that the result does not have is one of the body's.

    response.paging.more           →  response.data.paging.more
    outcome.result.status == 'up'  →  outcome.result.data.status == 'up'
    fetch.get('items', [])         →  fetch.data.get('items', [])

What people write beside the keys of the result (REAL.md, "http results"): `result` is the body,
`metadata.status_code` the status code, `ok` whether that is below 400. `status` is the status code; compared with a
word for how a call ended it asks for that, and compared with any other text it is the body's.
"""

from collections.abc import Callable, Container
from typing import TypeAlias

from noetl_ir.expr import Attribute, Call, Compare, Const, Expr, Item, ListOf, TupleOf
from noetlc.expr.rewrite import Replace, rewritten
from noetlc.expr.shorthand import compared, negated, static_path
from noetlc.older.events import FALSE, TRUE

ENVELOPE = frozenset({"status_code", "headers", "data", "body", "url", "elapsed"})
"""The keys of an http result (`noetl_ir.kinds.http`)."""

IsEnvelope: TypeAlias = Callable[[Expr], bool]
"""Whether an expression is the whole result of an http task."""

_OF_TOOL = frozenset(
    {
        ("response",),
        ("result",),
        ("data",),
        ("this", "data"),
        ("this", "result"),
        ("this", "response"),
        ("output", "data"),
        ("output", "result"),
        ("output", "response"),
        ("outcome", "result"),
        ("event", "result"),
    }
)
"""What stands for the result of a tool behind it, in all dialects."""

_METHODS = frozenset({"keys", "values", "items"})
_OK, _FAILED = frozenset({"ok", "success"}), frozenset({"error", "failed", "failure"})


def results_of_tool(hidden: Container[str]) -> IsEnvelope:
    """What stands for the result of the tool that has just run, where no name of `hidden` takes its place."""
    return lambda expr: (here := static_path(expr)) in _OF_TOOL and here[0] not in hidden


def completed(is_envelope: IsEnvelope) -> Replace:
    """The replacement that completes each path into what `is_envelope` knows, and leaves the others."""

    def replace(expr: Expr) -> Expr | None:
        match expr:
            case Compare(first=Attribute() | Item() as first, rest=((op, right),)):
                if _key(first) == "status" and is_envelope(first.of):
                    return _status_compared(first, op, right, replace)
            case Call(callee=Attribute(of=of, name=method)) if is_envelope(of):
                if method == "get" and expr.args and not _is_own(expr.args[0]):
                    args = tuple(rewritten(arg, replace) for arg in expr.args)
                    return Call(Attribute(Attribute(of, "data"), "get"), args, expr.named)
                return expr if method in _METHODS else None
            case Attribute(of=of, name=name) if _is_below_status(of, is_envelope):
                return Attribute(_in_body(of), name)
            case Item(of=of, key=key) if _is_below_status(of, is_envelope):
                return Item(_in_body(of), rewritten(key, replace))
            case Attribute() | Item() if is_envelope(expr.of):
                return _with_body(expr, replace)
            case Attribute(of=Attribute(of=of, name="metadata"), name="status_code") if is_envelope(of):
                return Attribute(of, "status_code")
        return None

    return replace


def _is_below_status(expr: Expr, is_envelope: IsEnvelope) -> bool:
    """Whether an expression is `status`, of which something is read: no code has keys."""
    return isinstance(expr, Attribute | Item) and _key(expr) == "status" and is_envelope(expr.of)


def _in_body(status: Expr) -> Expr:
    assert isinstance(status, Attribute | Item)
    return Attribute(Attribute(status.of, "data"), "status")


def _with_body(expr: Attribute | Item, replace: Replace) -> Expr | None:
    """One key behind the whole; None where it is the result's own, or cannot be told."""
    whole, body = expr.of, Attribute(expr.of, "data")
    match key := _key(expr):
        case "result":
            return body
        case "status":
            return Attribute(whole, "status_code")
        case "ok":
            return _is_ok(whole)
        case "metadata" | None:
            return None
    if key in ENVELOPE:
        return None
    return Attribute(body, expr.name) if isinstance(expr, Attribute) else Item(body, rewritten(expr.key, replace))


def _key(expr: Attribute | Item) -> str | int | None:
    """The key that is written out; None for a computed one."""
    match expr:
        case Attribute(name=name):
            return name
        case Item(key=Const(value=str() | int() as key)):
            return key
    return None


def _is_own(key: Expr) -> bool:
    """Whether the key given to `get` is, or may be, one of the result's."""
    return not isinstance(key, Const) or key.value in ENVELOPE


def _is_ok(whole: Expr) -> Expr:
    return compared(Attribute(whole, "status_code"), "<", Const(400))


def _status_compared(status: Attribute | Item, op: str, right: Expr, replace: Replace) -> Expr | None:
    """A comparison of `status` with one word or several; None where it is compared with something else."""
    words = _words(right)
    if not words or op not in ("==", "!=", "in", "not in"):
        return None
    if not words <= _OK | _FAILED:
        return Compare(_in_body(status), ((op, rewritten(right, replace)),))
    ok = _is_ok(status.of)
    if words & _OK and words & _FAILED:
        asked: Expr = TRUE
    else:
        asked = ok if words & _OK else negated(ok)
    if op in ("==", "in"):
        return asked
    return FALSE if asked == TRUE else negated(asked)


def _words(expr: Expr) -> frozenset[str]:
    """The texts that something is compared with; empty where one of them is no text."""
    match expr:
        case Const(value=str(word)):
            return frozenset({word})
        case ListOf(items=items) | TupleOf(items=items):
            words = [item.value for item in items if isinstance(item, Const) and isinstance(item.value, str)]
            return frozenset(words) if len(words) == len(items) else frozenset()
    return frozenset()
