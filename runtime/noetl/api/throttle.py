"""How often something may be done: a bucket of tries for each key, which fills again with time."""

import time
from collections.abc import Callable

from noetl.bounded_table import BoundedTable

MOST_KEYS = 10_000


class Throttle:
    """Lets `burst` tries of a key through at once, and `per_second` after that.

    Keys that were not used for longest are forgotten, as if their buckets were full. For one thread.
    """

    def __init__(
        self, burst: int, per_second: float, now: Callable[[], float] = time.monotonic, *, most: int = MOST_KEYS
    ) -> None:
        self._burst = burst
        self._per_second = per_second
        self._now = now
        self._buckets: BoundedTable[str, tuple[float, float]] = BoundedTable(most)

    def allows(self, key: str) -> bool:
        """Whether one more try is let through; it counts then."""
        now = self._now()
        left, since = self._buckets.get(key, (float(self._burst), now))
        left = min(self._burst, left + (now - since) * self._per_second)
        allowed = left >= 1
        # A try that was refused costs nothing: who keeps trying gets through at the rate, and not never.
        self._buckets[key] = (left - 1 if allowed else left, now)
        return allowed
