"""The certain truth of a guard before anything runs: true, false, or unknown.

Only constants and the given facts are looked at; everything else is unknown, and so is what would raise.
"""

from collections.abc import Mapping

from noetl_ir.expr import (
    Attribute,
    Binary,
    Compare,
    Conditional,
    Const,
    Expr,
    Item,
    ListOf,
    Logic,
    Name,
    Not,
    TupleOf,
    Unary,
    walk,
)
from noetlc.ast.once import Once
from noetlc.ast.playbook import Arc, Guard, Step

FactPath = tuple[str, ...]
KnownTexts = Mapping[FactPath, str]
"""Path → the text that stands there, as in `('event', 'name')` → `step.done`."""

_MISSING = object()
_LARGEST = 1e100


class Facts:
    """The knowledge where a guard is asked; `verdict` is the truth of an expression there."""

    __slots__ = ("verdict",)

    def __init__(self, known: KnownTexts) -> None:
        self.verdict: Once[Expr, bool | None] = Once(lambda expr: truth(expr, known))


NO_FACTS = Facts({})
"""What holds wherever a guard is asked."""

FAILED_FACTS = Facts({("event", "name"): "step.failed", ("event", "status"): "error"})
"""The event that the arcs of a step see when it fails."""

ERROR_FACTS = Facts({("outcome", "status"): "error"})
"""What the rules of a task see when it fails."""

_STEP_DONE = Facts({("event", "name"): "step.done", ("event", "status"): "ok"})
LOOP_DONE_FACTS = Facts({("event", "name"): "loop.done", ("event", "status"): "ok"})
"""What the arcs of a loop see when it succeeds."""


def done_facts(step: Step) -> Facts:
    """The event that the arcs of a step see when it succeeds (LANGUAGE §3)."""
    return _STEP_DONE if step.loop is None else LOOP_DONE_FACTS


def truth_of(guard: Guard | None, facts: Facts) -> bool | None:
    """Whether a guard is certainly true or certainly false; a missing guard is true."""
    return True if guard is None else facts.verdict(guard.expr)


def truth(expr: Expr, facts: KnownTexts) -> bool | None:
    """The truth of an expression as guards ask for it: the text `false` in any case is false (LANGUAGE
    §2).
    """
    match expr:
        case Not(of=of):
            inner = truth(of, facts)
            return None if inner is None else not inner
        case Logic(op=op, left=left, right=right):
            # Both sides are looked at: what is unknown and false is false.
            sides = (truth(left, facts), truth(right, facts))
            decides = op == "or"
            if decides in sides:
                return decides
            return None if None in sides else not decides
        case Conditional(test=test, then=then, otherwise=otherwise) if otherwise is not None:
            asked = truth(test, facts)
            both = (truth(then, facts), truth(otherwise, facts))
            # An unknown test does not matter where both branches say the same.
            return (both[0] if both[0] == both[1] else None) if asked is None else both[0 if asked else 1]
        case Compare(first=first, rest=((op, second),)):
            return _compared(first, op, second, facts)
        case _:
            value = _value(expr, facts)
            if value is _MISSING:
                return None
            return bool(value) and not (isinstance(value, str) and value.lower() == "false")


def path_of(expr: Expr) -> FactPath:
    """The dotted path that an expression is; () for any other expression."""
    names: list[str] = []
    while isinstance(expr, Attribute):
        names.append(expr.name)
        expr = expr.of
    if not isinstance(expr, Name):
        return ()
    return (expr.name, *reversed(names))


def _compared(first: Expr, op: str, second: Expr, facts: KnownTexts) -> bool | None:
    left = _value(first, facts)
    if op in ("in", "not in"):
        if left is _MISSING or not isinstance(second, ListOf | TupleOf):
            return None
        values = [_value(item, facts) for item in second.items]
        found = any(value is not _MISSING and value == left for value in values)
        # An unknown item may be the one that is equal.
        if not found and _MISSING in values:
            return None
        return found if op == "in" else not found
    right = _value(second, facts)
    if left is _MISSING or right is _MISSING:
        return None
    if op in ("==", "!="):
        return (left == right) == (op == "==")
    if isinstance(left, str) and isinstance(right, str):
        return _ordered(left < right, left == right, op)
    # Other types have no order in Jinja2: that would raise, and so is unknown.
    low, high = _number(left), _number(right)
    return None if low is None or high is None else _ordered(low < high, low == high, op)


def _ordered(less: bool, equal: bool, op: str) -> bool | None:
    return {"<": less, "<=": less or equal, ">": not less and not equal, ">=": not less}.get(op)


def _value(expr: Expr, facts: KnownTexts) -> object:
    match expr:
        case Const(value=value):
            return value
        case Attribute():
            return facts.get(path_of(expr), _MISSING)
        case Unary(op="-", of=of):
            number = _number(_value(of, facts))
            return _MISSING if number is None else -number
        case Binary(op="+" | "-" | "*" as op, left=left, right=right):
            low, high = _number(_value(left, facts)), _number(_value(right, facts))
            if low is None or high is None:
                return _MISSING
            return low + high if op == "+" else low - high if op == "-" else low * high
        case _:
            return _MISSING


def _number(value: object) -> int | float | None:
    """A number that cannot overflow in one operation more."""
    # `true + 1` is left to the run.
    if not isinstance(value, int | float) or isinstance(value, bool):
        return None
    return value if abs(value) <= _LARGEST else None


_FAILURE = frozenset({"name", "status", "error"})


def takes_part_on_failure(arc: Arc) -> bool:
    """Whether its guard reads `event.name`, `event.status` or `event.error` (LANGUAGE §3)."""
    return arc.when is not None and _reads_what_happened(arc.when.expr)


def _looks_at_event(expr: Expr) -> bool:
    for part in walk(expr):
        match part:
            case Attribute(of=Name(name="event"), name=name) if name in _FAILURE:
                return True
            case Item(of=Name(name="event"), key=Const(value=str(name))) if name in _FAILURE:
                return True
    return False


_reads_what_happened = Once(_looks_at_event)
