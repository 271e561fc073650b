"""Functions of expressions that are computed once for each expression. It pays, since equal texts share one expression
object (`noetlc.expr.parser`), and rules, lowering and the emitter ask the same questions."""

from collections.abc import Callable
from typing import Generic, TypeVar

from noetl_ir.expr import Expr

_Result = TypeVar("_Result")

MANY = 10_000
"""How many answers are remembered before the memory starts anew."""


class Once(Generic[_Result]):
    """A function of expressions that remembers its answers.

    Results are found by the `id` of an expression, and kept with the expression itself: an object that is gone could
    leave its `id` to another one.
    """

    __slots__ = ("_ask", "_results")

    def __init__(self, ask: Callable[[Expr], _Result]) -> None:
        self._ask = ask
        self._results: dict[int, tuple[Expr, _Result]] = {}

    def __call__(self, expr: Expr) -> _Result:
        """The answer for an expression."""
        found = self._results.get(id(expr))
        if found is None:
            # A server compiles for days; without a bound every expression that it ever saw would be kept.
            if len(self._results) >= MANY:
                self._results.clear()
            found = self._results[id(expr)] = (expr, self._ask(expr))
        return found[1]
