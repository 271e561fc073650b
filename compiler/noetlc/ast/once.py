"""Answers about expressions, worked out once for each: equal texts share one expression (`noetlc.expr.parser`)."""

from collections.abc import Callable
from typing import Generic, TypeVar

from noetl_ir.expr import Expr

Result = TypeVar("Result")

MANY = 10_000
"""How many answers are remembered before the memory starts anew."""


class Once(Generic[Result]):
    """A function of expressions that remembers its answers.

    An answer is kept with its expression: the number of an object that is gone is given to another.
    """

    __slots__ = ("_ask", "_results")

    def __init__(self, ask: Callable[[Expr], Result]) -> None:
        self._ask = ask
        self._results: dict[int, tuple[Expr, Result]] = {}

    def __call__(self, expr: Expr) -> Result:
        """The answer for an expression."""
        found = self._results.get(id(expr))
        if found is None:
            # A server compiles for days; without a bound every expression that it ever saw would be kept.
            if len(self._results) >= MANY:
                self._results.clear()
            found = self._results[id(expr)] = (expr, self._ask(expr))
        return found[1]
