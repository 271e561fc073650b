"""Most expressions without the grammar: paths, constants, filters and comparisons, joined by `and` and `or`.

What it reads, it reads exactly as `noetlc.expr.lalr` does, offsets included (a property test holds it to
that). It returns None for everything else, errors included, and never guesses.
"""

import re

from noetl_ir.expr import Attribute, Compare, Const, Expr, Filter, ListOf, Logic, Name, Not, Test, Unary
from noetl_ir.records import NamedTuple
from noetl_ir.scopes.vocabulary import FILTER_ARGUMENTS, FILTERS, TESTS
from noetlc.expr.tokens import CONSTANTS, KEYWORDS

_NAME = r"[A-Za-z_][A-Za-z0-9_]*"
_OPERAND = re.compile(
    rf"""\s*(?:(?P<path>{_NAME}(?:\.{_NAME})*)(?![\w(\[])
    |'(?P<single>[^'\\{{}}]*)'|"(?P<double>[^"\\{{}}]*)"
    |(?P<integer>0|[1-9][0-9]{{0,17}})(?![\w.]) |(?P<minus>-)(?P<digits>0|[1-9][0-9]{{0,17}})(?![\w.])
    |(?P<open>\[))""",
    re.ASCII | re.VERBOSE,
)
_FILTER = re.compile(rf"\s*\|\s*(?P<name>{_NAME})(?![\w.])(?P<open>\s*\()?", re.ASCII)
_TEST = re.compile(rf"\s+is\s+(?P<not>not\s+)?(?P<name>{_NAME})(?=\s*(?:\Z|\s(?:and|or)\s))", re.ASCII)
_COMPARE = re.compile(r"\s*(?P<op>==|!=|<=|>=|<|>)|\s+(?P<word>in|not\s+in)(?=[\s\['\"])", re.ASCII)
_LOGIC = re.compile(r"\s+(and|or)(?=\s)", re.ASCII)
_NOT = re.compile(r"\s*(not)(?=\s)", re.ASCII)
_COMMA = re.compile(r"\s*,", re.ASCII)
_CLOSE = re.compile(r"\s*\)", re.ASCII)
_NESTED = re.compile(r"\s*\[", re.ASCII)
_CLOSE_LIST = re.compile(r"\s*\]", re.ASCII)
_END = re.compile(r"\s*\Z")


# Each level of a tree takes two characters or more: nothing so short is deeper than the grammar's MAX_DEPTH.
_LONGEST = 200


class _Found(NamedTuple):
    expr: Expr
    end: int


def quick(text: str, start: int, end: int) -> Expr | None:
    """The expression that `text[start:end]` is, if it is a simple one."""
    if end - start > _LONGEST:
        return None
    either: Expr | None = None
    both: Expr | None = None
    at = start
    while True:
        found = _clause(text, at, end)
        if found is None:
            return None
        here, at = found
        both = here if both is None else Logic("and", both, here, both.start, here.end)
        word = _LOGIC.match(text, at, end)
        if word is None:
            break
        at = word.end()
        if word.group(1) == "or":
            either = both if either is None else Logic("or", either, both, either.start, both.end)
            both = None
    if not _END.match(text, at, end):
        return None
    return both if either is None else Logic("or", either, both, either.start, both.end)


def _clause(text: str, at: int, end: int) -> _Found | None:
    """An operand or a comparison, perhaps behind one `not`."""
    negated = _NOT.match(text, at, end)
    if negated:
        at = negated.end()
    found = _filtered(text, at, end)
    if found is None:
        return None
    expr, at = found
    rest: list[tuple[str, Expr]] = []
    while compared := _COMPARE.match(text, at, end):
        right = _filtered(text, compared.end(), end)
        if right is None:
            return None
        word = compared.group("word")
        op = compared.group("op") or ("in" if word == "in" else "not in")
        rest.append((op, right.expr))
        at = right.end
    if rest:
        expr = Compare(expr, tuple(rest), expr.start, rest[-1][1].end)
    if negated:
        expr = Not(expr, negated.start(1), expr.end)
    return _Found(expr, at)


def _filtered(text: str, at: int, end: int) -> _Found | None:
    """An operand with its filters, and at most one test without arguments as the last."""
    found = _operand(text, at, end)
    if found is None:
        return None
    expr, at = found
    start = expr.start
    while piped := _FILTER.match(text, at, end):
        name = piped.group("name")
        if name not in FILTERS:
            return None
        at = piped.end()
        args: tuple[Expr, ...] = ()
        if piped.group("open"):
            closed = _CLOSE.match(text, at, end)
            if closed is None:
                operand = _operand(text, at, end)
                closed = operand and _CLOSE.match(text, operand.end, end)
                if operand is None or closed is None:
                    return None
                args = (operand.expr,)
            at = closed.end()
        least, most = FILTER_ARGUMENTS.get(name, (0, 0))
        if not least <= len(args) <= most:
            return None
        expr = Filter(expr, name, args, (), start, at)
    tested = _TEST.match(text, at, end)
    if tested:
        if tested.group("name") not in TESTS:
            return None
        at = tested.end()
        expr = Test(expr, tested.group("name"), (), (), start, at)
        if tested.group("not"):
            expr = Not(expr, start, at)
    return _Found(expr, at)


def _operand(text: str, at: int, end: int) -> _Found | None:
    found = _OPERAND.match(text, at, end)
    if found is None:
        return None
    at = found.end()
    match found.lastgroup:
        case "path":
            expr = _path(found.group("path"), found.start("path"))
            return None if expr is None else _Found(expr, at)
        case "single" | "double" as group:
            return _Found(Const(found.group(group), found.start(group) - 1, at), at)
        case "integer":
            return _Found(Const(int(found.group("integer")), found.start("integer"), at), at)
        case "digits":
            number = Const(int(found.group("digits")), found.start("digits"), at)
            return _Found(Unary("-", number, found.start("minus"), at), at)
        case _:
            return _list(text, found.start("open"), at, end)


def _path(path: str, start: int) -> Expr | None:
    if "." not in path:
        if path in KEYWORDS:
            return None
        if path in CONSTANTS:
            return Const(CONSTANTS[path], start, start + len(path))
        return Name(path, start, start + len(path))
    root, *keys = path.split(".")
    if root in KEYWORDS or root in CONSTANTS:
        return None
    at = start + len(root)
    expr: Expr = Name(root, start, at)
    for key in keys:
        at += 1 + len(key)
        expr = Attribute(expr, key, start, at)
    return expr


def _list(text: str, start: int, at: int, end: int) -> _Found | None:
    """A list of constants and paths without a comma at its end."""
    items: list[Expr] = []
    closed = _CLOSE_LIST.match(text, at, end)
    while closed is None:
        found = None if _NESTED.match(text, at, end) else _operand(text, at, end)
        if found is None:
            return None
        items.append(found.expr)
        closed = _CLOSE_LIST.match(text, found.end, end)
        if closed is None:
            comma = _COMMA.match(text, found.end, end)
            if comma is None:
                return None
            at = comma.end()
    return _Found(ListOf(tuple(items), start, closed.end()), closed.end())
