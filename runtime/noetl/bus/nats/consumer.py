"""Orders on their way in: fetched ahead of need, handed out, and kept from others while they are worked on.

Some orders of each pool that somebody takes from lie here, so that `take` finds one without asking: one at first,
twice as many each time they come at once. What is not taken soon, because the taker is busy, goes back to others. As
long as the taker shows itself, all that it has is prolonged; when it stands still for `ack_wait`, or its process is
gone, JetStream hands the orders to others.
"""

import asyncio
import json
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

from nats.aio.msg import Msg
from nats.aio.subscription import Subscription
from nats.errors import Error as NatsError

from noetl.bus.nats.codec import Codec, unpacked_body
from noetl.bus.nats.connection import Message, NatsConnection, status_of
from noetl.bus.nats.dead_letters import DeadLetters
from noetl.bus.nats.names import text_of
from noetl.bus.nats.publisher import FROM, KEY
from noetl.bus.nats.queues import CONSUMER, QueueLimits, stream_of
from noetl.host.backoff import Backoff
from noetl.messages.encoding import UnreadableMessage
from noetl.ports.bus import DeadLetter, namespace_in, pool_in

AHEAD = 32
"""How many orders of a pool are fetched ahead at most."""

AT_ONCE = 0.05
"""Seconds in which a request is answered where there is more to be had."""

KEEP_FOR = 1.0
"""Seconds after which an order that is not taken goes back, and nothing more is asked for."""

ASK_FOR = 5.0
"""Seconds that a request for orders stands before it is made again."""

FIRST_PAUSE, LONGEST_PAUSE = 0.05, 1.0
"""Seconds before a queue that is not there is asked for again."""


class OrderDelivery:
    """A `Delivery`: one handing out of an order."""

    __slots__ = ("_consumer", "_subject", "body", "is_out", "kept", "key", "pool", "redeliveries", "sender")

    def __init__(self, consumer: "OrderConsumer", pool: str, message: Msg) -> None:
        headers = message.headers or {}
        self._consumer = consumer
        self._subject = message.reply
        self.pool = pool
        self.key = text_of(headers.get(KEY))
        self.sender = headers.get(FROM, "")
        self.redeliveries = _times(message.reply) - 1
        self.body: Any = None
        self.is_out = True
        self.kept = time.monotonic()

    def ack(self) -> None:
        # The word counts once. After it, or after the time is over, JetStream may have given the order to another
        # worker.
        if self._consumer.let_go(self):
            self._say(b"+ACK")

    def nak(self, reason: str, delay: int = 0) -> None:
        if not self._consumer.let_go(self):
            return
        # Counted here and not by JetStream, which would drop the message without telling anybody why.
        if self.redeliveries + 1 >= self._consumer.limits.deliveries:
            self.give_up(reason, self.redeliveries + 1)
        else:
            self._say(b"-NAK " + json.dumps({"delay": delay * 1000}).encode() if delay > 0 else b"-NAK")

    def in_progress(self) -> None:
        if self.is_out:
            self.kept = time.monotonic()
            self._say(b"+WPI")

    def dead_letter(self, reason: str) -> None:
        if self._consumer.let_go(self):
            self.give_up(reason, self.redeliveries + 1)

    def give_up(self, reason: str, tries: int) -> None:
        """Keep it as a dead letter, then end it."""
        self._consumer.dead_letters.keep(
            DeadLetter(pool_in(self.pool), self.key, tries, reason), lambda: self._say(b"+TERM")
        )

    def back(self) -> None:
        """Give it to others; it was never handed out."""
        self._say(b"-NAK")

    def _say(self, word: bytes) -> None:
        self._consumer.connection.send(Message(self._subject, word))


class _Source:
    """A pool that is taken from: what was fetched, and the request that stands, which may bring `asked` more.

    `batch` is how many it asks for, `began` when it did, `wanted` when somebody last took from it.
    """

    def __init__(self, pool: str) -> None:
        self.pool = pool
        self.fetched: deque[OrderDelivery] = deque()
        self.inbox = ""
        self.subscription: Subscription | None = None
        self.serial = 0
        self.asked = 0
        self.is_asking = False
        self.batch = 1
        self.began = 0.0
        self.wanted = time.monotonic()


class OrderConsumer:
    """Takes orders. `handed_out` is told of each that is handed out, and who sent it."""

    def __init__(
        self,
        connection: NatsConnection,
        limits: QueueLimits,
        codec: Codec,
        dead_letters: DeadLetters,
        handed_out: Callable[[Any, str], None],
    ) -> None:
        self.connection = connection
        self.limits = limits
        self.dead_letters = dead_letters
        self._codec = codec
        self._handed_out = handed_out
        self._prefix = connection.address.prefix
        self._sources: dict[str, _Source] = {}
        self._out: set[OrderDelivery] = set()
        self._lock = threading.Lock()
        self._seen = time.monotonic()
        connection.opened.append(self._back)
        connection.soon(lambda: connection.spawn(self._keep()))

    def take(self, pool: str) -> OrderDelivery | None:
        """The next order that is here, None for none."""
        self.show()
        source = self._sources.get(pool)
        if source is None:
            source = self._sources[pool] = _Source(pool)
            self.connection.soon(lambda: self.connection.spawn(self._open(source)))
        source.wanted = self._seen
        while True:
            # Asked again when half is left, so that the next ones come while these are worked on.
            if not source.asked and not source.is_asking and 2 * len(source.fetched) <= source.batch:
                source.is_asking = True
                self.connection.soon(self._ask, source)
            try:
                delivery = source.fetched.popleft()
            except IndexError:
                return None
            if self._seen - delivery.kept >= self.limits.ack_wait:
                continue  # others have it by now
            with self._lock:
                self._out.add(delivery)
            self._handed_out(delivery.body, delivery.sender)
            return delivery

    def show(self) -> None:
        """The taker is there."""
        self._seen = time.monotonic()

    def let_go(self, delivery: OrderDelivery) -> bool:
        """Whether the delivery was still out; it is not from now on."""
        with self._lock:
            was_out, delivery.is_out = delivery.is_out, False
            self._out.discard(delivery)
        return was_out

    def close(self) -> None:
        """Ask for nothing more, then give back what was not handed out."""
        with suppress(TimeoutError, NatsError, OSError):
            self.connection.wait(self._end())
        for source in self._sources.values():
            self._give_back(source)

    def _give_back(self, source: _Source) -> None:
        while source.fetched:
            with suppress(IndexError):
                source.fetched.popleft().back()

    async def _end(self) -> None:
        """Hear nothing more, but what is on its way: it would lie with nobody until its time is up."""
        for source in self._sources.values():
            # Nothing more is asked for (`_ask` looks at it). Then what is on its way is heard, and given back:
            # dropped, it would lie for `ack_wait`.
            source.inbox = ""
            if source.subscription is not None:
                await source.subscription.drain()  # type: ignore[no-untyped-call]

    async def _open(self, source: _Source) -> None:
        """Hear what the queue gives, once a server has made it: workers need no right to make any."""
        backoff = Backoff(FIRST_PAUSE, LONGEST_PAUSE)
        while True:
            try:
                await self.connection.streams.consumer_info(stream_of(self._prefix, source.pool), CONSUMER)
                if not source.inbox:
                    inbox = self.connection.inbox
                    source.subscription = await self.connection.hear(f"{inbox}.*", partial(self._arrived, source))
                    source.inbox = inbox
                break
            except (TimeoutError, NatsError, OSError):
                await asyncio.sleep(backoff.pause)
                backoff.double()
        source.asked = 0
        self._ask(source)

    def _ask(self, source: _Source) -> None:
        """Ask for as many orders as are missing, unless a request stands or nobody takes any."""
        source.is_asking = False
        now, missing = time.monotonic(), source.batch - len(source.fetched)
        # Who takes nothing is not to be given more: each order that lies here is one that an idle worker does not
        # get.
        if source.asked or missing <= 0 or not source.inbox or now - source.wanted > KEEP_FOR:
            return
        source.asked = missing
        # The number is part of the address for answers, so the end of an old request is not taken for that of the new
        # one.
        source.serial += 1
        source.began = now
        request = {"batch": missing, "expires": int(ASK_FOR * 1e9)}
        subject = f"$JS.API.CONSUMER.MSG.NEXT.{stream_of(self._prefix, source.pool)}.{CONSUMER}"
        self.connection.send(Message(subject, json.dumps(request).encode(), f"{source.inbox}.{source.serial}"))

    def _arrived(self, source: _Source, message: Msg) -> None:
        if status := status_of(message):
            # Of a request that was given up already, this says nothing any more.
            # 100 is a heartbeat of NATS, and ends no request.
            if message.subject.endswith(f".{source.serial}") and status != "100":
                source.asked = 0
                if status in ("404", "408"):
                    self._ask(source)
                else:
                    # 404 and 408 only say that nothing lies there, or that the time is over. Anything else means that
                    # the queue is gone: it is waited for anew.
                    self.connection.spawn(self._open(source))
            return
        delivery = OrderDelivery(self, source.pool, message)
        source.asked = max(source.asked - 1, 0)
        # All that was asked for was there at once, so there is more. A batch that grows by doubling fits a busy queue
        # after five rounds, and a quiet one holds nothing back.
        if not source.asked and delivery.kept - source.began < AT_ONCE:
            # What lies here is at work for whoever counts: of a lane others would have less than they may.
            source.batch = min(2 * source.batch, AHEAD) if not namespace_in(source.pool) else 1
        # Whoever takes it dies of it, it seems, and cannot say so. Without this it would take down one worker after
        # the other.
        if delivery.redeliveries >= self.limits.deliveries:
            delivery.give_up("it was not acknowledged in time", delivery.redeliveries)
            return
        try:
            delivery.body = self._codec.read_order(unpacked_body(message.data))
        except UnreadableMessage as problem:
            delivery.give_up(f"it cannot be read: {problem}", delivery.redeliveries + 1)
            return
        source.fetched.append(delivery)
        self._ask(source)
        self.connection.wake()

    async def _keep(self) -> None:
        """Prolong what the taker has, as long as it shows itself; give back what it does not take."""
        while True:
            await asyncio.sleep(min(self.limits.ack_wait / 3, 1.0))
            now = time.monotonic()
            for source in list(self._sources.values()):
                if source.asked and now > source.began + ASK_FOR + 1:  # the request was lost
                    source.asked = 0
                    self._ask(source)
                if now - source.wanted > KEEP_FOR:
                    source.batch = 1
                    self._give_back(source)
            # A thread that prolongs whatever happens would hold the orders of a worker that hangs. So it asks
            # whether the worker was seen.
            if now - self._seen < self.limits.ack_wait:
                with self._lock:
                    kept = list(self._out)
                for source in list(self._sources.values()):
                    kept += list(source.fetched)
                for delivery in kept:
                    if now - delivery.kept >= self.limits.ack_wait / 3:
                        delivery.in_progress()

    def _back(self) -> None:
        for source in self._sources.values():
            # Requests that stood when the connection broke are forgotten by NATS: all are made again.
            if source.inbox:
                self.connection.spawn(self._open(source))


def _times(reply: str) -> int:
    """How often a message was delivered, this time included, by its reply subject: the fifth part, or the seventh."""
    parts = reply.split(".")
    # `$JS.ACK.<stream>.<consumer>.<delivered>…`; newer servers have the domain and the account in front.
    place = 4 if len(parts) == 9 else 6
    return int(parts[place]) if len(parts) > place and parts[place].isdigit() else 1
