"""The bus inside one process: bounded queues of objects, which are handed over and not copied.

An order or a report takes a few microseconds, so the embedded driver needs no event loop around it. Any thread may
call. A message that its taker neither acknowledges nor prolongs within `ack_wait` comes again; without `ack_wait` it
stays with the taker for good, since both end with the process.
"""

import threading
import time
from collections import deque
from collections.abc import Callable, Collection, Mapping
from contextlib import nullcontext
from heapq import heapify, heappop, heappush
from itertools import count, islice
from typing import Generic, TypeVar

from noetl.messages.fair_queue import FairQueue
from noetl.ports import Clock
from noetl.ports.bus import REPORTS, Bus, DeadLetter, Full, pool_in

_KEPT = 10_000  # dead letters; the oldest go first
_C = TypeVar("_C")
_R = TypeVar("_R")
_A = TypeVar("_A")
_T = TypeVar("_T")


def open_bus(
    url: str, limits: Mapping[str, int], pool: str | None = None, say: Callable[[str], None] = lambda _: None
) -> Bus[object, object, object]:
    """A bus of its own, whatever the URL says behind `memory:`."""
    bus: MemoryBus[object, object, object] = MemoryBus()
    for pool, most in limits.items():
        bus.limit(pool, most)
    return bus


class MemoryBus(Generic[_C, _R, _A]):
    """A `Bus`. `capacity` bounds each queue; what is held back, or taken and not acknowledged, counts too.

    `ack_wait` is in microseconds, None for ever; `clock` measures it, and is what `due` tells the time of. A message is
    handed out `max_deliveries` times, then a dead letter.
    """

    def __init__(
        self,
        *,
        capacity: int = 10_000,
        max_deliveries: int = 5,
        ack_wait: int | None = None,
        clock: Clock | None = None,
    ) -> None:
        self._shared = _Shared(capacity, max_deliveries, ack_wait, clock or _SteadyClock())
        self._pools: dict[str, _Queue[_C, None]] = {}
        self._reports: _Queue[_R, _A] = _Queue(REPORTS, self._shared)
        self._together = nullcontext()

    def send(self, pool: str, key: str, order: _C) -> None:
        with self._shared.lock:
            queue = self._queue(pool)
            queue.add_delivery(MemoryDelivery(queue, key, order, MemoryTicket()))
        # Outside of the lock: a listener may take from the bus at once.
        self._shared.wake()

    def take(self, pool: str) -> "MemoryDelivery[_C, None] | None":
        queue = self._pools.get(pool)
        if queue is None or not queue.size:  # asked in every round: what has nothing is not locked
            return None
        with self._shared.lock:
            return queue.next()

    def report(self, key: str, report: _R) -> "MemoryTicket[_A]":
        ticket: MemoryTicket[_A] = MemoryTicket()
        with self._shared.lock:
            self._reports.add_delivery(MemoryDelivery(self._reports, key, report, ticket))
        self._shared.wake()
        return ticket

    def reports(self) -> "list[MemoryDelivery[_R, _A]]":
        found: list[MemoryDelivery[_R, _A]] = []
        if not self._reports.size:
            return found
        with self._shared.lock:
            while (delivery := self._reports.next()) is not None:
                found.append(delivery)
        return found

    def together(self) -> nullcontext[None]:
        """Nothing is collected: a message is delivered at once, and costs no round trip."""
        return self._together

    def withdraw(self, pool: str, keys: Collection[str]) -> None:
        with self._shared.lock:
            if (queue := self._pools.get(pool)) is not None:
                queue.withdraw(keys)
        self._shared.wake()

    def room(self, pool: str) -> int:
        queue = self._pools.get(pool)
        if queue is None:
            return self._shared.capacity
        return min(self._shared.capacity, queue.narrow or self._shared.capacity) - queue.size

    def narrow(self, pool: str, most: int) -> None:
        with self._shared.lock:
            self._queue(pool).narrow = most

    def due(self) -> int | None:
        with self._shared.lock:
            times = [self._reports.due(), *(queue.due() for queue in self._pools.values())]
        return min((due for due in times if due is not None), default=None)

    def listen(self, callback: Callable[[], None]) -> None:
        self._shared.listeners += (callback,)

    def limit(self, pool: str, most: int) -> None:
        """`Bus.limit`."""
        with self._shared.lock:
            self._queue(pool).most = most or None
        self._shared.wake()

    def dead_letters(self) -> tuple[DeadLetter, ...]:
        return tuple(self._shared.dead_letters)

    def close(self) -> None:
        """Drop what waits and take nothing more."""
        with self._shared.lock:
            # Whoever sends from now on is told that there is no room, and does not wait for an answer that never
            # comes.
            self._shared.capacity = 0
            self._shared.listeners = ()
            self._pools.clear()
            self._reports = _Queue(REPORTS, self._shared)

    def _queue(self, pool: str) -> "_Queue[_C, None]":
        queue = self._pools.get(pool)
        if queue is None:
            queue = self._pools[pool] = _Queue(pool, self._shared)
        return queue


class MemoryTicket(Generic[_A]):
    """A `Ticket`."""

    __slots__ = ("answer",)

    def __init__(self) -> None:
        self.answer: _A | None = None


class MemoryDelivery(Generic[_T, _A]):
    """A `ReportDelivery`, and for orders a `Delivery`: one handing out of a message.

    A message that comes again is another object, so that a late word about this one is known for what it is.
    """

    __slots__ = ("_queue", "_ticket", "body", "deadline", "is_out", "key", "redeliveries")

    def __init__(
        self, queue: "_Queue[_T, _A]", key: str, body: _T, ticket: MemoryTicket[_A], redeliveries: int = 0
    ) -> None:
        self._queue = queue
        self._ticket = ticket
        self.key = key
        self.body = body
        self.redeliveries = redeliveries
        self.deadline = 0
        self.is_out = False

    def ack(self) -> None:
        queue = self._queue
        with queue.shared.lock:
            if queue.take_back(self):
                queue.size -= 1

    def answer(self, answer: _A) -> None:
        self._ticket.answer = answer
        self.ack()
        self._queue.shared.wake()

    def pass_on(self, answer: _A) -> None:
        """There is no other server."""
        self.answer(answer)

    def nak(self, reason: str, delay: int = 0) -> None:
        queue = self._queue
        with queue.shared.lock:
            if queue.take_back(self):
                queue.again(self, reason, delay)
        queue.shared.wake()

    def in_progress(self) -> None:
        queue = self._queue
        with queue.shared.lock:
            if queue.take_back(self):
                queue.hand_out(self)

    def dead_letter(self, reason: str) -> None:
        queue = self._queue
        with queue.shared.lock:
            if queue.take_back(self):
                queue.dead_letter(self, reason)

    def renewed(self) -> "MemoryDelivery[_T, _A]":
        """The next handing out of the same message."""
        return MemoryDelivery(self._queue, self.key, self.body, self._ticket, self.redeliveries + 1)


class _Queue(Generic[_T, _A]):
    """The messages of one pool, or the reports. All methods are called under the lock.

    `size` counts what waits, what is held back for a time (`later`), and what is taken, at most `most` at once; of
    the latter, `out` holds those with a deadline, the earliest first.
    """

    __slots__ = ("later", "most", "name", "narrow", "out", "shared", "size", "waiting")

    def __init__(self, name: str, shared: "_Shared") -> None:
        self.name = name
        self.shared = shared
        self.size = 0
        self.most: int | None = None
        self.narrow = 0
        self.waiting: FairQueue[MemoryDelivery[_T, _A]] = FairQueue()
        self.later: list[tuple[int, int, MemoryDelivery[_T, _A]]] = []
        self.out: dict[MemoryDelivery[_T, _A], None] = {}

    def add_delivery(self, delivery: MemoryDelivery[_T, _A]) -> None:
        if self.size >= self.shared.capacity:
            raise Full(f"the queue {self.name!r} takes no more for now")
        self.size += 1
        self._wait(delivery)

    def _wait(self, delivery: MemoryDelivery[_T, _A]) -> None:
        """Orders of executions take turns; reports, which are all taken at once, keep their order."""
        self.waiting.enqueue("" if self.name == REPORTS else getattr(delivery.body, "execution_id", ""), delivery)

    def next(self) -> MemoryDelivery[_T, _A] | None:
        if self.later or self.out:
            self._revive()
        if not self.waiting or (self.most is not None and self._taken() >= self.most):
            return None
        delivery = self.waiting.next()
        self.hand_out(delivery)
        return delivery

    def withdraw(self, keys: Collection[str]) -> None:
        before = len(self.waiting) + len(self.later)
        self.waiting.keep(lambda delivery: delivery.key not in keys)
        self.later = [row for row in self.later if row[2].key not in keys]
        heapify(self.later)
        self.size -= before - len(self.waiting) - len(self.later)

    def hand_out(self, delivery: MemoryDelivery[_T, _A]) -> None:
        delivery.is_out = True
        if self.shared.ack_wait is not None:
            # All wait for the same time, so the dictionary has them in the order of their deadlines, and prolonging
            # puts one last.
            delivery.deadline = self.shared.clock.now() + self.shared.ack_wait
            self.out[delivery] = None

    def take_back(self, delivery: MemoryDelivery[_T, _A]) -> bool:
        """Whether the delivery was still out; it is not from now on."""
        was_out, delivery.is_out = delivery.is_out, False
        if self.out:
            self.out.pop(delivery, None)
        return was_out

    def again(self, delivery: MemoryDelivery[_T, _A], reason: str, delay: int) -> None:
        if delivery.redeliveries + 1 >= self.shared.max_deliveries:
            self.dead_letter(delivery, reason)
        elif delay > 0:
            due = self.shared.clock.now() + delay
            heappush(self.later, (due, next(self.shared.numbers), delivery.renewed()))
        else:
            self._wait(delivery.renewed())

    def dead_letter(self, delivery: MemoryDelivery[_T, _A], reason: str) -> None:
        self.size -= 1
        self.shared.dead_letters.append(DeadLetter(pool_in(self.name), delivery.key, delivery.redeliveries + 1, reason))

    def due(self) -> int | None:
        times = [self.later[0][0]] if self.later else []
        times += [delivery.deadline for delivery in islice(self.out, 1)]
        return min(times, default=None)

    def _taken(self) -> int:
        return self.size - len(self.waiting) - len(self.later)

    def _revive(self) -> None:
        """Queue again what was held back until now, and what its taker has kept for too long."""
        now = self.shared.clock.now()
        while self.later and self.later[0][0] <= now:
            self._wait(heappop(self.later)[2])
        while self.out:
            delivery = next(iter(self.out))
            if delivery.deadline > now:
                return
            # Taken back first, so that a late word of its taker finds that it is not out any more.
            self.take_back(delivery)
            self.again(delivery, "it was not acknowledged in time", 0)


class _Shared:
    """The state that all queues of a bus have in common."""

    def __init__(self, capacity: int, max_deliveries: int, ack_wait: int | None, clock: Clock) -> None:
        self.lock = threading.Lock()
        self.capacity = capacity
        self.max_deliveries = max_deliveries
        self.ack_wait = ack_wait
        self.clock = clock
        self.numbers = count()
        self.dead_letters: deque[DeadLetter] = deque(maxlen=_KEPT)
        self.listeners: tuple[Callable[[], None], ...] = ()

    def wake(self) -> None:
        for callback in self.listeners:
            callback()


class _SteadyClock:
    def now(self) -> int:
        return time.monotonic_ns() // 1000
