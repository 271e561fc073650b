"""Requests to the servers of groups: which of them can be reached, and one request to one of a group."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import suppress

import httpx
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.types import Send

from noetl.api.gateway.groups import ServerGroup
from noetl.host.log_lines import log_line
from noetl.ports.idempotency import KEY
from noetl_ir.records import NamedTuple

READY, BUSY, GONE = "ready", "busy", "gone"
"""How a server or group stands: it takes starts; it only shows what it has (it stops, or its store has no room); it
cannot be reached.
"""

LOOK_EVERY = 2.0
LOOK_WITHIN = 3.0
"""Seconds between two looks at a server, and those that it has to respond."""

_TIMES = httpx.Timeout(connect=3.0, read=60.0, write=60.0, pool=10.0)
_MOST_CONNECTIONS = 2_000
_DIGITS = 7
"""Of the size in bytes of a response that is held as a whole before it is passed on, at most."""
_LOOKS = frozenset({"GET", "HEAD"})

_OF_ONE_HOP = frozenset({
    "connection", "keep-alive", "proxy-authenticate", "proxy-authorization", "te", "trailer", "transfer-encoding",
    "upgrade", "proxy-connection", "expect",
})  # fmt: skip
"""Headers that end at the next hop (RFC 9110 §7.6.1)."""
_OF_ONE_HOP_RAW = frozenset(name.encode() for name in _OF_ONE_HOP)


class Unreachable(Exception):
    """No server of a group can be asked; the text says so, and what that means."""


class LostResponse(Exception):
    """A request reached a server, and its response did not come: it may have been done."""


class AskedOf(NamedTuple):
    """A request as a group is asked it: the address is behind that of the server, with its query."""

    method: str
    address: str
    headers: tuple[tuple[str, str], ...]
    body: bytes | AsyncIterator[bytes] | None = None

    @property
    def is_repeatable(self) -> bool:
        """Whether it may be asked again though it may have been done: it changes nothing, or has a key."""
        if isinstance(self.body, bytes | None):
            return self.method in _LOOKS or any(name.lower() == KEY.lower() for name, _ in self.headers)
        return False


class Upstream:
    """The servers of all groups, and a client that asks them. For one event loop.

    `say` hears which groups are gone, and that they are back.
    """

    def __init__(self, groups: Mapping[str, ServerGroup], say: Callable[[str], None]) -> None:
        self.groups = groups
        self._say = say
        limits = httpx.Limits(max_connections=_MOST_CONNECTIONS, max_keepalive_connections=200)
        # Not the proxies of the environment: the way to a group is the one that the file says.
        self._client = httpx.AsyncClient(timeout=_TIMES, limits=limits, trust_env=False, follow_redirects=False)
        self._states: dict[str, str] = {}
        self._turn = 0

    async def keep_looking(self) -> None:
        """Look at all servers, again and again."""
        while True:
            await asyncio.sleep(LOOK_EVERY)
            await self.look()

    async def look(self) -> None:
        """Look at all servers once."""
        before = {name: self.state(name) for name in self.groups} if self._states else {}
        servers = [server for group in self.groups.values() for server in group.servers]
        self._states = dict(zip(servers, await asyncio.gather(*map(self._stand_of, servers)), strict=True))
        for name in self.groups:
            now = self.state(name)
            if before.get(name, READY) != now:
                text = {READY: "takes starts", BUSY: "takes no starts", GONE: "cannot be reached"}[now]
                self._say(log_line("info" if now == READY else "warning", f"group {name} {text}"))

    def state(self, name: str) -> str:
        """How a group stands: as the best of its servers."""
        states = {self._states.get(server, GONE) for server in self.groups[name].servers}
        return next((state for state in (READY, BUSY) if state in states), GONE)

    async def close(self) -> None:
        """Close all connections."""
        await self._client.aclose()

    async def ask(self, name: str, asked: AskedOf) -> httpx.Response:
        """The response of a group, read to its end. Raises Unreachable, LostResponse."""
        response = await self._sent(name, asked)
        try:
            await response.aread()
        except httpx.HTTPError as error:
            raise _lost(name, error) from None
        finally:
            await response.aclose()
        return response

    async def pass_on(self, name: str, asked: AskedOf) -> Response:
        """The response of a group as it comes, for whoever asked. Raises Unreachable, LostResponse."""
        response = await self._sent(name, asked)
        size = response.headers.get("content-length", "")
        if asked.method == "HEAD" or (size.isascii() and size.isdigit() and len(size) <= _DIGITS):
            # As a whole, so that what is lost on the way is told as that.
            try:
                passed = Response(b"".join([part async for part in response.aiter_raw()]), response.status_code)
            except httpx.HTTPError as error:
                raise _lost(name, error) from None
            finally:
                await response.aclose()
        else:
            passed = _Streamed(response)
        kept = [(key.lower(), value) for key, value in response.headers.raw if key.lower() not in _OF_ONE_HOP_RAW]
        passed.raw_headers = [*kept, (b"noetl-group", name.encode())]
        return passed

    async def _sent(self, name: str, asked: AskedOf) -> httpx.Response:
        """The response of a group, its body not read yet: of a server that is ready if one is, else of another one."""
        servers = self._in_turn(self.groups[name])
        for last, server in [(number == len(servers), server) for number, server in enumerate(servers, 1)]:
            try:
                request = self._client.build_request(
                    asked.method, f"{server}{asked.address}", headers=[*asked.headers], content=asked.body
                )
                return await self._client.send(request, stream=True)
            except (httpx.ConnectError, httpx.ConnectTimeout):
                self._states[server] = GONE  # nothing was asked, so another one may be
            except httpx.PoolTimeout:
                raise Unreachable(f"group {name} has more requests at once than it can take") from None
            except (httpx.HTTPError, httpx.InvalidURL) as error:
                if last or not asked.is_repeatable:
                    raise _lost(name, error) from None
        raise Unreachable(f"no server of group {name} can be reached")

    def _in_turn(self, group: ServerGroup) -> list[str]:
        """Its servers that can be reached, in the order in which they are asked: each begins in turn."""
        self._turn += 1
        at = self._turn % len(group.servers)
        turned = (*group.servers[at:], *group.servers[:at])
        found = [server for server in turned if self._states.get(server, GONE) != GONE]
        return sorted(found, key=lambda server: self._states[server] != READY)

    async def _stand_of(self, server: str) -> str:
        try:
            async with asyncio.timeout(LOOK_WITHIN):
                response = await self._client.get(f"{server}/readyz")
        except (httpx.HTTPError, httpx.InvalidURL, TimeoutError):
            return GONE
        return READY if response.status_code == 200 else BUSY


class _Streamed(StreamingResponse):
    """A response that is passed on as it comes."""

    def __init__(self, response: httpx.Response) -> None:
        super().__init__(response.aiter_raw(), response.status_code)
        self._response = response

    async def stream_response(self, send: Send) -> None:
        """Send it; where it is cut off it is not ended, and nobody takes a part for the whole."""
        try:
            await super().stream_response(send)
        except httpx.HTTPError:
            return
        finally:
            with suppress(httpx.HTTPError):
                await self._response.aclose()


def _lost(name: str, error: Exception) -> LostResponse:
    return LostResponse(f"group {name} was asked, and its response was lost: {error or type(error).__name__}")


def headers_for(request: Request) -> tuple[tuple[str, str], ...]:
    """The headers of a request as a group is sent them: `Host` too, as a server judges by it where a page is from."""
    asked = [(key, value) for key, value in request.headers.items() if key.lower() not in _OF_ONE_HOP]
    client = request.client.host if request.client is not None else ""
    before = [value for key, value in asked if key == "x-forwarded-for"]
    rest = [(key, value) for key, value in asked if key not in ("x-forwarded-for", "x-forwarded-proto")]
    return (
        *rest,
        ("x-forwarded-for", ", ".join([*before, client] if client else before)),
        ("x-forwarded-proto", request.url.scheme),
    )


def address_of(request: Request, prefix: str = "") -> str:
    """The path and query that a request asks for, as they were written, without a prefix of the path."""
    path = request.scope.get("raw_path") or request.url.path.encode()
    query = request.scope.get("query_string", b"")
    return path.decode("latin-1").removeprefix(prefix) + (f"?{query.decode('latin-1')}" if query else "")
