"""Names of streams, subjects and headers on NATS, and the address of a bus.

A pool or a key may be any text; a token of a subject may not, so whatever is not plain is named by a hash.
"""

import hashlib
from urllib.parse import parse_qs, quote, unquote, urlsplit

from noetl.bus import BusFailure
from noetl_ir.records import NamedTuple

PREFIX = "noetl"
"""The prefix of a bus whose URL names none; buses of other prefixes never hear of each other."""

_PLAIN = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")
PORT = 4222
"""The port of a server whose URL names none."""

_SCHEMES = ("nats", "tls", "ws", "wss")


class NatsAddress(NamedTuple):
    """`servers` are URLs for the driver, with their secrets; `shown` names the bus in messages, without."""

    servers: tuple[str, ...]
    prefix: str
    shown: str
    credentials: str | None


def address_in(url: str) -> NatsAddress:
    """The place that a URL names. Raises BusFailure, which does not quote it."""
    scheme, _, rest = url.partition("://")
    try:
        parts = urlsplit(f"//{rest}")
    except ValueError:
        parts = urlsplit("")
    # An `@` in the path is one of a password with an unquoted slash: the rest of the password would be shown as the
    # prefix.
    if scheme not in _SCHEMES or not parts.netloc or "@" in parts.path:
        raise BusFailure("a bus over NATS is written nats://USER:PASSWORD@HOST:PORT/PREFIX")
    prefix = parts.path.strip("/") or PREFIX
    if not _PLAIN.issuperset(prefix):
        raise BusFailure("the prefix of a bus is made of letters, digits, - and _")
    user, _, hosts = parts.netloc.rpartition("@")
    login = f"{user}@" if user else ""
    servers = tuple(f"{scheme}://{login}{host}" for host in hosts.split(",") if host)
    for server in servers:
        host_of(server)
    credentials = parse_qs(parts.query).get("creds", [None])[0]
    return NatsAddress(servers, prefix, f"{scheme}://{hosts}/{prefix}", credentials)


def host_of(server: str) -> tuple[str, int]:
    """The host and the port of a server's URL. Raises BusFailure, which does not quote it."""
    try:
        parts = urlsplit(server)
        host, port = parts.hostname, PORT if parts.port is None else parts.port
    except ValueError:
        host, port = None, 0
    if not host or not port:
        raise BusFailure("each server of a bus is HOST or HOST:PORT, with a port from 1 to 65535: nats://HOST:4222")
    return host, port


def token_of(name: str) -> str:
    """A token of a subject for a text: the text where it is plain, else a hash of it."""
    if 0 < len(name) <= 60 and _PLAIN.issuperset(name):
        return name
    # `=` is in no plain name, so that a hash is never taken for a text.
    return "=" + hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:40]


def header_of(text: str) -> str:
    """A text as a header can carry it."""
    return quote(text, safe=":/@.,;+ ", errors="surrogatepass")


def text_of(header: str | None) -> str:
    """The text of a header."""
    return unquote(header or "", errors="surrogatepass")
