"""Where new executions get their ids from."""

from __future__ import annotations

import os
from collections.abc import Callable
from threading import Lock

from noetl.app.clock import WallClock
from noetl.engine.identities import CHANCE_BITS, execution_id_of


class ExecutionIds:
    """Ids that grow: by the millisecond, and within one by counting up from a number of chance. Any thread may draw.

    `now` gives microseconds since the epoch, `chance` a number of so many bits. A clock that was set back, and more ids
    than a millisecond has, lead to times that lie ahead.
    """

    def __init__(self, now: Callable[[], int], chance: Callable[[int], int]) -> None:
        self._now = now
        self._chance = chance
        self._lock = Lock()
        self._milliseconds = -1
        self._low = 0

    def draw(self, is_taken: Callable[[str], bool]) -> str:
        """A new id; one that is taken is drawn again."""
        while is_taken(drawn := self._next()):
            pass
        return drawn

    def _next(self) -> str:
        with self._lock:
            milliseconds = self._now() // 1000
            self._low += 1
            # Within a millisecond it counts up, so ids of one process never meet and keep their order. A new number
            # of chance for each id would meet another's by and by (birthday paradox).
            if milliseconds > self._milliseconds or self._low >> CHANCE_BITS:
                self._milliseconds = max(milliseconds, self._milliseconds + 1)
                self._low = self._chance(CHANCE_BITS)
            return execution_id_of(self._milliseconds, self._low)


def chance_of(bits: int) -> int:
    """A number of so many bits that nobody can foretell."""
    size = (bits + 7) // 8
    return int.from_bytes(os.urandom(size)) >> (size * 8 - bits)  # as `secrets` does, which costs a start 1 ms


def fraction() -> float:
    """A number of chance from 0 to below 1, as of `random.SystemRandom`."""
    return chance_of(53) * 2.0**-53


IDS = ExecutionIds(WallClock().now, chance_of)
"""The one of this process."""
