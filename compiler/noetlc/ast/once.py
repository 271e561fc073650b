"""Functions of parts of playbooks that are computed once for each part: for expressions, since equal texts share one
object (`noetlc.expr.parser`), and for steps, tasks and values, about which rule after rule asks the same; an editor has
most of them again after a key. Functions of whole playbooks are computed once for the last one.
"""

from collections.abc import Callable
from typing import Generic, TypeVar

_Result = TypeVar("_Result")
_About = TypeVar("_About")

MANY = 10_000
"""How many answers are remembered before the memory starts anew."""


class Once(Generic[_About, _Result]):
    """A function of something that never changes, which remembers its answers.

    Results are found by the `id` of what they are about, and kept with it: an object that is gone could leave its `id`
    to another one.
    """

    __slots__ = ("_ask", "_results")

    def __init__(self, ask: Callable[[_About], _Result]) -> None:
        self._ask = ask
        self._results: dict[int, tuple[_About, _Result]] = {}

    def __call__(self, about: _About) -> _Result:
        """The answer."""
        found = self._results.get(id(about))
        if found is None:
            # A server compiles for days; without a bound everything that it ever saw would be kept.
            if len(self._results) >= MANY:
                self._results.clear()
            found = self._results[id(about)] = (about, self._ask(about))
        return found[1]


class OnceForLast(Generic[_About, _Result]):
    """A function of something that never changes, which remembers what it gave for the one that was asked about last.

    That one is known by its identity, and kept: to compare two playbooks would take longer than the answer.
    """

    __slots__ = ("_ask", "_last")

    def __init__(self, ask: Callable[[_About], _Result]) -> None:
        self._ask = ask
        self._last: tuple[_About, _Result] | None = None

    def __call__(self, about: _About) -> _Result:
        """The answer."""
        last = self._last  # another thread may ask meanwhile
        if last is None or last[0] is not about:
            last = self._last = (about, self._ask(about))
        return last[1]
