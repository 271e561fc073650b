"""Answers about expressions, worked out once for each: equal texts share one expression (`noetlc.expr.parser`)."""

from collections.abc import Callable
from typing import Generic, TypeVar

from noetl_ir.expr import Expr

Answer = TypeVar("Answer")

MANY = 10_000
"""How many answers are remembered before the memory starts anew."""


class Once(Generic[Answer]):
    """A function of expressions that remembers its answers.

    An answer is kept with its expression: the number of an object that is gone is given to another.
    """

    __slots__ = ("_answers", "_ask")

    def __init__(self, ask: Callable[[Expr], Answer]) -> None:
        self._ask = ask
        self._answers: dict[int, tuple[Expr, Answer]] = {}

    def __call__(self, expr: Expr) -> Answer:
        """The answer for an expression."""
        found = self._answers.get(id(expr))
        if found is None:
            # A server compiles for days; without a bound every expression that it ever saw would be kept.
            if len(self._answers) >= MANY:
                self._answers.clear()
            found = self._answers[id(expr)] = (expr, self._ask(expr))
        return found[1]
