"""The bus, put together from its parts."""

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from noetl.bus.nats.addresses import AddressedDelivery, BusAddresses
from noetl.bus.nats.broadcasts import NatsBroadcasts
from noetl.bus.nats.codec import MESSAGES, Codec, packed_body
from noetl.bus.nats.connection import NatsConnection
from noetl.bus.nats.consumer import OrderConsumer, OrderDelivery
from noetl.bus.nats.dead_letters import DeadLetters
from noetl.bus.nats.names import address_in
from noetl.bus.nats.publisher import OrderPublisher
from noetl.bus.nats.queues import QueueLimits
from noetl.bus.nats.request_reply import NatsReportDelivery, NatsTicket, ReportReplies, ReportRequests
from noetl.ports.bus import DeadLetter

NO_LIMITS = QueueLimits()


class NatsBus:
    """A `Bus` and its `Broadcasts`, for a worker of a `pool`, or for a server (None). While NATS is away nothing can be
    sent and nothing comes; afterwards it goes on.
    """

    def __init__(
        self,
        url: str,
        *,
        limits: QueueLimits = NO_LIMITS,
        codec: Codec = MESSAGES,
        pool: str | None = None,
        say: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._connection = NatsConnection(address_in(url), pool, say)
        self._limits = limits
        self._codec = codec
        try:
            self._dead_letters = DeadLetters(self._connection)
            self._replies = ReportReplies(self._connection, limits, codec, self._dead_letters)
            self._requests = ReportRequests(self._connection, limits, codec, self._dead_letters)
            self._addresses = BusAddresses(self._connection, limits, codec, self._handed_out)
            self._broadcasts = NatsBroadcasts(self._connection, codec)
            self._publisher = OrderPublisher(self._connection, limits, self._replies.address)
            self._consumer = OrderConsumer(self._connection, limits, codec, self._dead_letters, self._handed_out)
        except BaseException:
            self._connection.close()
            raise

    def send(self, pool: str, key: str, order: Any) -> None:
        frame = packed_body(self._codec.write_order(order), self._connection.largest)
        if pool.startswith("@"):
            self._addresses.send(pool, key, frame, self._replies.address)
        else:
            self._publisher.send(pool, key, frame)

    def take(self, pool: str) -> OrderDelivery | AddressedDelivery | None:
        """As `Bus.take`. The first call for a pool begins to fetch ahead, the first for an address to listen there."""
        if not pool.startswith("@"):
            return self._consumer.take(pool)
        self._consumer.show()
        return self._addresses.take(pool)

    def report(self, key: str, report: Any) -> NatsTicket:
        return self._requests.report(key, report)

    def reports(self) -> Sequence[NatsReportDelivery]:
        return self._replies.reports()

    @contextmanager
    def together(self) -> Iterator[None]:
        parts = (self._requests, self._replies)
        for part in parts:
            part.collect()
        try:
            yield
        finally:
            for part in parts:
                part.send()

    def withdraw(self, pool: str, keys: Collection[str]) -> None:
        """As `Bus.withdraw`. An order to an address is stored nowhere, so there is none to take back."""
        if not pool.startswith("@"):
            self._publisher.withdraw(pool, keys)

    def narrow(self, pool: str, most: int) -> None:
        if not pool.startswith("@"):
            self._publisher.narrow(pool, most)

    def room(self, pool: str) -> int:
        if pool.startswith("@"):
            return self._limits.capacity if self._connection.is_up else 0
        return self._publisher.room(pool)

    def due(self) -> int | None:
        """None: NATS keeps the time of messages that are held back, and listeners are called."""
        return None

    def listen(self, callback: Callable[[], None]) -> None:
        self._connection.listen(callback)

    def limit(self, pool: str, most: int) -> None:
        """As `Bus.limit`, over all workers."""
        self._publisher.limit(pool, most)

    def say(self, broadcast: Any) -> None:
        self._broadcasts.say(broadcast)

    def received(self) -> Sequence[Any]:
        return self._broadcasts.received()

    def dead_letters(self) -> tuple[DeadLetter, ...]:
        return self._dead_letters.read()

    def close(self) -> None:
        """Give back what was not handed out, and hang up."""
        self._consumer.close()
        self._connection.close()

    def _handed_out(self, body: Any, sender: str) -> None:
        self._requests.route(self._codec.about(body), sender)
