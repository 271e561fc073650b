"""Guards on events of older dialects, for a moment at which it is certain what happened."""

from collections.abc import Callable
from typing import TypeAlias

from noetl_ir.expr import Compare, Const, Expr, ListOf, Logic, Name, Not, TupleOf, walk
from noetl_ir.paths import static_path
from noetlc.ast.once import Once
from noetlc.expr.rewrite import rewritten
from noetlc.expr.shorthand import FALSE, TRUE, either, negated
from noetlc.older.legacy_names import is_negative, named_events

Happened: TypeAlias = Callable[[str, bool], Expr]
"""(name of an event, whether the comparison is negated) → whether it is the event that happened: a constant, or an
expression.
"""

DONE = frozenset({"call.done", "step.exit", "step.done", "step.finished", "tool.processed"})
EXIT = DONE - {"call.done", "tool.processed"}
"""What comes behind the call: the step is done."""

FAILED = frozenset({"call.error", "step.failed"})
LOOP = frozenset({"loop.done", "loop.finished"})


def _events_in(expr: Expr) -> frozenset[str]:
    return frozenset(name for part in walk(expr) for name in named_events(part) or ())


events_in = Once(_events_in)
"""The names of all events that a guard asks for."""


def assuming(expr: Expr, happened: Happened) -> Expr:
    """The guard with every question about the event answered, and what follows from that folded."""

    def replace(part: Expr) -> Expr | None:
        names = named_events(part)
        if names is None:
            return None
        facts = tuple(dict.fromkeys(happened(name, is_negative(part)) for name in names))
        found = (
            TRUE
            if TRUE in facts
            else either(*(a for a in facts if a != FALSE))
            if any(a != FALSE for a in facts)
            else FALSE
        )
        return constants_folded(negated(found)) if is_negative(part) else found

    return constants_folded(rewritten(expr, replace))


def on_success(expr: Expr) -> Expr:
    """The guard as it is asked when the tool has succeeded."""
    return assuming(expr, lambda name, _: TRUE if name in DONE else FALSE)


_TELLS = frozenset({"error", "_err", "status_code", "success"})
_BELOW = {
    "event": frozenset({"error", "status", "outcome"}),
    **dict.fromkeys(("this", "output", "outcome"), frozenset({"error", "status", "http"})),
    "response": frozenset({"status_code", "status"}),
    **dict.fromkeys(("result", "data"), frozenset({"status_code"})),
}


def _asks_for_failures(expr: Expr) -> bool:
    here = (static_path(part) for part in walk(expr))
    return any(at and (at[0] in _TELLS or (len(at) > 1 and at[1] in _BELOW.get(at[0], ()))) for at in here)


reads_failure = Once(_asks_for_failures)
"""Whether a guard reads `error` or a status: such a rule is asked on failures, whatever event it names (REAL.md)."""


def on_failure(expr: Expr) -> Expr:
    """The guard as it is asked when the tool has failed: false, unless it names that event or reads something that
    tells of a failure.
    """
    tells = reads_failure(expr)
    if tells:
        expr = constants_folded(rewritten(expr, _no_success))
    if not events_in(expr):
        return expr if tells else FALSE

    def happened(name: str, negative: bool) -> Expr:
        return TRUE if name in FAILED or (tells and name in DONE and not negative) else FALSE

    return assuming(expr, happened)


def on_failed(expr: Expr) -> Expr:
    """The guard of an arc as it is asked when the step has failed: false, unless it names that event."""
    return assuming(expr, lambda name, _: TRUE if name in FAILED else FALSE) if events_in(expr) else FALSE


_STATUS = frozenset({("status_code",), ("response", "status_code"), ("response", "status"), ("error", "status")})
_WELL = frozenset({("this", "status"), ("output", "status"), ("outcome", "status"), ("event", "status")})


def _no_success(expr: Expr) -> Expr | None:
    """A replacement for tests that only a success makes true: false, where the tool has failed."""
    match expr:
        case Name(name="success"):
            return FALSE
        case Not(of=of) if static_path(of) in (("error",), ("event", "error")):
            return FALSE
        case Compare(first=first, rest=((op, right),)):
            here = static_path(first)
            if here in _STATUS and _is_below_400(op, right):
                return FALSE
            if here in _WELL and op == "==" and right in (Const("success"), Const("ok")):
                return FALSE
    return None


def _is_below_400(op: str, right: Expr) -> bool:
    """Whether a comparison of a status of http holds for answers that are no failure only."""
    match right:
        case Const(value=int(value)) if not isinstance(value, bool):
            return (op == "==" and value < 400) or (op in ("<", "<=") and value <= 400)
        case ListOf(items=items) | TupleOf(items=items) if op == "in":
            return all(_is_below_400("==", item) for item in items)
        case _:
            return False


def constants_folded(expr: Expr) -> Expr:
    """The expression with `and`, `or` and `not` of constants worked out."""
    match expr:
        case Logic(op=op, left=left, right=right):
            left, right = constants_folded(left), constants_folded(right)
            stays, ends = (TRUE, FALSE) if op == "and" else (FALSE, TRUE)
            if left == stays:
                return right
            if right == stays or left == right:
                return left
            return ends if ends in (left, right) else Logic(op, left, right)
        case Not(of=of):
            inner = constants_folded(of)
            return FALSE if inner == TRUE else TRUE if inner == FALSE else Not(inner)
        case _:
            return expr
