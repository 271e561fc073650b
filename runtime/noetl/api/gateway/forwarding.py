"""How a request is passed on: to which address at a server, and with which headers."""

from __future__ import annotations

import re

import httpx
from starlette.requests import Request

from noetl.api.authorization import named_host
from noetl.api.problems import BadRequest

_OF_ONE_HOP = frozenset({
    "connection", "keep-alive", "proxy-authenticate", "proxy-authorization", "te", "trailer", "transfer-encoding",
    "upgrade", "proxy-connection", "expect",
})  # fmt: skip
"""Headers that end at the next hop, with those that `Connection` names (RFC 9110 §7.6.1)."""

_OWN = frozenset({"x-forwarded-for", "x-forwarded-proto"})
_NEVER_NAMED = frozenset({"authorization", "cookie", "host", "origin", "sec-fetch-site", "content-length", *_OWN})
"""Headers that a group judges by: `Connection` takes none of them away."""

_DOTS = re.compile(r"(?:\.|%2e){1,2}", re.IGNORECASE)


def headers_for(request: Request) -> tuple[tuple[str, str], ...]:
    """The headers of a request as a group is sent them: `Host` too, as a server judges by it where a page is from.
    Raises BadRequest.
    """
    if "host" not in request.headers or not named_host(request):
        # HTTP/1.0 has none, and the client would write that of the server: to one without tokens a name of its own.
        raise BadRequest("a request has to say the name of the gateway: send `Host`, as `HOST:PORT`")
    ended = {*_OF_ONE_HOP, *(_named_by(request.headers.getlist("connection")) - _NEVER_NAMED)}
    if "transfer-encoding" in request.headers:  # then a length says nothing (RFC 9112 §6.3)
        ended.add("content-length")
    asked = [(key, value) for key, value in request.headers.items() if key not in ended]
    client = request.client.host if request.client is not None else ""
    before = [value for key, value in asked if key == "x-forwarded-for"]
    return (
        *[pair for pair in asked if pair[0] not in _OWN],
        ("x-forwarded-for", ", ".join([*before, client] if client else before)),
        ("x-forwarded-proto", request.url.scheme),
    )


def headers_back(response: httpx.Response) -> list[tuple[bytes, bytes]]:
    """The headers of a response of a group as whoever asked is sent them."""
    # The gateway writes when it responded, as every server does; two dates would be none (RFC 9110 §6.6.1).
    ended = {name.encode() for name in _OF_ONE_HOP | {"date"} | _named_by(response.headers.get_list("connection"))}
    return [(key.lower(), value) for key, value in response.headers.raw if key.lower() not in ended]


def _named_by(lines: list[str]) -> set[str]:
    return {name.strip().lower() for line in lines for name in line.split(",")}


def address_of(request: Request, prefix: str = "") -> str:
    """The path and query that a request asks for, as they were written, without a prefix of the path. Raises
    BadRequest.
    """
    path = (request.scope.get("raw_path") or request.url.path.encode()).decode("latin-1")
    rest = path.removeprefix(prefix)
    if not path.startswith(prefix) or not rest.startswith("/"):
        raise BadRequest(f"write `{prefix}/` as it is, without `%`")
    if any(_DOTS.fullmatch(segment) for segment in re.split(r"/|%2f", rest, flags=re.IGNORECASE)):
        # Whoever is behind takes `a/../b` for `b`: what was asked there would not be what was looked at here.
        raise BadRequest("no part of a path is `.` or `..`")
    query = request.scope.get("query_string", b"")
    return rest + (f"?{query.decode('latin-1')}" if query else "")


def url_at(server: str, address: str) -> httpx.URL:
    """Where a path and query are at a server: no text of an address leads to another host. Raises InvalidURL."""
    at = httpx.URL(server)
    return at.copy_with(raw_path=at.raw_path.rstrip(b"/") + address.encode("ascii", "backslashreplace"))
