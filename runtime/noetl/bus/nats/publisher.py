"""Orders on their way out: published, confirmed by JetStream, counted against the room of their queue.

`send` never waits. What JetStream has not confirmed is published again, after a lost connection at once; its id and
its subject make a repeat harmless. What a full queue refuses is kept here until there is room. How much lies in a
queue is asked of JetStream while anything does.
"""

import asyncio
import json
import threading
import time
from collections import deque
from collections.abc import Collection
from contextlib import suppress
from itertools import count

from nats.aio.msg import Msg
from nats.errors import Error as NatsError

from noetl.bus.nats.connection import Message, NatsConnection, status_of
from noetl.bus.nats.names import header_of, token_of
from noetl.bus.nats.queues import QueueLimits, make_consumer, make_stream, stream_of, subject_of
from noetl.ports.bus import Full
from noetl_ir.records import NamedTuple

FROM, KEY = "Noetl-From", "Noetl-Key"
"""Headers of an order: where reports about it go, and its key."""

CONFIRM_WITHIN = 5.0
"""Seconds before a publication that was not confirmed is repeated."""

LOOK_EVERY, LOOK_AGAIN = 0.1, 0.02
"""Seconds between two looks at how much lies in a queue, and where it is full."""

_PER_SUBJECT = "per subject"


class UnconfirmedOrder(NamedTuple):
    """An order that is not confirmed, and when it was published."""

    message: Message
    at: float


class _Queue:
    """A pool's queue, as far as it is known here. `stored` lay there at the last look, `since` were confirmed after
    it.
    """

    def __init__(self, pool: str) -> None:
        self.pool = pool
        self.stored = 0
        self.since = 0
        self.waiting: deque[Message] = deque()
        self.unconfirmed: dict[int, UnconfirmedOrder] = {}
        self.is_made = False
        self.is_busy = False
        self.is_watched = False
        self.is_told = False
        self.narrow = 0

    @property
    def load(self) -> int:
        """How many messages it has, as far as is known here; rather too many than too few."""
        return self.stored + self.since + len(self.unconfirmed) + len(self.waiting)


class OrderPublisher:
    """Sends orders. `address` is where reports about them are to go."""

    def __init__(self, connection: NatsConnection, limits: QueueLimits, address: str) -> None:
        self._connection = connection
        self._limits = limits
        self._address = address
        self._prefix = connection.address.prefix
        self._queues: dict[str, _Queue] = {}
        self._most: dict[str, int] = {}
        self._lock = threading.Lock()
        self._numbers = count()
        self._inbox = connection.inbox
        connection.opened.append(self._back)
        connection.wait(connection.hear(f"{self._inbox}.*", self._confirmed))

    def send(self, pool: str, key: str, frame: bytes) -> None:
        """Queue an order. Raises Full."""
        # The id makes a repeat within `WINDOW` harmless also where the order was done meanwhile; the subject, as
        # long as it lies there.
        headers = {"Nats-Msg-Id": token_of(key), FROM: self._address, KEY: header_of(key)}
        message = Message(subject_of(self._prefix, pool, key), frame, "", headers)
        with self._lock:
            queue = self._queue(pool)
            # While NATS is away nothing is taken: orders wait with the server, by priority, and not in a line that
            # nobody can sort.
            if not self._connection.is_up or queue.load >= self._limits.capacity:
                raise Full(f"the queue {pool!r} takes no more for now")
            queue.waiting.append(message)
            was_told, queue.is_told = queue.is_told, True
        if not was_told:  # whoever is told takes all that waits
            self._connection.soon(self._flush, queue)

    def withdraw(self, pool: str, keys: Collection[str]) -> None:
        """Take orders out of their queue. What cannot be taken out stays for a worker, whose report is refused."""
        subjects = {subject_of(self._prefix, pool, key) for key in keys}
        with self._lock:
            queue = self._queues.get(pool)
            if queue is not None:
                queue.waiting = deque(message for message in queue.waiting if message.subject not in subjects)
        if queue is not None and self._connection.is_up:
            self._connection.soon(lambda: self._connection.spawn(self._purge(pool, subjects)))

    def limit(self, pool: str, most: int) -> None:
        """Let at most so many orders of a pool be at work at once, 0 for as many as its queue has room for."""
        with self._lock:
            was, self._most[pool] = self._most.get(pool), most or self._limits.capacity
            queue = self._queue(pool)
            if was != self._most[pool]:
                queue.is_made = False
        self._connection.soon(self._flush, queue)

    def room(self, pool: str) -> int:
        """How many more orders there is room for; none while NATS is away."""
        with self._lock:
            queue = self._queue(pool)
            return max(self._most_in(queue) - queue.load, 0) if self._connection.is_up else 0

    def narrow(self, pool: str, most: int) -> None:
        """Have no room while so many lie in a queue; 0 for its capacity."""
        with self._lock:
            self._queue(pool).narrow = most

    def _most_in(self, queue: _Queue) -> int:
        return min(queue.narrow or self._limits.capacity, self._limits.capacity)

    def _queue(self, pool: str) -> _Queue:
        queue = self._queues.get(pool)
        if queue is None:
            queue = self._queues[pool] = _Queue(pool)
            self._connection.soon(self._flush, queue)
        return queue

    def _flush(self, queue: _Queue) -> None:
        """Publish what waits, once the stream is there."""
        queue.is_told = False
        if not queue.is_made:
            if not queue.is_busy:
                queue.is_busy = True
                self._connection.spawn(self._make(queue))
            return
        while queue.waiting:
            with self._lock:
                # Noted as unconfirmed before it is sent, as the confirmation comes in another callback and may find
                # nothing else.
                message = queue.waiting.popleft()
                number = next(self._numbers)
                queue.unconfirmed[number] = UnconfirmedOrder(message, time.monotonic())
            self._publish(queue, number, message)
        if not queue.is_watched and queue.load:
            queue.is_watched = True
            self._connection.spawn(self._watch(queue))

    def _publish(self, queue: _Queue, number: int, message: Message) -> None:
        self._connection.send(message._replace(reply=f"{self._inbox}.{number}"))

    async def _make(self, queue: _Queue) -> None:
        while not queue.is_made:
            try:
                await make_stream(self._connection.streams, self._prefix, queue.pool, self._limits)
                most = self._most.get(queue.pool, self._limits.capacity)
                await make_consumer(self._connection.streams, self._prefix, queue.pool, self._limits, most)
                state = (await self._connection.streams.stream_info(stream_of(self._prefix, queue.pool))).state
            except (TimeoutError, NatsError, OSError):
                await asyncio.sleep(LOOK_EVERY)
                continue
            queue.stored = state.messages
            with self._lock:  # another limit may have been said meanwhile
                queue.is_made = most == self._most.get(queue.pool, self._limits.capacity)
        queue.is_busy = False
        self._flush(queue)

    def _confirmed(self, ack: Msg) -> None:
        """JetStream has stored an order, or says why not."""
        number = int(ack.subject.rpartition(".")[2])
        queue = next((each for each in self._queues.values() if number in each.unconfirmed), None)
        if queue is None:
            return
        # A message with a status is from NATS itself: nobody hears the subject, as the stream was deleted or NATS
        # lost its disk. It is made again.
        refusal = "no stream" if status_of(ack) else _refusal(ack.data)
        with self._lock:
            message = queue.unconfirmed.pop(number).message
            if not refusal:
                queue.since += 1
            # A second order of one key is refused since the first still lies there: it is as good as sent.
            elif _PER_SUBJECT not in refusal:
                queue.waiting.append(message)
        if status_of(ack):
            queue.is_made = False
            self._flush(queue)

    async def _purge(self, pool: str, subjects: Collection[str]) -> None:
        """Take orders out of a queue, with one request each, since each has a subject of its own. Stops at the first
        request that fails: the others would fail too.
        """
        with suppress(TimeoutError, NatsError, OSError):
            for subject in subjects:
                await self._connection.streams.purge_stream(stream_of(self._prefix, pool), subject=subject)

    async def _watch(self, queue: _Queue) -> None:
        """Look how much lies in the queue until nothing does."""
        while queue.load:
            is_short = queue.waiting or queue.narrow or 2 * queue.load > self._limits.capacity
            await asyncio.sleep(LOOK_AGAIN if is_short else LOOK_EVERY)
            before, was_full = queue.since, queue.load >= self._most_in(queue)
            try:
                state = (await self._connection.streams.stream_info(stream_of(self._prefix, queue.pool))).state
            except (TimeoutError, NatsError, OSError):
                continue
            with self._lock:
                # What was confirmed while JetStream was asked may be in its answer or not. Counted twice for one
                # look, the load is too large, which refuses a little early; too small it would overfill the queue.
                queue.stored, queue.since = state.messages, queue.since - before
            self._publish_again(queue, time.monotonic() - CONFIRM_WITHIN)
            if queue.waiting and state.messages < self._limits.capacity:
                self._flush(queue)
            if was_full and queue.load < self._most_in(queue):
                self._connection.wake()
        queue.is_watched = False

    def _publish_again(self, queue: _Queue, before: float) -> None:
        """Publish again what was published before a time and is not confirmed."""
        now = time.monotonic()
        for number, item in list(queue.unconfirmed.items()):
            if item.at <= before:
                queue.unconfirmed[number] = item._replace(at=now)
                self._publish(queue, number, item.message)

    def _back(self) -> None:
        for queue in self._queues.values():
            # NATS may be another one than before, or have lost what it had in memory. What is there already is
            # refused by its key.
            queue.is_made = False
            self._publish_again(queue, time.monotonic())
            self._flush(queue)


def _refusal(data: bytes) -> str:
    """Why JetStream has not stored a message; empty when it has."""
    try:
        found = json.loads(data)
    except ValueError:
        return "no answer"
    problem = found.get("error") if isinstance(found, dict) else None
    return str(problem.get("description", "no reason")) if isinstance(problem, dict) else ""
