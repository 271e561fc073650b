"""Requests to the servers of groups: which of them can be reached, and one request to one of a group."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import suppress
from http.cookiejar import CookieJar, DefaultCookiePolicy

import httpx
from starlette.responses import Response, StreamingResponse
from starlette.types import Send

from noetl.api.gateway.forwarding import headers_back, url_at
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
_MOST_SAID = 1 << 16
"""The most bytes that a server has to say about how it stands."""

_TIMES = httpx.Timeout(connect=3.0, read=60.0, write=60.0, pool=10.0)
_MOST_CONNECTIONS = 2_000
_DIGITS = 6
"""Of the size in bytes of a response that is held as a whole before it is passed on, at most."""
_EVENTS = "text/event-stream"
_LOOKS = frozenset({"GET", "HEAD"})
_OF_CLIENT = ("accept", "accept-encoding", "user-agent")
"""Headers that the client would add of its own: what nobody asked for comes back, packed say, to who cannot read it."""
_MOST_READ = 64 << 20
_WITHIN = 120.0
"""The most bytes of a response that is read here, and the seconds within which it has to be there."""


class Unreachable(Exception):
    """No server of a group can be asked; the text says so, and what that means."""


class LostResponse(Exception):
    """A request reached a server, and its response did not come: it may have been done."""


class AskedOf(NamedTuple):
    """A request as a group is asked it: the address is behind that of the server, with its query.

    `heeds_key`: the operation does it once for each `Idempotency-Key`. Most do not, and whoever sends them one is not
    to have it done twice.
    """

    method: str
    address: str
    headers: tuple[tuple[str, str], ...]
    body: bytes | AsyncIterator[bytes] | None = None
    heeds_key: bool = False

    @property
    def is_repeatable(self) -> bool:
        """Whether it may be asked again though it may have been done: it changes nothing, or has a key."""
        if isinstance(self.body, bytes | None):
            has_key = self.heeds_key and any(name.lower() == KEY.lower() for name, _ in self.headers)
            return self.method in _LOOKS or has_key
        return False


class WholeResponse(NamedTuple):
    """The response of a group, read to its end."""

    status_code: int
    headers: httpx.Headers
    content: bytes


class Upstream:
    """The servers of all groups, and a client that asks them. For one event loop.

    `say` hears which groups are gone, and that they are back.
    """

    def __init__(self, groups: Mapping[str, ServerGroup], say: Callable[[str], None]) -> None:
        self.groups = groups
        self._say = say
        limits = httpx.Limits(max_connections=_MOST_CONNECTIONS, max_keepalive_connections=200)
        # Not the proxies of the environment: the way to a group is the one that the file says.
        # Nor the cookies of responses: the session that a group begins is that of one browser, and of nobody else who
        # asks here.
        self._client = httpx.AsyncClient(
            timeout=_TIMES, limits=limits, trust_env=False, follow_redirects=False,
            cookies=CookieJar(DefaultCookiePolicy(allowed_domains=())),
        )  # fmt: skip
        for name in _OF_CLIENT:
            del self._client.headers[name]
        self._states: dict[str, str] = {}
        self._doubted = set[str]()
        self._waits = dict[str, set[asyncio.Timeout]]()
        self._streams = set[asyncio.Timeout]()
        self._turn = 0

    async def keep_looking(self) -> None:
        """Look at all servers, again and again."""
        while True:
            await asyncio.sleep(LOOK_EVERY)
            await self.look()

    async def look(self) -> None:
        """Look at all servers once."""
        self._doubted.clear()
        before = {name: self.state(name) for name in self.groups} if self._states else {}
        servers = [server for group in self.groups.values() for server in group.servers]
        self._states = dict(zip(servers, await asyncio.gather(*map(self._stand_of, servers)), strict=True))
        for server, state in self._states.items():
            if state == GONE:  # one that hangs would hold up whoever it was asked for
                _end(self._waits.get(server, ()))
        for name in self.groups:
            now = self.state(name)
            if before.get(name, READY) != now:
                text = {READY: "takes starts", BUSY: "takes no starts", GONE: "cannot be reached"}[now]
                self._say(log_line("info" if now == READY else "warning", f"group {name} {text}"))

    def doubt(self, name: str) -> None:
        """Say that what a group responds is no response of a server: once between two looks."""
        if name not in self._doubted:
            self._doubted.add(name)
            self._say(log_line("warning", f"group {name} responds as no server of this version does"))

    def state(self, name: str) -> str:
        """How a group stands: as the best of its servers."""
        states = {self._states.get(server, GONE) for server in self.groups[name].servers}
        return next((state for state in (READY, BUSY) if state in states), GONE)

    @property
    def streams(self) -> int:
        """How many streams of events are open."""
        return len(self._streams)

    def leave(self) -> None:
        """End the streams of events, which have no end by themselves: whoever follows one asks another gateway."""
        _end(self._streams)

    async def close(self) -> None:
        """Close all connections."""
        await self._client.aclose()

    async def ask(self, name: str, asked: AskedOf) -> WholeResponse:
        """The response of a group, read to its end. Raises Unreachable, LostResponse."""
        # Read here, so as the group wrote it: what is packed may be a thousand times as long.
        headers = [pair for pair in asked.headers if pair[0] != "accept-encoding"]
        response = await self._sent(name, asked._replace(headers=(*headers, ("accept-encoding", "identity"))))
        return WholeResponse(response.status_code, response.headers, await _read(name, response))

    async def pass_on(self, name: str, asked: AskedOf, *, as_whole: bool = False) -> Response:
        """The response of a group as it comes, or `as_whole` where it may not be passed on: one that nobody reads has a
        connection for good. A refusal always is whole. Raises Unreachable, LostResponse.
        """
        response = await self._sent(name, asked)
        if response.status_code >= 600:  # no status of HTTP (RFC 9110 §15), and none that can be passed on
            await response.aclose()
            raise _lost(name, f"its status is {response.status_code}")
        size = response.headers.get("content-length", "")
        is_short = asked.method == "HEAD" or (size.isascii() and size.isdigit() and len(size) <= _DIGITS)
        if is_short or as_whole or response.status_code >= 400:
            # As a whole, so that what is lost on the way is told as that.
            passed = Response(await _read(name, response), response.status_code)
        else:
            passed = _Streamed(response, self._streams)
        passed.raw_headers = [*headers_back(response), (b"noetl-group", name.encode())]
        return passed

    async def _sent(self, name: str, asked: AskedOf) -> httpx.Response:
        """The response of a group, its body not read yet: of a server that is ready if one is, else of another one."""
        servers = self._in_turn(self.groups[name])
        for last, server in [(number == len(servers), server) for number, server in enumerate(servers, 1)]:
            try:
                request = self._client.build_request(
                    asked.method, url_at(server, asked.address), headers=_fitting(asked), content=asked.body
                )
                return await self._begun(server, request, asked)
            except (httpx.ConnectError, httpx.ConnectTimeout):
                self._states[server] = GONE  # nothing was asked, so another one may be
            except httpx.PoolTimeout:
                raise Unreachable(f"group {name} has more requests at once than it can take") from None
            except TimeoutError:
                if last:
                    raise _lost(name, "the server hangs") from None
            except (httpx.HTTPError, httpx.InvalidURL) as error:
                if last or not asked.is_repeatable:
                    raise _lost(name, error) from None
        raise Unreachable(f"no server of group {name} can be reached")

    async def _begun(self, server: str, request: httpx.Request, asked: AskedOf) -> httpx.Response:
        """The response of a server that begins. What may be asked again is given up once the server is gone."""
        if not asked.is_repeatable:
            return await self._client.send(request, stream=True)
        waits = self._waits.setdefault(server, set())
        async with asyncio.timeout(None) as until:
            waits.add(until)
            try:
                return await self._client.send(request, stream=True)
            finally:
                waits.discard(until)

    def _in_turn(self, group: ServerGroup) -> list[str]:
        """Its servers that can be reached, in the order in which they are asked: each begins in turn."""
        self._turn += 1
        at = self._turn % len(group.servers)
        turned = (*group.servers[at:], *group.servers[:at])
        found = [server for server in turned if self._states.get(server, GONE) != GONE]
        return sorted(found, key=lambda server: self._states[server] != READY)

    async def _stand_of(self, server: str) -> str:
        try:
            async with asyncio.timeout(LOOK_WITHIN), self._client.stream("GET", f"{server}/readyz") as response:
                size = 0
                async for part in response.aiter_raw():  # to its end, so that the connection is used again
                    size += len(part)
                    if size > _MOST_SAID:
                        return GONE
        except (httpx.HTTPError, httpx.InvalidURL, TimeoutError):
            return GONE
        return READY if response.status_code == 200 else BUSY


class _Streamed(StreamingResponse):
    """A response that is passed on as it comes; one of events is among the `streams` as long as it is open."""

    def __init__(self, response: httpx.Response, streams: set[asyncio.Timeout]) -> None:
        super().__init__(response.aiter_raw(), response.status_code)
        self._response = response
        self._streams = streams if response.headers.get("content-type", "").startswith(_EVENTS) else set()

    async def stream_response(self, send: Send) -> None:
        """Send it; where it is cut off it is not ended, and nobody takes a part for the whole."""
        try:
            async with asyncio.timeout(None) as until:
                self._streams.add(until)
                await super().stream_response(send)
        except httpx.HTTPError:
            return
        except TimeoutError:
            # The gateway leaves. The last event of an execution says that it was the last, so nothing is taken for it.
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        finally:
            self._streams.discard(until)
            with suppress(httpx.HTTPError):
                await self._response.aclose()


def _end(waits: Iterable[asyncio.Timeout]) -> None:
    for until in [*waits]:
        until.reschedule(asyncio.get_running_loop().time())


def _fitting(asked: AskedOf) -> list[tuple[str, str]]:
    """Headers without the length of a body that is not sent; of one that is sent as a whole the client counts it."""
    is_passed_on = isinstance(asked.body, AsyncIterator)
    return [pair for pair in asked.headers if is_passed_on or pair[0] != "content-length"]


async def _read(name: str, response: httpx.Response) -> bytes:
    """The body of a response, as far as it may be long. Raises LostResponse."""
    parts, size = list[bytes](), 0
    try:
        async with asyncio.timeout(_WITHIN):
            async for part in response.aiter_raw():
                size += len(part)
                if size > _MOST_READ:
                    raise _lost(name, f"it has more than {_MOST_READ:,} bytes")
                parts.append(part)
    except TimeoutError:
        raise _lost(name, f"it was not there after {_WITHIN:g} s") from None
    except httpx.HTTPError as error:
        raise _lost(name, error) from None
    finally:
        await response.aclose()
    return b"".join(parts)


def _lost(name: str, why: Exception | str) -> LostResponse:
    return LostResponse(f"group {name} was asked, and its response was lost: {str(why) or type(why).__name__}")
