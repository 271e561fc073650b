"""Keys of the body of an http answer that are written as keys of its result (REAL.md, values).

r.paging.more   →  r.data.paging.more          r.status == 200   →  r.status_code == 200
r.ok            →  r.status_code < 400         r.status == 'ready'   →  r.data.status == 'ready'
"""

from collections.abc import Callable, Container
from typing import TypeAlias

from noetl_ir.expr import Attribute, Call, Compare, Conditional, Const, Expr, Filter, Item, Test
from noetl_ir.paths import static_path
from noetlc.expr.rewrite import Replace, rewritten
from noetlc.expr.shorthand import FALSE, TRUE, chosen, compared, defined, negated, otherwise
from noetlc.older.http_status import FAILED, NO_TEXTS, OK, Evidence, StatusTexts, said_by

BY = "complete_http_paths"

KIND = "http"

ENVELOPE = frozenset({"status_code", "headers", "data", "body", "url", "elapsed"})
"""The keys of an http result (`noetl_ir.kinds.http`)."""

IsEnvelope: TypeAlias = Callable[[Expr], bool]
"""Whether an expression is the whole result of an http task."""

OF_TOOL = frozenset(
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
        ("outcome", "response"),
        ("event", "result"),
    }
)
"""The names that stand for the result of a tool behind it, in all dialects."""

Words: TypeAlias = frozenset[tuple[str, ...]]
"""Which words stand for a result of http at a place; none of them does where there is no such result."""

NOTHING: Words = frozenset()
RESPONSES: Words = frozenset({("response",), ("this", "response"), ("output", "response"), ("outcome", "response")})
"""Of these, what stands for the last answer where the result is what was gathered of all pages."""

Tell: TypeAlias = Callable[[str], None]
"""Told how a path was read: `key whole ok metadata`, or `status` as `code outcome word`, `bare` where nobody says."""

_METHODS = frozenset({"keys", "values", "items"})


def results_of_tool(hidden: Container[str], words: Words = OF_TOOL) -> IsEnvelope:
    """Whether an expression is an old word for the result of the tool that has just run, and not one of `hidden`."""
    return lambda expr: (here := static_path(expr)) in words and here[0] not in hidden


def untold(_: str) -> None:
    """Tells nobody."""


def completed(
    is_envelope: IsEnvelope, own: frozenset[str] = ENVELOPE, texts: StatusTexts = NO_TEXTS, tell: Tell = untold
) -> Replace:
    """A replacement that completes paths behind expressions for which `is_envelope` is true, and leaves all others.

    `own` are keys of the result itself, which need no completing; `texts` the constants of the workload by path. `tell`
    is called for each path with the word for how it was read (`Tell`).
    """

    def is_status(expr: Expr) -> bool:
        return status_of(expr, is_envelope) is not None

    def replace(expr: Expr) -> Expr | None:
        # A comparison is looked at before the paths in it: what `status` is compared with decides whether it is the
        # code, the outcome or a key of the body (REAL.md, values).
        if (decided := _decided(expr, is_status, texts, tell)) is not None:
            return rewritten(decided, replace)
        match expr:
            case Test(of=Attribute() | Item() as asked, name="defined" | "undefined" as name):
                # A result has no key `metadata`. Only its `status_code` has a counterpart today, so that a question
                # whether `metadata` is there asks for that.
                if _key(asked) == "metadata" and is_envelope(asked.of):
                    tell("metadata")
                    return Test(Attribute(asked.of, "status_code"), name, (), ())
            case Call(
                callee=Attribute(of=of, name="get"), args=(Const(value="status" | "ok" | "result" as key), *rest)
            ):
                if is_envelope(of):
                    made = _with_body(Attribute(of, key), replace, own, tell)
                    return made if not rest or made is None else otherwise(made, rewritten(rest[0], replace))
            case Call(callee=Attribute(of=of, name=method)) if is_envelope(of):
                # A computed key may be one of the result's own, so that nothing is put before it. Only a key that is
                # written out is known to be the body's.
                if method == "get" and expr.args and not _is_own(expr.args[0], own):
                    args = tuple(rewritten(arg, replace) for arg in expr.args)
                    tell("key")
                    return Call(Attribute(Attribute(of, "data"), "get"), args, expr.named)
                return expr if method in _METHODS else None
            case Attribute() | Item() if is_envelope(expr.of):
                return _with_body(expr, replace, own, tell)
            case Attribute(of=Attribute(of=of, name="metadata"), name="status_code") if is_envelope(of):
                tell("metadata")
                return Attribute(of, "status_code")
        return None

    return replace


def _with_body(expr: Attribute | Item, replace: Replace, own: frozenset[str], tell: Tell) -> Expr | None:
    """A path of a whole result and one key, completed; None where the key is the result's own, or is computed."""
    whole, body = expr.of, Attribute(expr.of, "data")
    match key := _key(expr):
        case "result":
            tell("whole")
            return body
        case "status":
            tell("bare")
            return Attribute(whole, "status_code")
        case "ok":
            tell("ok")
            return _is_ok(whole)
        case "metadata" | None:
            return None
    if key in own:
        return None
    tell("key")
    return Attribute(body, expr.name) if isinstance(expr, Attribute) else Item(body, rewritten(expr.key, replace))


def _key(expr: Attribute | Item) -> str | int | None:
    """The key that is written out; None for a computed one."""
    match expr:
        case Attribute(name=name):
            return name
        case Item(key=Const(value=str() | int() as key)):
            return key
    return None


def _is_own(key: Expr, own: frozenset[str]) -> bool:
    """Whether the key given to `get` is, or may be, one of the result's."""
    return not isinstance(key, Const) or key.value in own


def _decided(expr: Expr, is_status: Callable[[Expr], bool], texts: StatusTexts, tell: Tell) -> Expr | None:
    """A node in which each `status` that the node itself interprets is replaced by what it means; None without any."""
    found = {id(read): (read, said) for read, said in said_by(expr, texts) if is_status(read)}
    if not found:
        return None
    for read, said in found.values():
        if said.is_outcome and (asked := _asked_outcome(expr, read, said)) is not None:
            tell("outcome")
            return asked
    meant: dict[int, Expr] = {}
    for read, said in found.values():
        tell("word" if said.is_body else "outcome" if said.is_outcome else "code")
        meant[id(read)] = status_as(read, said)
    return rewritten(expr, lambda part: meant.get(id(part)))


def status_of(expr: Expr, is_envelope: IsEnvelope) -> Expr | None:
    """The result of which an expression reads `status`; None for any other."""
    match expr:
        case Attribute(of=of, name="status") | Item(of=of, key=Const(value="status")) if is_envelope(of):
            return of
        case Call(callee=Attribute(of=of, name="get"), args=(Const(value="status"), *_)) if is_envelope(of):
            return of
    return None


def status_as(status: Expr, said: Evidence) -> Expr:
    """The expression that a `status` becomes, by what its readers take it for."""
    whole = status_of(status, lambda _: True)
    assert whole is not None
    code = Attribute(whole, "status_code")
    if said.is_body:
        made: Expr = Attribute(Attribute(whole, "data"), "status")
    elif said.is_outcome:
        # Without a call there is no word either, so that a default beside it holds.
        word = chosen(_is_ok(whole), Const(said.word(ok=True)), Const(said.word(ok=False)))
        made = Conditional(defined(code), word, None)
    else:
        made = code
    default = status.args[1:2] if isinstance(status, Call) else ()
    return otherwise(made, default[0]) if default else made


def _asked_outcome(expr: Expr, status: Expr, said: Evidence) -> Expr | None:
    """A comparison of `status` alone with words for how a call ended; None where something else may be compared."""
    if not isinstance(expr, Compare) or len(expr.rest) > 1:
        return None
    ((op, right),) = expr.rest
    side = expr.first if op in ("in", "not in") or not isinstance(expr.first, Const) else right
    while isinstance(side, Filter) and side.name != "default":
        side = side.of
    if (
        side is not status
        or (isinstance(status, Call) and len(status.args) > 1)
        or op not in ("==", "!=", "in", "not in")
    ):
        return None
    whole = status_of(status, lambda _: True)
    assert whole is not None
    ok = _is_ok(whole)
    if said.words & OK and said.words & FAILED:
        # `status in ['success', 'error']` is how one says *always*.
        asked: Expr = TRUE
    else:
        asked = ok if said.words & OK else negated(ok)
    if op in ("==", "in"):
        return asked
    return FALSE if asked == TRUE else negated(asked)


def _is_ok(whole: Expr) -> Expr:
    return compared(Attribute(whole, "status_code"), "<", Const(400))
