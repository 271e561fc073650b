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
    Json,
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

Row: TypeAlias = "tuple[Json | Row, ...]"
MAX_UNFOLDED = 1_000_000
"""How many nodes a template may have once shared nodes are counted each time."""
MAX_DEPTH = 1_000
"""How deep a template's nodes may stand inside each other."""


class BadNodes(ValueError):
    """Rows that are not what `Expressions` writes; the text says why."""


class Expressions:
    """The rows of some expressions, equal nodes sharing one row."""

    __slots__ = ("_index", "_kept", "_known", "rows")

    def __init__(self) -> None:
        self.rows: list[tuple[object, ...]] = []
        self._index: dict[object, int] = {}
        self._known: dict[int, int] = {}
        self._kept: list[Expr] = []  # an id in `_known` must not be given to another object

    def add(self, root: Expr) -> int:
        """The row of an expression, adding rows for what is new in it."""
        found = self._known.get(id(root))
        return self._walk(root) if found is None else found

    def _walk(self, root: Expr) -> int:
        known = self._known
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
            key = (row, repr(node.value)) if type(node) is Const else row
            index = self._index.get(key)
            if index is None:
                index = self._index[key] = len(self.rows)
                self.rows.append(row)
            known[id(node)] = index
            self._kept.append(node)
        return known[id(root)]


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
