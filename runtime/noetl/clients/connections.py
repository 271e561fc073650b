"""HTTP connections that a task keeps from one of its requests to the next, and the transport of one request.

A connection is used again by requests without effects only, of the same task in the same execution, to the same
origin, with the same trust in certificates and the same headers that say who asks; nobody else's request ever goes
over it. It is kept for `KEPT` seconds, and at most until its loop ends. The server may close one at the moment in
which it is used again: such a request is sent once more, over a new connection. One over which the server said more
than it was asked is closed. Cookies belong to a call and are not kept.

Through a proxy that the environment names (`HTTP_PROXY` and the like, under no fence) each request has a connection
of its own.
"""

import asyncio
import sys
from collections.abc import AsyncGenerator, Hashable
from contextlib import asynccontextmanager
from functools import cache
from ssl import SSLContext
from urllib.request import getproxies
from weakref import WeakKeyDictionary

import httpcore
import httpx

from noetl.clients.egress import address_of
from noetl.ports import Fence

KEPT = 5.0
"""Seconds for which a connection is kept without a request."""
MOST = 64
"""Most that may have kept connections at once, as many as there are slots; who used them last loses them first."""

_PORTS = {"http": 80, "https": 443}
_WITHOUT_EFFECTS = frozenset({"GET", "HEAD", "OPTIONS"})
_BROKE_BEFORE_A_RESPONSE = (httpx.RemoteProtocolError, httpx.ReadError, httpx.WriteError)

try:
    import sniffio  # type: ignore[import-not-found]  # noqa: F401
except ImportError:
    # httpcore looks for it several times a request. None says that it is not there, without a search of every folder.
    sys.modules.setdefault("sniffio", None)  # type: ignore[arg-type]


@cache
def trust(verify: bool) -> SSLContext:
    """The certificates that servers are checked against, or none; reading them takes longer than a request."""
    return httpx.create_ssl_context(verify=verify)


@cache
def is_proxied() -> bool:
    """Whether the environment of this process names a proxy."""
    return bool(getproxies())


def origin_of(url: httpx.URL) -> tuple[str, str, int]:
    """Scheme, host and port."""
    return url.scheme, url.host, url.port or _PORTS.get(url.scheme, 0)


class Transport(httpx.AsyncBaseTransport):
    """How one call sends its requests, those that follow a redirect too; kept connections take only those to `first`.

    Under a fence it looks up a name itself, asks about each address, and connects to one that it asked about.
    """

    def __init__(self, fence: Fence | None, verify: bool, first: httpx.URL, kept: "KeptConnections | None") -> None:
        self._fence = fence
        self._verify = verify
        self._first = origin_of(first)
        self._kept = kept
        self._own: httpx.AsyncHTTPTransport | None = None

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request. Raises NotAllowed where the fence refuses its address, and what httpx raises."""
        sent = request if self._fence is None else await _pinned(request, self._fence)
        kept = self._kept
        # A kept connection may break after the request was sent and before the response. To send it again is safe only
        # where it has no effect.
        if kept is None or request.method not in _WITHOUT_EFFECTS or origin_of(request.url) != self._first:
            return await self._fresh().handle_async_request(sent)
        try:
            await kept.close_unasked()
            response = await kept.transport.handle_async_request(sent)
        except _BROKE_BEFORE_A_RESPONSE:
            # A connection that never answered is not one that went stale: the server broke it, and would break a new
            # one.
            if not kept.has_responded:
                raise
            return await self._fresh().handle_async_request(sent)
        kept.has_responded = True
        return response

    def _fresh(self) -> httpx.AsyncHTTPTransport:
        if self._own is None:
            self._own = httpx.AsyncHTTPTransport(
                verify=trust(self._verify), limits=httpx.Limits(max_keepalive_connections=0)
            )
        return self._own

    async def aclose(self) -> None:
        """Close what is this call's own."""
        if self._own is not None:
            await self._own.aclose()


async def _pinned(request: httpx.Request, fence: Fence) -> httpx.Request:
    """The request to the address that was asked about. Another one, because a redirect goes on from the first."""
    host = request.url.host
    try:
        address = await address_of(host, origin_of(request.url)[2], fence)
    except (OSError, UnicodeError) as problem:
        raise httpx.ConnectError(str(problem)) from None
    return httpx.Request(
        request.method,
        request.url.copy_with(host=address),
        headers=request.headers,  # it has its Host header already
        stream=request.stream,
        # The certificate is checked against the name, and not against the address that is connected to.
        extensions={**request.extensions, "sni_hostname": host},
    )


class KeptConnections:
    """The connections that one task keeps to one origin. `used` is when they were used last, `calls` how many are."""

    def __init__(self, verify: bool) -> None:
        self.transport = httpx.AsyncHTTPTransport(
            verify=trust(verify), limits=httpx.Limits(max_keepalive_connections=MOST, keepalive_expiry=KEPT)
        )
        self.has_responded = False
        self.calls = 0
        self.used = 0.0

    async def close_unasked(self) -> None:
        """Close connections over which more came than was asked for: the next request would take it for its response.

        httpcore looks whether something waits in the socket, and not at what it has read already.
        """
        pool = self.transport._pool
        for connection in pool.connections if isinstance(pool, httpcore.AsyncConnectionPool) else ():
            inner = getattr(connection, "_connection", None)
            state = getattr(inner, "_h11_state", None)
            if connection.is_idle() and (state is None or state.trailing_data[0]):
                await connection.aclose()


class _Loop:
    """The connections that are kept on one loop, the one that was used longest ago first."""

    def __init__(self) -> None:
        self._kept: dict[Hashable, KeptConnections] = {}
        self._sweeping = False
        self._end: AsyncGenerator[None, None] | None = None
        self._closing: set[asyncio.Task[None]] = set()

    @asynccontextmanager
    async def lent(self, owner: Hashable, verify: bool) -> AsyncGenerator[KeptConnections, None]:
        """The connection that an owner keeps, for one call."""
        if self._end is None:
            self._end = self._until_the_end()
            # Begun here, so that the loop knows the generator: `shutdown_asyncgens` closes it, and with it the
            # connections, before the loop ends.
            await anext(self._end)
        # Taken out and put in again, which makes it the last: the dictionary is the order of use.
        kept = self._kept.pop(owner, None) or KeptConnections(verify)
        self._kept[owner] = kept
        kept.calls += 1
        try:
            yield kept
        finally:
            kept.calls -= 1
            kept.used = asyncio.get_running_loop().time()
            self._sweep()

    async def _until_the_end(self) -> AsyncGenerator[None, None]:
        """A generator that its loop closes when it ends, and with it what is kept."""
        try:
            yield
        finally:
            for kept in self._kept.values():
                await kept.transport.aclose()
            self._kept.clear()

    def _sweep(self) -> None:
        """Close what was not used for `KEPT` seconds, or is too much, and look again as long as there is any."""
        loop = asyncio.get_running_loop()
        idle = [(owner, kept) for owner, kept in self._kept.items() if not kept.calls]
        over = len(self._kept) - MOST
        for number, (owner, kept) in enumerate(idle):
            if number < over or kept.used + KEPT <= loop.time():
                del self._kept[owner]
                task = loop.create_task(kept.transport.aclose())
                self._closing.add(task)
                task.add_done_callback(self._closing.discard)
        if self._kept and not self._sweeping:
            self._sweeping = True
            loop.call_later(KEPT, self._again)

    def _again(self) -> None:
        self._sweeping = False
        self._sweep()


_LOOPS: WeakKeyDictionary[asyncio.AbstractEventLoop, _Loop] = WeakKeyDictionary()


@asynccontextmanager
async def transport(
    fence: Fence | None, first: httpx.URL, owner: Hashable, *, verify: bool
) -> AsyncGenerator[Transport | None, None]:
    """The transport of one call whose first request goes to `first`. `owner` names whose connections are kept, None
    for nobody's; None is the one that httpx makes itself, for proxies.
    """
    if fence is None and is_proxied():
        yield None
    elif owner is None:
        yield Transport(fence, verify, first, None)
    else:
        loop = asyncio.get_running_loop()
        kept_here = _LOOPS.get(loop) or _LOOPS.setdefault(loop, _Loop())
        # What was connected without a check of its certificate, or of its address, is for nobody who asks for one.
        key = (owner, origin_of(first), verify, fence is None)
        async with kept_here.lent(key, verify) as kept:
            yield Transport(fence, verify, first, kept)
