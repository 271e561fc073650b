"""Virtual time: what is to happen next happens, and the clocks jump there.

Every process has clocks of its own: a wall clock that may be wrong by seconds and is set by an hour, and a monotonic
one that begins where it likes. Nothing may depend on two of them agreeing.
"""

from collections.abc import Callable
from heapq import heappop, heappush
from itertools import count

SECOND = 1_000_000
EPOCH = 1_000_000 * SECOND
"""Where time begins, so that no clock that is wrong shows a time before 0."""

STEP = 3600 * SECOND
"""How far a wall clock is set."""


class Timeline:
    """The happenings to come, in order; those of one moment in the order in which they were planned."""

    def __init__(self) -> None:
        self.now = 0
        self._numbers = count()
        self._heap: list[tuple[int, int, Callable[[], None]]] = []

    def at(self, time: int, happening: Callable[[], None]) -> None:
        """Plan something for a time in microseconds; what is past happens now."""
        heappush(self._heap, (max(time, self.now), next(self._numbers), happening))

    def after(self, delay: int, happening: Callable[[], None]) -> None:
        """Plan something for so many microseconds from now."""
        self.at(self.now + delay, happening)

    def advance(self) -> bool:
        """Let the next thing happen; whether there was one."""
        if not self._heap:
            return False
        self.now, _, happening = heappop(self._heap)
        happening()
        return True


class SkewedClock:
    """A clock of one process: `ahead` microseconds before the true time."""

    __slots__ = ("_timeline", "ahead")

    def __init__(self, timeline: Timeline, ahead: int) -> None:
        self._timeline = timeline
        self.ahead = ahead

    def now(self) -> int:
        """Microseconds."""
        return self._timeline.now + self.ahead
