"""The clocks of the operating system."""

import time


class WallClock:
    """Microseconds since the epoch, never running backwards within this process."""

    __slots__ = ("_last",)

    def __init__(self) -> None:
        self._last = 0

    def now(self) -> int:
        now = time.time_ns() // 1000
        if now > self._last:
            self._last = now
        return self._last


class MonotonicClock:
    """Microseconds since some moment, by a clock that nobody can set: for how long, never for when."""

    __slots__ = ()

    def now(self) -> int:
        return time.monotonic_ns() // 1000
