"""Expressions and templates as flat rows: each node once, after the nodes inside it.

Rows are what a plan's bytes hold. Nothing here recurses over an expression, so that neither `a + b + …` nor a
hostile plan can exhaust the stack; a decoder's bounds are on the number of rows and on what a node unfolds
to.
"""

from collections.abc import Callable
from typing import TypeAlias

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
    children,
)

MAX_DEPTH = 256
"""How deep nodes may stand inside each other: the parser's own limit, an admission's rules, and some room."""
MAX_UNFOLDED = 1_000_000
"""How many nodes an expression may have once shared ones are counted each time."""


class BadNodes(ValueError):
    """Rows that are not what `Expressions` writes; the text says why."""


class Expressions:
    """The rows of some expressions, equal nodes sharing one row."""

    def __init__(self) -> None:
        self.rows: list[tuple[object, ...]] = []
        self._index: dict[object, int] = {}
        self._known: dict[int, int] = {}
        self._kept: list[Expr] = []  # an id in `_known` must not be given to another object

    def add_expression(self, root: Expr) -> int:
        """The row of an expression, adding rows for what is new in it."""
        found = self._known.get(id(root))
        return self._walk(root) if found is None else found

    def listed(self) -> list[object]:
        """The rows as plain lists."""
        return [_listed(row) for row in self.rows]

    def _walk(self, root: Expr) -> int:
        known = self._known
        # An explicit stack: `a + b + …` of a thousand terms is a thousand levels deep.
        waiting = [root]
        while waiting:
            node = waiting[-1]
            if id(node) in known:
                waiting.pop()
                continue
            missing = [inner for inner in children(node) if id(inner) not in known]
            if missing:
                waiting.extend(missing)
                continue
            waiting.pop()
            row = _ROWS[type(node)](node, known)
            # `1`, `1.0` and `true` are equal in Python and different in a plan; `repr` tells them apart, and -0.0
            # from 0.0.
            key = (row, repr(node.value)) if type(node) is Const else row
            index = self._index.get(key)
            if index is None:
                index = self._index[key] = len(self.rows)
                self.rows.append(row)
            known[id(node)] = index
            self._kept.append(node)
        return known[id(root)]


def _listed(row: tuple[object, ...]) -> list[object]:
    return [_listed(part) if isinstance(part, tuple) else part for part in row]


_Known: TypeAlias = dict[int, int]


def _call(tag: int) -> Callable[[Call | Filter | Test, _Known], tuple[object, ...]]:
    def row(node: Call | Filter | Test, known: _Known) -> tuple[object, ...]:
        of, name = (node.callee, "") if isinstance(node, Call) else (node.of, node.name)
        named = tuple([(key, known[id(value)]) for key, value in node.named])
        return (tag, known[id(of)], name, tuple([known[id(arg)] for arg in node.args]), named)

    return row


def _optional(node: Expr | None, known: _Known) -> int:
    return -1 if node is None else known[id(node)]


_ROWS: dict[type, Callable[..., tuple[object, ...]]] = {
    Const: lambda n, k: (0, n.value),
    Name: lambda n, k: (1, n.name),
    Attribute: lambda n, k: (2, k[id(n.of)], n.name),
    Item: lambda n, k: (3, k[id(n.of)], k[id(n.key)]),
    Slice: lambda n, k: (
        4,
        k[id(n.of)],
        _optional(n.lower, k),
        _optional(n.upper, k),
        _optional(n.step, k),
    ),
    Call: _call(5),
    Filter: _call(6),
    Test: _call(7),
    Unary: lambda n, k: (8, n.op, k[id(n.of)]),
    Not: lambda n, k: (9, k[id(n.of)]),
    Binary: lambda n, k: (10, n.op, k[id(n.left)], k[id(n.right)]),
    Concat: lambda n, k: (11, tuple([k[id(part)] for part in n.parts])),
    Logic: lambda n, k: (12, n.op, k[id(n.left)], k[id(n.right)]),
    Compare: lambda n, k: (13, k[id(n.first)], tuple([(op, k[id(right)]) for op, right in n.rest])),
    Conditional: lambda n, k: (14, k[id(n.test)], k[id(n.then)], _optional(n.otherwise, k)),
    ListOf: lambda n, k: (15, tuple([k[id(item)] for item in n.items])),
    TupleOf: lambda n, k: (16, tuple([k[id(item)] for item in n.items])),
    MapOf: lambda n, k: (17, tuple([(k[id(key)], k[id(value)]) for key, value in n.items])),
}


class ExpressionReader:
    """Expressions out of their rows. A row may name earlier rows only. Raises BadNodes."""

    def __init__(self, rows: object) -> None:
        self.expressions: list[Expr] = []
        self._depth: list[int] = []
        self._size: list[int] = []
        if type(rows) is not list:
            raise BadNodes("the expressions are no list")
        for row in rows:
            self._read(row)

    def at(self, index: object) -> Expr:
        """The expression of a row."""
        if type(index) is not int or not 0 <= index < len(self.expressions):
            raise BadNodes(f"there is no expression {index!r}")
        return self.expressions[index]

    def _read(self, row: object) -> None:
        if type(row) is not list or not row or type(row[0]) is not int or not 0 <= row[0] < len(_READERS):
            raise BadNodes("an expression has no known form")
        read, count = _READERS[row[0]]
        if len(row) != count + 1:
            raise BadNodes("an expression has a part too many or too few")
        used: list[int] = []
        node = read(_Parts(self.expressions, used), *row[1:])
        depth = 1 + max([self._depth[index] for index in used], default=0)
        size = 1 + sum([self._size[index] for index in used])
        # A shared node is counted each time it is used: thirty rows that each use the one before twice unfold to 2^30
        # nodes, and compiling walks all of them.
        if depth > MAX_DEPTH or size > MAX_UNFOLDED:
            raise BadNodes("an expression is too large")
        self.expressions.append(node)
        self._depth.append(depth)
        self._size.append(size)


class _Parts:
    """The parts of one row, checked; `used` collects the rows that it names."""

    __slots__ = ("_expressions", "_used")

    def __init__(self, expressions: list[Expr], used: list[int]) -> None:
        self._expressions = expressions
        self._used = used

    def node(self, index: object) -> Expr:
        # Earlier rows only: so no expression can hold itself, and none has to be looked for twice.
        if type(index) is not int or not 0 <= index < len(self._expressions):
            raise BadNodes("an expression names one that does not come before it")
        self._used.append(index)
        return self._expressions[index]

    def maybe(self, index: object) -> Expr | None:
        return None if type(index) is int and index == -1 else self.node(index)

    def nodes(self, indices: object) -> tuple[Expr, ...]:
        return tuple([self.node(index) for index in self.items(indices)])

    def items(self, value: object) -> list[object]:
        if type(value) is not list:
            raise BadNodes("an expression's parts are no list")
        return value

    def pairs(self, value: object) -> list[list[object]]:
        found = [self.items(pair) for pair in self.items(value)]
        if any(len(pair) != 2 for pair in found):
            raise BadNodes("an expression's parts are no pairs")
        return found

    def text(self, value: object) -> str:
        if type(value) is not str:
            raise BadNodes("a name is no text")
        return value

    def op(self, value: object, allowed: tuple[str, ...]) -> str:
        if value not in allowed:
            raise BadNodes("there is no such operator")
        return self.text(value)

    def constant(self, value: object) -> Const:
        if value is None or isinstance(value, bool | int | float | str):
            return Const(value)
        raise BadNodes("a constant is no scalar")

    def named(self, value: object) -> tuple[tuple[str, Expr], ...]:
        return tuple([(self.text(key), self.node(inner)) for key, inner in self.pairs(value)])


_SIGNS, _LOGIC = ("-", "+"), ("and", "or")
_ARITHMETIC = ("+", "-", "*", "/", "//", "%", "**")
_ORDER = ("==", "!=", "<", "<=", ">", ">=", "in", "not in")

_READERS: tuple[tuple[Callable[..., Expr], int], ...] = (
    (lambda p, value: p.constant(value), 1),
    (lambda p, name: Name(p.text(name)), 1),
    (lambda p, of, name: Attribute(p.node(of), p.text(name)), 2),
    (lambda p, of, key: Item(p.node(of), p.node(key)), 2),
    (lambda p, of, a, b, c: Slice(p.node(of), p.maybe(a), p.maybe(b), p.maybe(c)), 4),
    (lambda p, of, _, args, named: Call(p.node(of), p.nodes(args), p.named(named)), 4),
    (lambda p, of, name, args, named: Filter(p.node(of), p.text(name), p.nodes(args), p.named(named)), 4),
    (lambda p, of, name, args, named: Test(p.node(of), p.text(name), p.nodes(args), p.named(named)), 4),
    (lambda p, op, of: Unary(p.op(op, _SIGNS), p.node(of)), 2),
    (lambda p, of: Not(p.node(of)), 1),
    (lambda p, op, left, right: Binary(p.op(op, _ARITHMETIC), p.node(left), p.node(right)), 3),
    (lambda p, parts: Concat(p.nodes(parts)), 1),
    (lambda p, op, left, right: Logic(p.op(op, _LOGIC), p.node(left), p.node(right)), 3),
    (
        lambda p, first, rest: Compare(
            p.node(first), tuple([(p.op(op, _ORDER), p.node(right)) for op, right in p.pairs(rest)])
        ),
        2,
    ),
    (lambda p, test, then, other: Conditional(p.node(test), p.node(then), p.maybe(other)), 3),
    (lambda p, items: ListOf(p.nodes(items)), 1),
    (lambda p, items: TupleOf(p.nodes(items)), 1),
    (lambda p, items: MapOf(tuple([(p.node(key), p.node(value)) for key, value in p.pairs(items)])), 1),
)
"""Tag → how the parts of its row become a node, and how many there are; the same order as in `_ROWS`."""
