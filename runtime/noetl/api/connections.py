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
    """For the head of a request, from the connection or the last response on; and for the end of one that is closed."""
    pause: float = 15.0
    """Between two parts of a body."""
    grace: float = 30.0
    """After which a body has to come at `rate` bytes a second at least."""
    rate: int = 1_024
    stall: float = 30.0
    """For who takes nothing of what is sent to take some of it."""
    arriving: int = 5_000
    """Connections at once whose TLS does not stand yet; nobody knows then whose they are."""
    handshake: float = 10.0
    """For the beginning of TLS."""


class TooManyConnections(Exception):
    """So many connections are opened just now that one more is closed at once."""


class Connection(Protocol):
    """A connection as the book sees it."""

    def check(self, now: float) -> None:
        """End it where it has dallied for too long."""
        ...

    def drop(self) -> None:
        """End it at once."""
        ...


class Book:
    """The connections that there are. For one thread. `say` hears when there are too many, not each time."""

    def __init__(
        self,
        bounds: ConnectionLimits,
        say: Callable[[str], None] = lambda text: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.bounds = bounds
        self.now = clock
        self.dropped = 0
        """How many made room, or had none."""
        self._say = say
        self._address: dict[Connection, str] = {}
        self._of: dict[str, set[Connection]] = {}
        self._waiting: dict[str, dict[Connection, None]] = {}
        self._arriving: dict[int, float] = {}
        self._arrivals = 0

    def __len__(self) -> int:
        return len(self._address)

    def counts(self) -> tuple[int, int]:
        """How many there are, and how many made room or had none."""
        return len(self), self.dropped

    def arrive(self) -> int:
        """One more that somebody opens: its number. Raises TooManyConnections."""
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
        """The connection is open; or never will be, which shows by its time."""
        self._arriving.pop(number, None)

    def enter(self, connection: Connection, address: str) -> bool:
        """One more, which waits; False where it has no room."""
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

    def wait(self, connection: Connection) -> None:
        """The connection waits for a request."""
        address = self._address.get(connection)
        if address is not None:
            self._waiting.setdefault(address, {})[connection] = None

    def work(self, connection: Connection) -> None:
        """There is a request on it."""
        address = self._address.get(connection)
        if address is not None and (waiting := self._waiting.get(address)) is not None:
            waiting.pop(connection, None)
            if not waiting:
                del self._waiting[address]

    def leave(self, connection: Connection) -> None:
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
        """End the one of an address that waits for longest; whether there is one."""
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
    """Who may have an address of IP version 6 may have all with the same 64 bits."""
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
