"""Which guards can be true together: those of one router, gate or policy, decided over their atoms.

    kind == 'a'   kind in ['b', 'c']   kind == 'd'     →  (T F F) (F T F) (F F T) (F F F)

Every combination of values of what the guards read is tried (`guards`), less those that known facts and the order of
numbers exclude: `n < 3` and `n >= 5` are never both true, and both false only from 3 to below 5. To order what is no
number raises, and so does what is not there: a guard that raises is none of this, that is a fault, not a choice. What
is compared with `true` and with `false` is one of the two.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise, product
from typing import TypeAlias

from noetl_ir.expr import Attribute, Binary, Compare, Const, Expr, Filter, Logic, Name, Not, Unary, walk
from noetl_ir.records import NamedTuple
from noetlc.analysis.guards import GuardValue, Variables
from noetlc.ast.truth import FactPath, path_of

MAX_TRIALS = 4_096
"""Combinations that are tried; guards with more are left alone."""

_Truths: TypeAlias = tuple[bool, ...]
"""One truth for each guard."""

_SWAPPED = {"==": "==", "!=": "!=", "<": ">", ">": "<", "<=": ">=", ">=": "<="}
_FLIPPED = frozenset({">", "<=", ">="})
"""Orderings that are another one, or its contrary, with the sides swapped; those with numbers are worked out."""

_POSITIVE = {"!=": "==", "not in": "in"}
_NUMBERS = frozenset({"length", "count", "int", "float", "abs", "round", "sum"})
_LENGTHS = frozenset({"length", "count"})
_ROUNDS = frozenset({"loop_index", "_attempt", "_iteration"})
_COUNTERS = _ROUNDS | {"_elapsed"}
_EVENT_COUNTERS = frozenset({("event", "total"), ("event", "ok"), ("event", "failed"), ("event", "skipped")})


class _Order(NamedTuple):
    """An atom `base op number`: which variable it is, and what it compares."""

    variable: int
    base: Expr
    op: str
    number: float


def truths_of(
    guards: Sequence[Expr], facts: Mapping[FactPath, str], numbers: frozenset[FactPath]
) -> dict[_Truths, Mapping[Expr, GuardValue]] | None:
    """The truths that the guards can have together, each with values for it; None where there are too many to try.

    `facts` are texts known at paths, `numbers` paths at which a number stands.
    """
    plain = [_plain(guard) for guard in guards]
    variables = Variables()
    for guard in plain:
        variables.add_guard(guard)
    used = sorted({number for guard in plain for number in variables.variables_of(guard)})
    booleans = _booleans(variables, plain)
    values = [_values(variables, number, facts, booleans) for number in used]
    size = 1
    for each in values:
        size *= len(each)
        # Too many to try says that nothing is known. A rule that hears that says nothing.
        if size > MAX_TRIALS:
            return None
    orders = list(_orders(variables, used))
    found: dict[_Truths, Mapping[Expr, GuardValue]] = {}
    for combination in product(*values):
        trial = dict(zip(used, combination, strict=True))
        truths = tuple(variables.truth(guard, trial) for guard in plain)
        # One example of each row of truths is enough, the first in the order of the file.
        if truths not in found and _is_possible(variables, trial, orders, numbers):
            found[truths] = {variables.known[number].expr: value for number, value in trial.items()}
    return found


def _plain(guard: Expr) -> Expr:
    """A guard whose comparisons are positive and have what is read on their left; operands first, without recursion."""
    waiting: list[tuple[Expr, bool]] = [(guard, False)]
    done: list[Expr] = []
    while waiting:
        here, ready = waiting.pop()
        match here:
            case Not(of=of) if not ready:
                waiting += ((here, True), (of, False))
            case Logic(left=left, right=right) if not ready:
                waiting += ((here, True), (right, False), (left, False))
            case Not():
                done.append(Not(done.pop()))
            case Logic(op=op):
                right = done.pop()
                done.append(Logic(op, done.pop(), right))
            case Compare(rest=((_, _),)):
                done.append(_compared(here))
            case _:
                done.append(here)
    return done[0]


def _compared(test: Compare) -> Expr:
    (op, second), first = test.rest[0], test.first
    if isinstance(first, Const) and not isinstance(second, Const) and op in _SWAPPED:
        first, op, second = second, _SWAPPED[op], first
    if op in _POSITIVE:
        return Not(Compare(first, ((_POSITIVE[op], second),)))
    # `a > b` and `b < a` become one atom, so that they are never told apart. With a number the atoms are worked out
    # on the number line instead.
    if op in _FLIPPED and not (isinstance(second, Const) and isinstance(second.value, int | float)):
        if op != ">=":
            first, second = second, first
        less = Compare(first, (("<", second),))
        return less if op == ">" else Not(less)
    return Compare(first, ((op, second),))


def _booleans(variables: Variables, guards: Sequence[Expr]) -> frozenset[int]:
    """The variables that guards compare with both `true` and `false`: nothing else is meant to stand there."""
    found: dict[Expr, set[bool]] = {}
    for test in (part for guard in guards for part in walk(guard) if isinstance(part, Compare)):
        match test:
            case Compare(first=first, rest=(("==", Const(value=bool() as value)),)):
                found.setdefault(first, set()).add(value)
            case _:
                pass
    both = {expr for expr, values in found.items() if len(values) == 2}
    return frozenset(number for number, each in enumerate(variables.known) if each.expr in both)


def _values(
    variables: Variables, number: int, facts: Mapping[FactPath, str], booleans: frozenset[int]
) -> list[GuardValue]:
    known = facts.get(path_of(variables.known[number].expr))
    values = variables.values(number)
    if known is None:
        # A path that is compared with both truths is meant to hold one of the two. Other values would only make
        # routers seem to have a gap.
        return [value for value in values if value.startswith("=")] if number in booleans else values
    return [f"={known!r}"] if f"={known!r}" in values else ["true"]


def _orders(variables: Variables, used: Sequence[int]) -> Iterator[_Order]:
    for number in used:
        match variables.known[number].expr:
            case Compare(first=first, rest=((("<" | "<=" | ">" | ">=" | "==") as op, Const(value=value)),)):
                if isinstance(value, int | float) and not isinstance(value, bool):
                    yield _Order(number, first, op, float(value))


def _is_possible(
    variables: Variables, trial: Mapping[int, GuardValue], orders: Sequence[_Order], numbers: frozenset[FactPath]
) -> bool:
    """Whether some value of each base has the truths that a trial gives to its orderings and equalities."""
    for base in dict.fromkeys(order.base for order in orders):
        mine = [(order, trial[order.variable] == "true") for order in orders if order.base == base]
        equal = next((trial[number] for number in trial if variables.known[number].expr == base), None)
        number = next((number for number in trial if variables.known[number].expr == base), -1)
        named = [x for value in (variables.values(number) if number >= 0 else ()) for x in _number_of(value)]
        tried = [x for x in _points({order.number for order, _ in mine} | {*named}, base) if _agrees(x, equal, named)]
        # Truths of orderings change only at the numbers that are named. One number in each interval between them
        # stands for all in it.
        fits = any(all(_holds(x, order) == truth for order, truth in mine) for x in tried)
        plain = all(order.op == "==" for order, _ in mine)  # else what is no number raises, and no arc is taken
        text = plain and not any(truth for _, truth in mine)
        text = text and not (_is_number(base, numbers) or (equal and _number_of(equal)))
        if not fits and not text:
            return False
    return True


def _points(numbers: set[float], base: Expr) -> list[float]:
    """Numbers among which every interval between some has one; of a count the whole ones from 0."""
    points = sorted(numbers)
    between = [(a + b) / 2 for a, b in pairwise(points)]
    # Every named number, one between each two, and one beyond each end: that is every case of a number line.
    tried = [points[0] - 1, *points, *between, points[-1] + 1]
    if not _is_count(base):
        return tried
    return [x for x in [*tried, *(a + 1 for a in points), *(a - 1 for a in points)] if x >= 0 and x == int(x)]


def _agrees(x: float, value: GuardValue | None, named: Sequence[float]) -> bool:
    """Whether a number is one of those that a value stands for."""
    match value:
        case None:
            return True
        case "true" | "false":
            return x not in named and (x != 0) == (value == "true")
        case _:
            return _number_of(value) == [x]


def _is_count(expr: Expr) -> bool:
    return (isinstance(expr, Filter) and expr.name in _LENGTHS) or (
        path_of(expr) in _EVENT_COUNTERS or (isinstance(expr, Name) and expr.name in _ROUNDS)
    )


def _number_of(value: GuardValue) -> list[float]:
    """The number that a constant is; nothing for any other value."""
    try:
        return [float(value[1:])]
    except ValueError:
        return []


def _holds(x: float, order: _Order) -> bool:
    match order.op:
        case "<":
            return x < order.number
        case "<=":
            return x <= order.number
        case ">":
            return x > order.number
        case "==":
            return x == order.number
        case _:
            return x >= order.number


def _is_number(expr: Expr, numbers: frozenset[FactPath]) -> bool:
    """Whether an expression is a number wherever it has a value at all (NET.md)."""
    waiting = [expr]
    while waiting:
        match waiting.pop():
            case Filter(name=name) if name in _NUMBERS:
                continue
            case Binary(op="-" | "*" | "/" | "//" | "%" | "**" | "+", left=left, right=right):
                waiting += (left, right)
            case Unary(of=of):
                waiting.append(of)
            # A boolean is an `int` for Python and counts as no number here.
            case Const(value=bool()):
                return False
            case Const(value=int() | float()):
                continue
            case Name(name=name) if name in _COUNTERS:
                continue
            case Attribute() as path if path_of(path) in numbers or path_of(path) in _EVENT_COUNTERS:
                continue
            case _:
                return False
    return True
