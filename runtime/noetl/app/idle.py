"""Stand-ins for the worker in a server's own thread, for servers whose workers are on a bus: one that has no work, and
one that only sleeps.
"""

import threading

from noetl.app.clock import SteadyClock

LONGEST_SLEEP = 0.2
"""Seconds; requests to another server of the same store are seen within this time."""


class IdleWorker:
    """A `LocalWorker` of workers that are elsewhere."""

    busy = 0

    def step(self) -> bool:
        return False

    def due(self) -> int | None:
        return None

    def take_no_more(self) -> None:
        """`LocalWorker.take_no_more`."""

    def drop_all(self) -> None:
        """`LocalWorker.drop_all`."""


class Sleeper:
    """A `Waiter` that does nothing else."""

    def __init__(self) -> None:
        self._woken = threading.Event()
        self._clock = SteadyClock()

    def open(self) -> None:
        """`Waiter.open`."""

    def pass_time(self, due: int | None) -> bool:
        left = LONGEST_SLEEP if due is None else (due - self._clock.now()) / 1_000_000
        self._woken.wait(min(max(left, 0.0), LONGEST_SLEEP))
        # Cleared after the wait: a wake between two waits ends the second at once.
        self._woken.clear()
        return True

    def poll(self) -> None:
        """`Waiter.poll`."""

    def wake(self) -> None:
        self._woken.set()

    def close(self) -> None:
        """`Waiter.close`."""
