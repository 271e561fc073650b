"""Readings of a status: as the code of an http answer, or as a word of its body.

    result.status == 200         the code            ctx.state == 'active', ctx.state | upper    a word of the body
    result.status == 'failed'    how it ended        ctx.state.text                              a mapping of the body

REAL.md, values: "`status` compared with a number or stored bare is the status code, compared with one of `ok error
success failed` the outcome's, with any other text the body's". What stands between the name and the comparison changes
nothing about that: a filter, a default, the order of the two sides.
"""

from collections.abc import Container, Iterator, Mapping
from typing import TypeAlias

from noetl_ir.expr import (
    Attribute,
    Binary,
    Call,
    Compare,
    Conditional,
    Const,
    Expr,
    Filter,
    Item,
    ListOf,
    Logic,
    Slice,
    Test,
    TupleOf,
    Unary,
    children,
)
from noetl_ir.paths import static_path
from noetl_ir.records import NamedTuple

OK = frozenset({"ok", "success"})
FAILED = frozenset({"error", "failed", "failure"})
"""The words for how a call ended."""

StatusTexts: TypeAlias = Mapping[tuple[str, ...], str]
"""The paths that lead to a text which is written out: constants of the workload."""

NO_TEXTS: StatusTexts = {}

TEXT_METHODS = frozenset(
    {"lower", "upper", "title", "capitalize", "startswith", "endswith", "split", "replace", "strip", "find", "casefold"}
)
"""Methods that only texts have."""
_TEXT_FILTERS = frozenset({"lower", "upper", "title", "capitalize", "replace", "split", "wordcount", "truncate"})
_WEAK_FILTERS = frozenset({"trim", "string", "safe"})
"""These are put around anything that is compared as text, a number as well."""
_NUMBER_FILTERS = frozenset({"int", "float", "round", "abs"})
_ORDER = frozenset({"<", "<=", ">", ">="})


class Evidence(NamedTuple):
    """Readings of a status: the words it is compared with, in lower case, and whether it is filtered as
    text, read as a number, or as something with keys.
    """

    words: frozenset[str] = frozenset()
    text: bool = False
    number: bool = False
    keys: bool = False

    def __or__(self, other: "Evidence") -> "Evidence":
        return Evidence(
            self.words | other.words, self.text or other.text, self.number or other.number, self.keys or other.keys
        )

    @property
    def is_body(self) -> bool:
        """Whether it is a key of the body."""
        return not self.number and (self.keys or bool(self.words - OK - FAILED) or (self.text and not self.words))

    @property
    def is_outcome(self) -> bool:
        """Whether it is how the call ended."""
        return not (self.number or self.keys) and bool(self.words) and self.words <= OK | FAILED

    @property
    def is_code(self) -> bool:
        """Whether it is the status code, and nobody takes it for anything else."""
        return self.number and not (self.words or self.text or self.keys)

    def word(self, *, ok: bool) -> str:
        """The word for a call that went well, or failed, with which the readers compare."""
        of = OK if ok else FAILED
        return min(self.words & of, default="success" if ok else "error")


NO_EVIDENCE = Evidence()
NUMBER, TEXT, KEYS = Evidence(number=True), Evidence(text=True), Evidence(keys=True)


def evidence(expr: Expr, texts: StatusTexts) -> Iterator[tuple[Expr, Evidence]]:
    """(value in an expression, what the expression takes it for), wherever the use of a value tells."""
    waiting = [expr]
    while waiting:
        here = waiting.pop()
        waiting += children(here)
        yield from said_by(here, texts)


def said_by(expr: Expr, texts: StatusTexts) -> Iterator[tuple[Expr, Evidence]]:
    """`evidence` of one node alone: what it takes the values directly below it for."""
    match expr:
        case Compare(first=first, rest=rest):
            left = first
            for op, right in rest:
                yield from _compared(left, op, right, texts)
                left = right
        case Attribute(of=of) | Item(of=of, key=Const(value=str())):
            yield of, KEYS
        case _:
            for part, said in _typed(expr):
                yield from ((read, said) for read in possible_values(part))


def _typed(expr: Expr) -> Iterator[tuple[Expr, Evidence]]:
    """The parts of a node that must be of one type for it to mean something."""
    match expr:
        case Filter(of=of, name=name) if name in _TEXT_FILTERS or name in _NUMBER_FILTERS:
            yield of, TEXT if name in _TEXT_FILTERS else NUMBER
        case Call(callee=Attribute(of=of, name=name)):
            yield of, TEXT if name in TEXT_METHODS else KEYS
        case Slice(of=of) | Test(of=of, name="string" | "lower" | "upper"):
            yield of, TEXT
        case Unary(of=of) | Test(of=of, name="number" | "integer" | "float" | "odd" | "even" | "divisibleby"):
            yield of, NUMBER
        case Binary(op="-" | "/" | "//" | "**", left=left, right=right):
            yield left, NUMBER
            yield right, NUMBER
        case Binary(op="+", left=left, right=right):
            for one, other in ((left, right), (right, left)):
                if isinstance(other, Const):
                    yield one, TEXT if isinstance(other.value, str) else NUMBER


def _compared(left: Expr, op: str, right: Expr, texts: StatusTexts) -> Iterator[tuple[Expr, Evidence]]:
    for one, other in ((left, right), (right, left)):
        said = compared_with(one, op, other, texts, is_left=one is left)
        if said is not None:
            yield from ((read, said) for read in possible_values(one))


def compared_with(one: Expr, op: str, other: Expr, texts: StatusTexts, *, is_left: bool) -> Evidence | None:
    """The reading of one side of a comparison; None where it says nothing."""
    if op in ("in", "not in") and not is_left:
        # `'act' in status` looks into a text; no code holds anything.
        return TEXT if words_of(other, texts) else None
    words = words_of(other, texts)
    if words:
        # A code that was made a text is compared with digits.
        if is_filtered(one) and all(word.strip().isdigit() for word in words):
            return NUMBER
        return Evidence(frozenset([word.lower() for word in words]))
    return NUMBER if _are_numbers(other) or (op in _ORDER and isinstance(other, Const)) else None


def words_of(expr: Expr, texts: StatusTexts) -> frozenset[str]:
    """The texts that something is compared with; empty where one of them is no text."""
    match expr:
        case Const(value=str(word)):
            return frozenset({word})
        case ListOf(items=items) | TupleOf(items=items):
            words = [words_of(item, texts) for item in items]
            return frozenset[str]().union(*words) if all(words) else frozenset()
        case Filter(of=of, name=name) if name in _WEAK_FILTERS or name in ("lower", "upper"):
            return words_of(of, texts)
    here = static_path(expr)
    return frozenset({texts[here]}) if here in texts else frozenset()


def _are_numbers(expr: Expr) -> bool:
    match expr:
        case Const(value=value):
            return isinstance(value, int | float) and not isinstance(value, bool)
        case ListOf(items=items) | TupleOf(items=items):
            return bool(items) and all(map(_are_numbers, items))
        case Call(callee=callee):
            return static_path(callee) == ("range",)
    return False


def is_filtered(expr: Expr) -> bool:
    """Whether a value was made a text before it is compared."""
    while isinstance(expr, Filter):
        if expr.name in _TEXT_FILTERS or expr.name in _WEAK_FILTERS:
            return True
        expr = expr.of
    return isinstance(expr, Call)


def possible_values(expr: Expr) -> Iterator[Expr]:
    """The values of which one is the value of the expression as it is: `a` and `b` of `a if c else b`."""
    match expr:
        case Filter(of=of, name="default" | "d", args=args):
            yield from possible_values(of)
            for arg in args[:1]:
                yield from possible_values(arg)
        case Filter(of=of, name=name) if name in _WEAK_FILTERS or name in _TEXT_FILTERS:
            yield from possible_values(of)
        case Call(callee=Attribute(of=of, name=name)) if name in TEXT_METHODS:
            yield from possible_values(of)
        case Conditional(then=then, otherwise=other):
            yield from possible_values(then)
            if other is not None:
                yield from possible_values(other)
        case Logic(left=left, right=right):
            yield from possible_values(left)
            yield from possible_values(right)
        case _:
            yield expr


def constants(workload: Mapping[str, object], hidden: Container[str]) -> StatusTexts:
    """The texts of a workload by their paths."""
    found: dict[tuple[str, ...], str] = {}
    for key, value in workload.items():
        if isinstance(value, str):
            found["workload", key] = value
            if key not in hidden:
                found[key,] = value
    return found
