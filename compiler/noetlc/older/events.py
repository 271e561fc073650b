"""Guards on events of older dialects, for a moment at which it is certain what happened."""

from collections.abc import Callable
from typing import TypeAlias

from noetl_ir.expr import Const, Expr, Logic, Not, walk
from noetlc.ast.once import Once
from noetlc.expr.rewrite import rewritten
from noetlc.expr.shorthand import defined, either, negated, path
from noetlc.older.legacy_names import is_negative, named_events

Happened: TypeAlias = Callable[[str, bool], Expr]
"""Whether an event of that name is what happened, asked by a comparison that is negative: a constant, or an
expression.
"""

TRUE, FALSE = Const(True), Const(False)
RESPONDED = defined(path("outcome", "http", "status"))
"""For http: a response came."""

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

    def answer(part: Expr) -> Expr | None:
        names = named_events(part)
        if names is None:
            return None
        answers = tuple(dict.fromkeys(happened(name, is_negative(part)) for name in names))
        found = (
            TRUE
            if TRUE in answers
            else either(*(a for a in answers if a != FALSE))
            if any(a != FALSE for a in answers)
            else FALSE
        )
        return folded(negated(found)) if is_negative(part) else found

    return folded(rewritten(expr, answer))


def on_success(expr: Expr) -> Expr:
    """The guard where the tool succeeded."""
    return assuming(expr, lambda name, _: TRUE if name in DONE else FALSE)


def on_failure(expr: Expr, *, http: bool) -> Expr:
    """The guard where the tool failed: nothing, unless it asks for an event; for http a response may have come."""
    if not events_in(expr):
        return FALSE

    def happened(name: str, negative: bool) -> Expr:
        if name in FAILED:  # the end of a call that was answered comes first, and is no `call.error`
            return negated(RESPONDED) if http and negative else TRUE
        return RESPONDED if http and name in ("call.done", "tool.processed") else FALSE

    return assuming(expr, happened)


def on_response(expr: Expr) -> Expr:
    """The guard where http failed with a response, which is a `call.done`."""
    if not events_in(expr):
        return FALSE

    def happened(name: str, negative: bool) -> Expr:
        if name in FAILED:
            return negated(RESPONDED) if negative else FALSE
        return RESPONDED if name in ("call.done", "tool.processed") else FALSE

    return assuming(expr, happened)


def folded(expr: Expr) -> Expr:
    """The expression with `and`, `or` and `not` of constants worked out."""
    match expr:
        case Logic(op=op, left=left, right=right):
            left, right = folded(left), folded(right)
            stays, ends = (TRUE, FALSE) if op == "and" else (FALSE, TRUE)
            if left == stays:
                return right
            if right == stays or left == right:
                return left
            return ends if ends in (left, right) else Logic(op, left, right)
        case Not(of=of):
            inner = folded(of)
            return FALSE if inner == TRUE else TRUE if inner == FALSE else Not(inner)
        case _:
            return expr
