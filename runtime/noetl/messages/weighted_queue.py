"""A queue that several share by weight: of each the executions take turns.

Stride scheduling (Waldspurger and Weihl, "Stride scheduling: deterministic proportional-share resource management",
MIT/LCS/TM-528, 1995): whoever has a share is due at a time of the queue's own clock, which stands where the last
message was due, and each that is handed out puts its share off by its stride, one through its weight. So of shares for
which something waits all the time, one of twice the weight has twice the turns, give or take one; and one for which
nothing waited is due at once, before the second message of any other, however many of these there are.
"""

from collections.abc import Callable
from heapq import heapify, heappop, heappush, heapreplace
from itertools import count
from typing import Generic, TypeVar

from noetl.messages.fair_queue import FairQueue
from noetl_ir.records import NamedTuple

_T = TypeVar("_T")

STRIDE = 1 << 40
"""The stride of the weight 1; of a larger one it is a part, in whole numbers."""


class Share(NamedTuple):
    """A share of a queue: its name, empty for that of all who have none of their own, and its weight. `pools` are those
    in which it has a queue of its own, a lane.
    """

    name: str = ""
    weight: int = 1
    pools: frozenset[str] = frozenset()


NO_SHARE = Share()


class _Turns(Generic[_T]):
    """The messages of a share, and when the next one is due."""

    __slots__ = ("due", "queue")

    def __init__(self, due: int, queue: FairQueue[_T]) -> None:
        self.due = due
        self.queue = queue


class WeightedQueue(Generic[_T]):
    """A `FairQueue` for each share."""

    __slots__ = ("_clock", "_heap", "_numbers", "_shares", "_size")

    def __init__(self, unshared: FairQueue[_T] | None = None) -> None:
        self._shares: dict[str, _Turns[_T]] = {}
        # When each share is due for which something waits; of equal times who came first.
        self._heap: list[tuple[int, int, Share]] = []
        self._numbers = count()
        self._clock = 0
        self._size = 0
        if unshared:
            self._shares[""] = _Turns(0, unshared)
            self._heap.append((0, next(self._numbers), NO_SHARE))
            self._size = len(unshared)

    def __len__(self) -> int:
        return self._size

    def enqueue(self, name: str, item: _T, priority: int = 0, share: Share = NO_SHARE) -> None:
        """Queue it for a share, under the name of what takes turns there."""
        mine = self._shares.get(share.name)
        if mine is None:
            mine = self._shares[share.name] = _Turns(self._clock, FairQueue())
        if not mine.queue:
            # Not before now: what it did not take while nothing waited is nobody's.
            mine.due = max(mine.due, self._clock)
            heappush(self._heap, (mine.due, next(self._numbers), share))
        mine.queue.enqueue(name, item, priority)
        self._size += 1

    def first(self) -> _T:
        """The item that `next` would give. Raises IndexError where nothing waits."""
        return self._shares[self._heap[0][2].name].queue.first()

    def next(self) -> _T:
        """The first of the share that is due. Raises IndexError where nothing waits."""
        due, _, share = self._heap[0]
        mine = self._shares[share.name]
        item = mine.queue.next()
        self._size -= 1
        self._clock, mine.due = due, due + STRIDE // share.weight
        if mine.queue:
            heapreplace(self._heap, (mine.due, next(self._numbers), share))
        else:
            heappop(self._heap)
        return item

    def keep(self, holds: Callable[[_T], bool]) -> None:
        """Drop all others; turns stay as they are."""
        for mine in self._shares.values():
            mine.queue.keep(holds)
        self._heap = [row for row in self._heap if self._shares[row[2].name].queue]
        heapify(self._heap)
        self._size = sum(len(mine.queue) for mine in self._shares.values())

    def names(self) -> set[str]:
        """The names that something waits of."""
        return {name for mine in self._shares.values() for name in mine.queue.names()}

    def waiting(self) -> dict[str, int]:
        """How many wait for each share; from any thread."""
        return {name: len(mine.queue) for name, mine in [*self._shares.items()]}
