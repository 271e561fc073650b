"""The bus, put together from its parts."""

from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

from nats.aio.msg import Msg

from noetl.bus.nats.link import Link, Message
from noetl.bus.nats.names import place_of
from noetl.bus.nats.parking import Parking
from noetl.bus.nats.queues import Limits
from noetl.bus.nats.reporting import Asking, Hearing, NatsTicket, ReportDelivery
from noetl.bus.nats.sending import Sending
from noetl.bus.nats.taking import CommandDelivery, Taking
from noetl.bus.nats.wire import MESSAGES, Wire, packed, unpacked
from noetl.messages import Unreadable
from noetl.ports import STOPS, Parked

NO_LIMITS = Limits()


class NatsBus:
    """A `Bus`, for a server, a worker, or both. While NATS is away it is full and empty, and goes on afterwards."""

    def __init__(self, url: str, *, limits: Limits = NO_LIMITS, wire: Wire = MESSAGES) -> None:
        self._link = Link(place_of(url))
        self._limits = limits
        self._wire = wire
        try:
            self._parking = Parking(self._link)
            self._hearing = Hearing(self._link, limits, wire, self._parking)
            self._asking = Asking(self._link, limits, wire, self._parking)
            self._sending = Sending(self._link, limits, self._hearing.address)
            self._taking = Taking(self._link, limits, wire, self._parking, self._noted)
        except BaseException:
            self._link.close()
            raise
        self._stops_subject = f"{self._link.place.prefix}.stops"
        self._stops: deque[StopDelivery] | None = None

    def send(self, pool: str, key: str, command: Any) -> None:
        """`Bus.send`. A command that is too large for NATS is parked at once."""
        frame = packed(self._wire.write_command(command))
        if len(frame) > self._link.largest > 0:
            reason = f"{len(frame):,} bytes are more than the bus takes ({self._link.largest:,})"
            self._parking.park(Parked(pool, key, 1, reason), lambda: None)
        elif pool == STOPS:
            self._link.send(Message(self._stops_subject, frame))
        else:
            self._sending.send(pool, key, frame)

    def take(self, pool: str) -> "CommandDelivery | StopDelivery | None":
        """`Bus.take`. The first time it begins to fetch."""
        if pool != STOPS:
            return self._taking.take(pool)
        self._taking.show()
        if self._stops is None:
            self._stops = deque(maxlen=self._limits.capacity)
            self._link.wait(self._link.hear(self._stops_subject, self._stopped))
        return self._stops.popleft() if self._stops else None

    def report(self, key: str, report: Any) -> NatsTicket:
        """`Bus.report`."""
        return self._asking.report(key, report)

    def reports(self) -> Sequence[ReportDelivery]:
        """`Bus.reports`."""
        return self._hearing.reports()

    def room(self, pool: str) -> int:
        """`Bus.room`."""
        if pool == STOPS:
            return self._limits.capacity if self._link.is_up else 0
        return self._sending.room(pool)

    def due(self) -> int | None:
        """`Bus.due`. NATS keeps the time, and whoever listens is told."""
        return None

    def listen(self, callback: Callable[[], None]) -> None:
        """`Bus.listen`."""
        self._link.listen(callback)

    def parked(self) -> tuple[Parked, ...]:
        """`Bus.parked`."""
        return self._parking.parked()

    def close(self) -> None:
        """Give back what was not handed out, and hang up."""
        self._taking.close()
        self._link.close()

    def _noted(self, delivery: CommandDelivery) -> None:
        self._asking.route(self._wire.about(delivery.body), delivery.sender)

    def _stopped(self, message: Msg) -> None:
        try:
            body = self._wire.read_command(unpacked(message.data))
        except Unreadable:
            return
        if self._stops is not None:
            self._stops.append(StopDelivery(body))
            self._link.wake()


class StopDelivery:
    """A `Delivery` of an order to stop, which every worker hears once, and nobody again."""

    redeliveries = 0

    def __init__(self, body: Any) -> None:
        self.body = body

    def ack(self) -> None:
        """`Delivery.ack`."""

    def nak(self, reason: str, delay: int = 0) -> None:
        """`Delivery.nak`."""

    def in_progress(self) -> None:
        """`Delivery.in_progress`."""

    def park(self, reason: str) -> None:
        """`Delivery.park`."""
