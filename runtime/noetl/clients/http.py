"""One HTTP request over httpx and its response, within limits and the fence: what tools and keychain entries share.

The codes of its failures: `timeout`, `http.connect`, `http.protocol`, `http.redirects`, `http.too_large`,
`http.refused` (nothing may connect there), `http.request` (the request itself cannot be sent).
"""

from collections.abc import Callable, Coroutine, Hashable
from time import perf_counter
from typing import TYPE_CHECKING, TypeVar

from noetl.clients.egress import NotAllowed
from noetl.ports import Fence
from noetl_ir.expr import Json
from noetl_ir.outcome import Outcome, error
from noetl_ir.records import NamedTuple

if TYPE_CHECKING:
    import httpx

SECONDS = 30.0
BODY_BYTES = 64 * 1024 * 1024
REDIRECTS = 20
LAST_PORT = 65_535

_T = TypeVar("_T")


class HttpRequest(NamedTuple):
    """A request as httpx takes it; a name in `params` replaces that name in the query of the address. `holds_secret`
    tells whether a text must not go to another origin.

    `task` names the task, whose next request may use the connection again; None: the connection is not kept.
    """

    method: str
    url: str
    headers: dict[str, str]
    params: list[tuple[str, str]] = []  # noqa: RUF012  (never written to)
    content: bytes | None = None
    basic: tuple[str, str] | None = None
    holds_secret: Callable[[str], bool] = lambda text: False
    task: Hashable = None


class RequestLimits(NamedTuple):
    """Limits of a request, and how it is sent: `total` seconds in all; `parts` gives seconds for `connect`, `read`,
    `write` and `pool` (left empty, each may take the total); at `most` so many bytes of response; `verify`:
    certificates are checked; `follow`: redirects are followed.
    """

    total: float | None = SECONDS
    parts: dict[str, float] = {}  # noqa: RUF012  (never written to)
    most: int = BODY_BYTES
    verify: bool = True
    follow: bool = False


class HttpResponse(NamedTuple):
    """A response read to its end: the address that it came from, without user and password, and how many seconds that
    took from the first byte sent, redirects included.
    """

    status: int
    headers: dict[str, Json]
    content: bytes
    charset: str | None
    url: str = ""
    elapsed: float = 0.0


class ResponseTooLarge(Exception):
    """A response over the limit."""


def is_there() -> bool:
    """Whether httpx is installed."""
    try:
        import httpx  # noqa: F401
    except ImportError:
        return False
    return True


def faulty_header(text: str) -> str:
    """Why a text can be the value of no header; empty where it can (RFC 9110 §5.5)."""
    if any((char < " " and char != "\t") or char == "\x7f" for char in text):
        return "has a line end or another control character in it"
    # What bytes beyond ASCII mean there nobody says, and the client sends none.
    if not text.isascii():
        return "has a character in it that is not ASCII"
    return "begins or ends with a space" if text != text.strip(" \t") else ""


async def exchange(request: HttpRequest, bounds: RequestLimits, fence: Fence | None) -> HttpResponse | Outcome:
    """Send a request. Returns the response, whatever its status, else the error outcome that there is none."""
    import httpx

    # The client would say the value, and not of which header it is.
    for name, value in request.headers.items():
        if why := faulty_header(value) or ("has a name that is not ASCII" if not name.isascii() else ""):
            return error("http.request", f"the request cannot be sent: the header `{name}` {why}")
    try:
        return await _sent(request, bounds, fence)
    except NotAllowed as problem:
        return error("http.refused", str(problem))
    except ResponseTooLarge as problem:
        return error("http.too_large", str(problem))
    # Before TransportError, of which httpx makes its timeouts a kind: they have a code of their own.
    except (TimeoutError, httpx.TimeoutException) as problem:
        return error("timeout", f"no answer in time ({type(problem).__name__})")
    except httpx.ConnectError as problem:
        return error("http.connect", f"no connection: {problem}")
    except httpx.TooManyRedirects:
        return error("http.redirects", f"more than {REDIRECTS} redirects")
    except (httpx.UnsupportedProtocol, httpx.LocalProtocolError, httpx.InvalidURL) as problem:
        return error("http.request", f"the request cannot be sent: {problem}")
    except httpx.TransportError as problem:
        return error("http.protocol", f"the connection broke: {problem}")
    except (httpx.HTTPError, ValueError, TypeError) as problem:
        return error("http.request", f"the request cannot be sent: {problem}")


def exchange_now(request: HttpRequest, bounds: RequestLimits, fence: Fence | None) -> HttpResponse | Outcome:
    """`exchange` for whoever cannot await, in a thread with a loop of its own."""
    return waited(lambda: exchange(request, bounds, fence))


def waited(work: Callable[[], Coroutine[object, object, _T]]) -> _T:
    """Run a coroutine in a thread with an event loop of its own, and wait for its value."""
    import asyncio
    from concurrent.futures import ThreadPoolExecutor

    # The caller's thread may have a loop that runs, in which `asyncio.run` is not allowed.
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(lambda: asyncio.run(work())).result()


def same_origin(one: str, other: str) -> bool:
    """Whether two addresses have one origin; False for what is no address."""
    import httpx

    try:
        return _same_origin(httpx.URL(one), httpx.URL(other))
    except (httpx.InvalidURL, ValueError, TypeError):
        return False


async def _sent(request: HttpRequest, bounds: RequestLimits, fence: Fence | None) -> HttpResponse:
    """Send a request and read its response, at most the limit's bytes of it."""
    import asyncio

    import httpx

    from noetl.clients.connections import transport, trust

    async def kept_at_origin(sent: httpx.Request) -> None:
        """Keep what a request was given at its origin: it goes to the origin that it was made for, and to no other one
        on a redirect.
        """
        if not 0 <= (sent.url.port or 0) <= LAST_PORT:  # the client would crash where it connects
            raise httpx.InvalidURL(f"the port {sent.url.port} is none: ports end at {LAST_PORT}")
        if _same_origin(first, sent.url):
            return
        if request.holds_secret(str(sent.url)):  # servers put the query that they got behind the new address
            raise NotAllowed(f"a redirect to {sent.url.host}, another origin, would take a secret along in its address")
        # A 307 or 308 sends the body again. It was made for the first origin, and may hold a password that nobody
        # knows as one.
        if request.content and sent.method not in ("GET", "HEAD"):
            raise NotAllowed(f"a redirect to {sent.url.host}, another origin, would take the body along")
        # All but a few go, and not only `Authorization`: keys are sent in headers of any name (`X-Api-Key`).
        for name in [name for name in sent.headers if name.lower() not in _ANYWHERE]:
            del sent.headers[name]

    begun = perf_counter()
    first = httpx.URL(request.url)
    parts = dict.fromkeys(("connect", "read", "write", "pool"), bounds.total if not bounds.parts else SECONDS)
    async with (
        asyncio.timeout(bounds.total),
        transport(fence, first, _owner(request), verify=bounds.verify) as way,
        httpx.AsyncClient(
            timeout=httpx.Timeout(**{**parts, **bounds.parts}),
            transport=way,
            trust_env=way is None,
            verify=trust(bounds.verify),
            follow_redirects=bounds.follow,
            max_redirects=REDIRECTS,
            event_hooks={"request": [kept_at_origin]},
        ) as client,
        client.stream(
            request.method,
            httpx.URL(request.url).copy_merge_params(_merged(request.params)),
            headers=request.headers,
            content=request.content,
            auth=httpx.BasicAuth(*request.basic) if request.basic else None,
        ) as got,
    ):
        content = bytearray()
        async for chunk in got.aiter_bytes():
            content += chunk
            # Counted after decompression: a megabyte of gzip may be a gigabyte of zeros.
            if len(content) > bounds.most:
                raise ResponseTooLarge(f"the answer has more than {bounds.most} bytes")
        headers: dict[str, Json] = dict(got.headers.items())
        url = str(got.url.copy_with(userinfo=b""))
        elapsed = round(perf_counter() - begun, 6)
        return HttpResponse(got.status_code, headers, bytes(content), got.charset_encoding, url, elapsed)


_ANYWHERE = frozenset({
    "accept", "accept-encoding", "accept-language", "connection", "content-length", "content-type", "host",
    "user-agent",
})  # fmt: skip
"""Headers that go along on a redirect to another origin: they say what is wanted, and not who asks."""


def _owner(request: HttpRequest) -> Hashable:
    """Whose connections a request may use again: its task's, with all that says who asks."""
    if request.task is None:
        return None
    who = sorted((name.lower(), value) for name, value in request.headers.items() if name.lower() not in _ANYWHERE)
    return request.task, tuple(who), request.basic


def _same_origin(one: "httpx.URL", other: "httpx.URL") -> bool:
    """The origins of RFC 6454 §4; that of the same host over TLS instead of plain HTTP is the same."""
    from noetl.clients.connections import origin_of

    # Sites send plain HTTP to TLS on the same host. What went out in clear already may go again under TLS; never the
    # other way.
    upgraded = origin_of(one) == ("http", one.host, 80) and origin_of(other) == ("https", one.host, 443)
    return upgraded or origin_of(one) == origin_of(other)


def _merged(pairs: list[tuple[str, str]]) -> dict[str, list[str]]:
    """The texts of each name, in order."""
    found: dict[str, list[str]] = {}
    for name, text in pairs:
        found.setdefault(name, []).append(text)
    return found
