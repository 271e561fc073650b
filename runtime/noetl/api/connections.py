"""The connections of a server: how many there may be, in all and of one address, and for how long each may dally.

Where there are too many, the one that has waited longest for a request makes room, of the address that has too many or
the most of all: so who opens them by the hundred and sends half a request on each is in nobody's way but their own.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from ipaddress import IPv6Address, ip_address
from typing import Protocol

from noetl_ir.records import NamedTuple


class ConnectionLimits(NamedTuple):
    """Times in seconds. A connection that waits has no request on it that is being answered."""

    most: int = 2_000
    """Connections in all."""
    of_address: int = 500
    """Connections of one address; none behind a proxy, which has all of them."""
    head: float = 15.0
    """For the head of a request, counted from the connection or the last response, and for a closed one to end."""
    pause: float = 15.0
    """At most, between two parts of a body."""
    grace: float = 30.0
    """From the beginning of a body, until it has to have come at `rate` bytes a second on average."""
    rate: int = 1_024
    stall: float = 30.0
    """At most, in which a client takes nothing of a response."""
    arriving: int = 5_000
    """Connections at once that are in their TLS handshake; they have no address in the book yet."""
    handshake: float = 10.0
    """For the TLS handshake."""


class TooManyConnections(Exception):
    """So many connections are opened just now that one more is closed at once."""


class ClientConnection(Protocol):
    """A connection as the book sees it."""

    def check(self, now: float) -> None:
        """End it where it has dallied for too long."""
        ...

    def drop(self) -> None:
        """End it at once."""
        ...


class Book:
    """The connections of one server, by address. For one thread. `say` is called when there are too many: the 1st, 2nd,
    4th, 8th, … time.
    """

    def __init__(
        self,
        bounds: ConnectionLimits,
        say: Callable[[str], None] = lambda text: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.bounds = bounds
        self.now = clock
        self.dropped = 0
        """How many connections were closed to make room, or found none."""
        self._say = say
        self._address: dict[ClientConnection, str] = {}
        self._of: dict[str, set[ClientConnection]] = {}
        self._waiting: dict[str, dict[ClientConnection, None]] = {}
        self._arriving: dict[int, float] = {}
        self._arrivals = 0

    def __len__(self) -> int:
        return len(self._address)

    def counts(self) -> tuple[int, int]:
        """How many connections there are, and how many were closed to make room or found none."""
        return len(self), self.dropped

    def arrive(self) -> int:
        """Note that a connection is being opened; returns its number. Raises TooManyConnections."""
        now = self.now()
        # Nobody says so when a handshake fails, but it is over after its time (a second more, for the order of
        # callbacks). The dictionary keeps the order of arrival, so the oldest is first.
        while self._arriving and now - next(iter(self._arriving.values())) > self.bounds.handshake + 1:
            del self._arriving[next(iter(self._arriving))]
        if len(self._arriving) >= self.bounds.arriving:
            self._count_dropped(f"and {len(self._arriving)} whose TLS does not stand yet")
            raise TooManyConnections
        self._arrivals += 1
        self._arriving[self._arrivals] = now
        return self._arrivals

    def arrived(self, number: int) -> None:
        """Note that a connection is open. One whose handshake fails is not reported, and expires."""
        self._arriving.pop(number, None)

    def enter(self, connection: ClientConnection, address: str) -> bool:
        """Add a connection, which waits for a request; False where there is no room for it."""
        address = _group(address)
        mine = self._of.get(address, ())
        # One's own limit is looked at first: who has too many closes their own connections, and never those of
        # others.
        if len(mine) >= self.bounds.of_address:
            has_room = self._make_room(address)
        elif len(self._address) >= self.bounds.most:
            # Only addresses with a waiting connection can make room, and of those the one with most of them does: an
            # attacker needs many addresses to hurt anybody.
            has_room = self._make_room(max(self._waiting, key=self._count, default=""))
        else:
            has_room = True
        if not has_room:
            self._count_dropped(f"{len(self._of.get(address, ()))} of them from {address}")
            return False
        self._address[connection] = address
        self._of.setdefault(address, set()).add(connection)
        self.wait(connection)
        return True

    def wait(self, connection: ClientConnection) -> None:
        """The connection waits for a request."""
        address = self._address.get(connection)
        if address is not None:
            self._waiting.setdefault(address, {})[connection] = None

    def work(self, connection: ClientConnection) -> None:
        """There is a request on it."""
        address = self._address.get(connection)
        if address is not None and (waiting := self._waiting.get(address)) is not None:
            waiting.pop(connection, None)
            if not waiting:
                del self._waiting[address]

    def leave(self, connection: ClientConnection) -> None:
        """The connection is over."""
        self.work(connection)
        address = self._address.pop(connection, None)
        if address is not None:
            self._of[address].discard(connection)
            if not self._of[address]:
                del self._of[address]

    def sweep(self) -> None:
        """Look at all of them."""
        now = self.now()
        for connection in [*self._address]:
            connection.check(now)

    def _count(self, address: str) -> int:
        return len(self._of[address])

    def _make_room(self, address: str) -> bool:
        """Close the connection of an address that has waited longest. Returns whether there was one."""
        found = next(iter(self._waiting.get(address, ())), None)
        if found is None:
            return False
        self._count_dropped(f"{len(self._of.get(address, ()))} of them from {address}")
        self.leave(found)
        found.drop()
        return True

    def _count_dropped(self, who: str) -> None:
        self.dropped += 1
        if self.dropped & (self.dropped - 1) == 0:  # the 1st, 2nd, 4th, 8th, …: a flood does not fill the log
            self._say(
                f"there are {len(self)} connections, {who}: one was closed to make room, or refused"
                f" ({self.dropped} so far)"
            )


def _group(address: str) -> str:
    """The address by which a client is counted. Of IPv6 these are the first 64 bits, since a client may have all
    addresses of such a network.
    """
    try:
        found = ip_address(address.partition("%")[0])
    except ValueError:
        # A socket of the file system, or a test's client, has no address of IP.
        return address
    if isinstance(found, IPv6Address):
        # A server on `::` sees clients of version 4 as `::ffff:a.b.c.d`. By their first 64 bits they would all be
        # one.
        mapped = found.ipv4_mapped
        return str(mapped or f"{IPv6Address(int(found) >> 64 << 64)}/64")
    return str(found)
