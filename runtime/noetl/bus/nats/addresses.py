"""Orders to an address: whoever takes from it hears them at once, over plain NATS, and nobody later.

`@stops` is heard by every worker; the address of one worker by that worker only. What gets lost there follows from the
log and is ordered again, so nothing is stored on the way and nothing is left over by a worker that is gone.
"""

from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Any

from nats.aio.msg import Msg

from noetl.bus.nats.codec import Codec, unpacked_body
from noetl.bus.nats.connection import Message, NatsConnection
from noetl.bus.nats.names import header_of, text_of
from noetl.bus.nats.publisher import FROM, KEY
from noetl.bus.nats.queues import QueueLimits
from noetl.messages.encoding import UnreadableMessage
from noetl.ports.bus import Full


class AddressedDelivery:
    """A `Delivery` of an order to an address: it comes once."""

    __slots__ = ("_again", "body", "key", "redeliveries", "sender")

    def __init__(self, key: str, body: Any, sender: str, again: Callable[["AddressedDelivery", int], None]) -> None:
        self._again = again
        self.key = key
        self.body = body
        self.sender = sender
        self.redeliveries = 0

    def ack(self) -> None:
        """`Delivery.ack`."""

    def nak(self, reason: str, delay: int = 0) -> None:
        self.redeliveries += 1
        self._again(self, delay)

    def in_progress(self) -> None:
        """`Delivery.in_progress`."""

    def dead_letter(self, reason: str) -> None:
        """The order is gone, and ordered again."""


class _Address:
    """The orders that came to an address and were not taken yet, and their keys."""

    def __init__(self) -> None:
        self.waiting: deque[AddressedDelivery] = deque()
        self.keys: set[str] = set()


class BusAddresses:
    """The addresses that this bus takes from. `handed_out` is told of each order given out, and its sender."""

    def __init__(
        self, connection: NatsConnection, limits: QueueLimits, codec: Codec, handed_out: Callable[[Any, str], None]
    ) -> None:
        self._connection = connection
        self._limits = limits
        self._codec = codec
        self._handed_out = handed_out
        self._heard: dict[str, _Address] = {}

    def send(self, address: str, key: str, frame: bytes, sender: str) -> None:
        """Send an order to whoever takes from the address now. Raises Full."""
        if not self._connection.is_up:
            raise Full(f"the address {address!r} cannot be reached for now")
        self._connection.send(
            Message(self._connection.subjects.address(address), frame, "", {KEY: header_of(key), FROM: sender})
        )

    def take(self, address: str) -> AddressedDelivery | None:
        """The oldest order to an address. The first call subscribes: only orders that are sent later are received."""
        heard = self._heard.get(address)
        if heard is None:
            heard = self._heard[address] = _Address()
            # Waited for, the only time: whatever is sent behind this call is heard.
            self._connection.wait(
                self._connection.hear(self._connection.subjects.address(address), partial(self._hear, heard))
            )
        if not heard.waiting:
            return None
        delivery = heard.waiting.popleft()
        heard.keys.discard(delivery.key)
        if delivery.sender:
            self._handed_out(delivery.body, delivery.sender)
        return delivery

    def _hear(self, heard: _Address, message: Msg) -> None:
        """An order; one that is there already is heard once, and one too many not at all."""
        headers = message.headers or {}
        key = text_of(headers.get(KEY))
        try:
            body = self._codec.read_order(unpacked_body(message.data))
        except UnreadableMessage:
            return
        self._keep(heard, AddressedDelivery(key, body, headers.get(FROM, ""), partial(self._again, heard)))

    def _again(self, heard: _Address, delivery: AddressedDelivery, delay: int) -> None:
        if delivery.redeliveries < self._limits.deliveries:
            self._connection.soon(lambda: self._connection.later(delay / 1_000_000, self._keep, heard, delivery))

    def _keep(self, heard: _Address, delivery: AddressedDelivery) -> None:
        # What does not fit is dropped without a word: it follows from the log, and is ordered again.
        if len(heard.waiting) < self._limits.capacity and delivery.key not in heard.keys:
            heard.keys.add(delivery.key)
            heard.waiting.append(delivery)
            self._connection.wake()
