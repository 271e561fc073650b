"""Backoff: the pause between two tries of what failed, which doubles up to a longest one.

The pauses between attempts at a task are the author's, and decided in `noetl.engine.retry`.
"""

from typing import Generic, TypeVar

_Time = TypeVar("_Time", int, float)


class Backoff(Generic[_Time]):
    """`pause` is the time until the next try, in the unit of `first` and `longest`: seconds, or microseconds.

    Whoever uses it passes the time, by a clock of their own, and says so with `double`.
    """

    __slots__ = ("_first", "_longest", "pause", "tries")

    def __init__(self, first: _Time, longest: _Time) -> None:
        self._first: _Time = first
        self._longest: _Time = longest
        self.reset()

    def reset(self) -> None:
        """Begin anew, with the first pause: it worked, or something else is tried."""
        self.pause: _Time = self._first
        self.tries = 0
        """How many tries failed."""

    def double(self) -> None:
        """A try failed: the pause after the next one is twice as long, up to the longest."""
        # No chance is mixed in. A run in the simulator has to be the same for the same seed, and what tries again
        # here is one process with its own store or server, not a crowd that would come back at once.
        self.pause = min(2 * self.pause, self._longest)
        self.tries += 1
