"""How much of a pool lies on the bus where namespaces share it: as little as keeps its workers busy.

What lies there goes first, whoever comes. So it is what the slots begin next, or, where tasks are short, what was
handed over in the last moment: workers that are done in a millisecond would wait for whoever looks whether there is
room.
"""

from noetl.ports import Clock

SLOTS_AHEAD = 2
"""How many orders lie on the bus for each slot of a pool's workers, with those that they have begun."""

LEAST_AHEAD = 16
"""How many lie there at least: workers may come that nobody has heard of."""

TIME_AHEAD = 250_000
"""Microseconds for which orders lie there at least, as fast as they were handed over."""

MEASURE_EVERY = 500_000
"""Microseconds over which that is measured."""


class QueueWindow:
    """The most orders of one pool that may lie on the bus. `clock` measures how fast they go."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._since = clock.now()
        self._count = 0
        self._ahead = 0

    def add_handed(self, count: int) -> None:
        """So many orders were handed over."""
        self._count += count

    def most(self, slots: int) -> int:
        """How many may lie there, for so many slots."""
        passed = self._clock.now() - self._since
        if passed >= MEASURE_EVERY:
            self._ahead = self._count * TIME_AHEAD // passed
            self._since, self._count = self._since + passed, 0
        return max(SLOTS_AHEAD * slots, LEAST_AHEAD, self._ahead)
