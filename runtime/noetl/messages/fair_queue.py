"""A fair queue: the next message is that of the execution whose last one was handed out longest ago."""

from collections.abc import Callable
from heapq import heapify, heappop, heappush
from itertools import count
from typing import Generic, TypeVar

_T = TypeVar("_T")


class FairQueue(Generic[_T]):
    """A queue of queues, one a name: names take turns, and of one name the highest priority goes first, then what came
    first.

    So a thousand orders of one execution, each slow, keep none of another waiting for more than one of them.
    """

    __slots__ = ("_numbers", "_of", "_size")

    def __init__(self) -> None:
        self._of: dict[str, list[tuple[int, int, _T]]] = {}
        self._numbers = count()
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def enqueue(self, name: str, item: _T, priority: int = 0) -> None:
        """Queue it; a name that nothing waits of comes last."""
        # The number keeps equal priorities in order, and the heap from comparing the items themselves.
        row = (-priority, next(self._numbers), item)
        queue = self._of.get(name)
        if queue is None:
            self._of[name] = [row]
        else:
            heappush(queue, row)
        self._size += 1

    def first(self) -> _T:
        """The item that `next` would give. Raises IndexError where nothing waits."""
        return next(iter(self._of.values()), [])[0][2]

    def next(self) -> _T:
        """The first of the name whose turn it is. Raises IndexError where nothing waits."""
        # Dictionaries keep their order, so the first name is the one that has waited longest; put in again it is the
        # last.
        name = next(iter(self._of), "")
        queue = self._of.pop(name, [])
        if len(queue) == 1:  # what goes round one at a time
            ((_, _, item),) = queue
        else:
            item = heappop(queue)[2]
            self._of[name] = queue
        self._size -= 1
        return item

    def names(self) -> set[str]:
        """The names that something waits of."""
        return {*self._of}

    def keep(self, holds: Callable[[_T], bool]) -> None:
        """Drop all others; turns stay as they are."""
        kept = {name: [row for row in queue if holds(row[2])] for name, queue in self._of.items()}
        self._of = {name: queue for name, queue in kept.items() if queue}
        for queue in self._of.values():
            heapify(queue)
        self._size = sum(map(len, self._of.values()))
