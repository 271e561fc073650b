"""Which addresses a server's tools may connect to: those of the public Internet, and what the operator allows.

A playbook, or a response that redirects, could else make the server speak to itself, to its neighbours or to the
metadata service of its cloud. What is checked is the address that is connected to, not its name, which may lead
anywhere.
"""

from collections.abc import Iterator, Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

from noetl.ports import Fence

Network = IPv4Network | IPv6Network
_TRANSLATED = ip_network("64:ff9b::/96")  # RFC 6052: the last 32 bits are an IPv4 address
_COMPATIBLE = ip_network("::/96")  # RFC 4291 §2.5.5.1, deprecated and still read by some


class BadNetwork(Exception):
    """A text that is no address or network; it says how one is written."""


def networks_of(texts: Sequence[str]) -> tuple[Network, ...]:
    """The networks that some texts name, as `10.0.0.0/8` or `127.0.0.1`. Raises BadNetwork."""
    found = []
    for text in texts:
        try:
            found.append(ip_network(text.strip()))
        except ValueError as error:
            raise BadNetwork(f"{text}: {error}; write an address or a network, as in 10.0.0.0/8") from None
    return tuple(found)


def is_loopback(host: str) -> bool:
    """Whether what is said to a host, by its name or address, stays on this machine."""
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


class Egress:
    """The policy: every address that is not public is refused, unless it is in one of the `allowed` networks. `process`
    names what is to be started otherwise to allow more.
    """

    def __init__(self, allowed: Sequence[Network] = (), process: str = "server") -> None:
        self._allowed = tuple(allowed)
        self._process = process

    def refusal(self, address: str) -> str | None:
        """Why nothing may connect to an IP address; None when it may."""
        try:
            # A zone behind `%` names an interface of this machine, and nothing about where the address is.
            target = ip_address(address.partition("%")[0])
        except ValueError:
            return f"{address} is no IP address"
        if any(target in network for network in self._allowed):
            return None
        # `is_global` knows nothing of addresses inside others: `::ffff:169.254.169.254` is the metadata service of a
        # cloud.
        for one in _meant(target):
            if not one.is_global or one.is_multicast:
                started = f"start the {self._process} with `--allow-address {one}`"
                return f"the address {one} is not public: {started} to allow it"
        return None


def _meant(address: IPv4Address | IPv6Address) -> Iterator[IPv4Address | IPv6Address]:
    """An address, and the IPv4 address that is inside of it in any of the ways in which one can be."""
    yield address
    if isinstance(address, IPv4Address):
        return
    if address.ipv4_mapped is not None:
        yield address.ipv4_mapped
    if address.sixtofour is not None:
        yield address.sixtofour
    if address.teredo is not None:
        yield address.teredo[1]
    if address in _TRANSLATED or address in _COMPATIBLE:
        yield IPv4Address(int(address) & 0xFFFFFFFF)


class NotAllowed(Exception):
    """The address must not be connected to; the text says why."""


async def address_of(host: str, port: int, fence: Fence) -> str:
    """The first address of a name, if all of them may be connected to. Raises NotAllowed, OSError, UnicodeError."""
    import asyncio
    import socket

    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    addresses = [str(row[4][0]) for row in found]
    # All must be allowed, not one: which of them a second look-up would give is for the name's owner to choose.
    for address in addresses:
        if (reason := fence(address)) is not None:
            raise NotAllowed(f"{host}: {reason}" if host != address else reason)
    return addresses[0]
