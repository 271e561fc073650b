"""The clocks of the operating system."""

import time


class WallClock:
    """Microseconds since the epoch, for when: people and servers of time set it, in either direction."""

    def now(self) -> int:
        return time.time_ns() // 1000


class MonotonicClock:
    """Microseconds since some moment, by a clock that nobody can set: for how long, never for when."""

    def now(self) -> int:
        return time.monotonic_ns() // 1000


class SteadyClock(MonotonicClock):
    """The one that delays and timers of executions are measured by."""
