"""Guards as formulas over variables with few values, to tell which choices exclude each other.

A variable is a path that guards read, as `workload.kind`; its values are the constants it is compared with and two
more, "something else that is true" and "… that is false". `==`, `!=`, `in` a list of constants, `not`, `and`, `or` and
the bare path are decided by the values. Any other test is a variable of its own, true or false, so that only itself and
its negation are related: `x < 3` and `x >= 3` may both be false.
"""

from collections.abc import Iterator, Mapping
from itertools import product
from typing import TypeAlias

from noetl_ir.expr import Call, Compare, Conditional, Const, Expr, Json, ListOf, Logic, Name, Not, TupleOf, walk
from noetl_ir.paths import static_path
from noetl_ir.records import NamedTuple
from noetl_ir.scopes import PlayScope

MAX_CASES = 64
"""Combinations of values up to which a guard is worked out; one with more may be anything."""

GuardValue: TypeAlias = str
"""A value of a variable: `true` and `false` for anything else that is so, or a constant as `=repr`."""

GuardCase: TypeAlias = tuple[tuple[int, GuardValue], ...]
"""(variable, value) pairs."""


class Variable(NamedTuple):
    """A read: the expression, its root name (`workload ctx event …`, `?` for several) and the key below that."""

    expr: Expr
    root: str
    key: str


class Variables:
    """The variables of all guards of a plan."""

    def __init__(self) -> None:
        self.known: list[Variable] = []
        self._numbers: dict[Expr, int] = {}
        self._constants: list[dict[GuardValue, None]] = []

    def add_guard(self, expr: Expr) -> None:
        """Take in a guard."""
        for part in _parts(expr):
            match part:
                case Compare(first=first, rest=((_, second),)) if _is_test(part):
                    number = self._number(first)
                    for each in _constants_of(second):
                        self._constants[number][_value(each)] = None
                case _:
                    self._number(part)

    def values(self, number: int) -> list[GuardValue]:
        """The values of a variable."""
        return [*self._constants[number], "true", "false"]

    def value_of(self, number: int, value: Json) -> GuardValue:
        """The value of a variable where its path has some JSON."""
        # Only scalars can equal a constant of a guard. Lists and mappings are known to be true or false alone.
        if value is None or isinstance(value, str | int | float | bool):
            found = _value(Const(value))
            if found in self._constants[number]:
                return found
        return "true" if value and not (isinstance(value, str) and value.lower() == "false") else "false"

    def value_at_start(self, number: int, ctx: dict[str, Json]) -> GuardValue | None:
        """The value of a variable over `ctx` while nothing has been set; None where that raises, or is not certain."""
        expr = self.known[number].expr
        # A call may give another value at another time.
        if any(isinstance(each, Call) for each in walk(expr)):
            return None
        from noetl_ir.evaluate import Fault, compile_guard  # most playbooks are checked without it

        here = static_path(expr)
        if len(here) == 2 and here[1] in ctx:
            return self.value_of(number, ctx[here[1]])
        scope = PlayScope({"ctx": ctx})
        try:
            if static_path(expr) and compile_guard(Compare(expr, (("==", Const(None)),)))(scope):
                return self.value_of(number, None)
            return "true" if compile_guard(expr)(scope) else "false"
        except Fault:
            return None

    def variables_of(self, expr: Expr) -> list[int]:
        """The variables that a guard depends on."""
        found = {
            self._numbers[part.first if isinstance(part, Compare) and _is_test(part) else part] for part in _parts(expr)
        }
        return sorted(found)

    def cases(self, expr: Expr, wanted: bool) -> list[GuardCase] | None:
        """The combinations of values with which a guard is as wanted; None when there are too many to list."""
        used = self.variables_of(expr)
        size = 1
        for number in used:
            # The number of cases is a product, and guards are untrusted input. Beyond the limit the guard may be
            # anything, which proves less and never wrong.
            size *= len(self.values(number))
        if size > MAX_CASES:
            return None
        trials = (dict(zip(used, values, strict=True)) for values in product(*map(self.values, used)))
        return [tuple(trial.items()) for trial in trials if self.truth(expr, trial) == wanted]

    def _number(self, expr: Expr) -> int:
        number = self._numbers.get(expr)
        if number is None:
            number = self._numbers[expr] = len(self.known)
            path = static_path(expr)
            roots = [path[0]] if path else sorted(_roots(expr)) or ["?"]
            self.known.append(Variable(expr, roots[0] if len(roots) == 1 else "?", path[1] if len(path) > 1 else ""))
            self._constants.append({})
        return number

    def truth(self, expr: Expr, trial: Mapping[int, GuardValue]) -> bool:
        """The truth of a guard under values, without recursion: operands first."""
        truth: dict[int, bool] = {}
        # Operands come before what they are in. No recursion: a guard may be nested deeper than Python's stack.
        for part in reversed(list(_all(expr))):
            match part:
                case Const(value=value):
                    truth[id(part)] = bool(value) and str(value).lower() != "false"
                case Not(of=of):
                    truth[id(part)] = not truth[id(of)]
                case Logic(op=op, left=left, right=right):
                    sides = (truth[id(left)], truth[id(right)])
                    truth[id(part)] = all(sides) if op == "and" else any(sides)
                case Conditional(test=test, then=then, otherwise=otherwise) if otherwise is not None:
                    truth[id(part)] = truth[id(then)] if truth[id(test)] else truth[id(otherwise)]
                case Compare(first=first, rest=((op, second),)) if _is_test(part):
                    # Comparisons with constants share the variable of their path: so `x == 'a'` and `x == 'b'`
                    # exclude each other.
                    found = trial[self._numbers[first]] in {_value(each) for each in _constants_of(second)}
                    truth[id(part)] = found == (op in ("==", "in"))
                case _:
                    truth[id(part)] = _is_true(trial[self._numbers[part]])
        return truth[id(expr)]


def _all(expr: Expr) -> Iterator[Expr]:
    """Every connective of a formula and each of its operands, an operand after the connective that it is in."""
    waiting = [expr]
    while waiting:
        here = waiting.pop()
        yield here
        match here:
            case Not(of=of):
                waiting.append(of)
            case Logic(left=left, right=right):
                waiting += (left, right)
            case Conditional(test=test, then=then, otherwise=otherwise) if otherwise is not None:
                waiting += (test, then, otherwise)
            case _:
                pass


def _parts(expr: Expr) -> Iterator[Expr]:
    """The atoms of a formula: everything but connectives and constants."""
    for part in _all(expr):
        if not isinstance(part, Not | Logic | Const) and not (
            isinstance(part, Conditional) and part.otherwise is not None
        ):
            yield part


def _is_test(part: Compare) -> bool:
    """Whether a comparison is of a path with constants."""
    match part:
        case Compare(first=first, rest=(("==" | "!=", Const()),)):
            return bool(static_path(first))
        case Compare(first=first, rest=(("in" | "not in", ListOf(items=items) | TupleOf(items=items)),)):
            return bool(static_path(first)) and all(isinstance(each, Const) for each in items)
        case _:
            return False


def _constants_of(expr: Expr) -> list[Const]:
    match expr:
        case Const():
            return [expr]
        case ListOf(items=items) | TupleOf(items=items):
            return [each for each in items if isinstance(each, Const)]
        case _:
            return []


def _value(const: Const) -> GuardValue:
    """A constant as a value; 1, 1.0 and true are equal where guards compare."""
    value = const.value
    if isinstance(value, bool) or (isinstance(value, float) and value.is_integer()):
        value = int(value)
    return f"={value!r}"


def _is_true(value: GuardValue) -> bool:
    return value == "true" or (value.startswith("=") and value.lower() not in ("=0", "=none", "=''", "='false'"))


def _roots(expr: Expr) -> set[str]:
    return {each.name for each in walk(expr) if isinstance(each, Name)}
