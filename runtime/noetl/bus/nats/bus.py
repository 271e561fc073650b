"""The bus, put together from its parts."""

from collections.abc import Callable, Collection, Sequence
from typing import Any

from noetl.bus.nats.addresses import AddressedDelivery, Addresses
from noetl.bus.nats.board import NatsBoard
from noetl.bus.nats.link import Link
from noetl.bus.nats.names import place_of
from noetl.bus.nats.parking import Parking
from noetl.bus.nats.queues import Limits
from noetl.bus.nats.reporting import Asking, Hearing, NatsTicket, ReportDelivery
from noetl.bus.nats.sending import Sending
from noetl.bus.nats.taking import CommandDelivery, Taking
from noetl.bus.nats.wire import MESSAGES, Wire, packed
from noetl.ports import Parked

NO_LIMITS = Limits()


class NatsBus:
    """A `Bus` and a `Board`: of a worker of a pool, or of a server (None), who may be both. While NATS is away it is
    full and empty, and goes on afterwards.
    """

    def __init__(
        self,
        url: str,
        *,
        limits: Limits = NO_LIMITS,
        wire: Wire = MESSAGES,
        pool: str | None = None,
        say: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._link = Link(place_of(url), pool, say)
        self._limits = limits
        self._wire = wire
        try:
            self._parking = Parking(self._link)
            self._hearing = Hearing(self._link, limits, wire, self._parking)
            self._asking = Asking(self._link, limits, wire, self._parking)
            self._addresses = Addresses(self._link, limits, wire, self._noted)
            self._board = NatsBoard(self._link, wire)
            self._sending = Sending(self._link, limits, self._hearing.address)
            self._taking = Taking(self._link, limits, wire, self._parking, self._noted)
        except BaseException:
            self._link.close()
            raise

    def send(self, pool: str, key: str, command: Any) -> None:
        """`Bus.send`."""
        frame = packed(self._wire.write_command(command), self._link.largest)
        if pool.startswith("@"):
            self._addresses.send(pool, key, frame, self._hearing.address)
        else:
            self._sending.send(pool, key, frame)

    def take(self, pool: str) -> CommandDelivery | AddressedDelivery | None:
        """`Bus.take`. The first time it begins to fetch, or to hear what is sent to an address."""
        if not pool.startswith("@"):
            return self._taking.take(pool)
        self._taking.show()
        return self._addresses.take(pool)

    def report(self, key: str, report: Any) -> NatsTicket:
        """`Bus.report`."""
        return self._asking.report(key, report)

    def reports(self) -> Sequence[ReportDelivery]:
        """`Bus.reports`."""
        return self._hearing.reports()

    def withdraw(self, pool: str, keys: Collection[str]) -> None:
        """`Bus.withdraw`. What is sent to an address lies nowhere."""
        if not pool.startswith("@"):
            self._sending.withdraw(pool, keys)

    def room(self, pool: str) -> int:
        """`Bus.room`."""
        if pool.startswith("@"):
            return self._limits.capacity if self._link.is_up else 0
        return self._sending.room(pool)

    def due(self) -> int | None:
        """`Bus.due`. NATS keeps the time, and whoever listens is told."""
        return None

    def listen(self, callback: Callable[[], None]) -> None:
        """`Bus.listen`."""
        self._link.listen(callback)

    def limit(self, pool: str, most: int) -> None:
        """Let at most so many commands of a pool be at work at once, over all workers."""
        self._sending.limit(pool, most)

    def say(self, notice: Any) -> None:
        """`Board.say`."""
        self._board.say(notice)

    def notices(self) -> Sequence[Any]:
        """`Board.notices`."""
        return self._board.notices()

    def parked(self) -> tuple[Parked, ...]:
        """`Bus.parked`."""
        return self._parking.parked()

    def close(self) -> None:
        """Give back what was not handed out, and hang up."""
        self._taking.close()
        self._link.close()

    def _noted(self, body: Any, sender: str) -> None:
        self._asking.route(self._wire.about(body), sender)
