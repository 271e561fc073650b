"""http: one request over httpx (LANGUAGE §7).

The answer is `{status_code, headers, data, body}` with `body` = `data`: parsed where the content type says
JSON and it parses, text where the bytes are text, else base64 text; the extra `encoding` says which (`json`,
`text`, `base64`, or `none` for an empty body, which is null). A header that came several times is one text,
joined by commas. A request that may change something carries the task's `action_id` as `Idempotency-Key`.

The message of an error names the method and the address, without its query. Error codes: `http.status` (keeps
the answer), `timeout`, `http.connect`, `http.protocol`, `http.redirects`, `http.too_large`, `http.refused` (a server
may not connect there), `http.request` (the request itself cannot be sent), `fields.invalid`, `credential.missing`,
`extra.missing`.
"""

from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from noetl.contents import json_of, text_of
from noetl.egress import NotAllowed, address_of
from noetl.ports import Call, Env, Fence
from noetl_ir.expr import Json
from noetl_ir.kinds import misfits, seconds_of
from noetl_ir.kinds.http import KIND
from noetl_ir.outcome import Outcome, error, ok

if TYPE_CHECKING:
    import ssl

    import httpx

SECONDS = 30.0
BODY_BYTES = 64 * 1024 * 1024
REDIRECTS = 20

_SAFE = frozenset({"GET", "HEAD", "OPTIONS", "TRACE"})


class Invalid(Exception):
    """A request that cannot be made; the text says why, in plain words."""


class TooLarge(Exception):
    """An answer over the limit."""


_PORTS = {"http": 80, "https": 443}


class Answer(NamedTuple):
    """An answer read to its end."""

    status: int
    headers: dict[str, Json]
    content: bytes
    charset: str | None


async def run(call: Call, env: Env) -> Outcome:
    """Send the request and read the answer; the connection is closed when this returns or is cancelled."""
    try:
        import httpx  # noqa: F401  (whether it is there is told before anything else)
    except ImportError:
        return error("extra.missing", "the http tool needs the extra: pip install 'noetlc[http]'")
    if wrong := misfits(KIND, call.fields):
        return error("fields.invalid", "; ".join(wrong))
    try:
        request = _request(call, env)
        seconds, total = _timeouts(call)
    except Invalid as problem:
        return error("fields.invalid", str(problem))
    except KeyError as problem:
        return error("credential.missing", str(problem.args[0] if problem.args else problem))
    outcome = await _exchanged(request, call, seconds, total, env.fence())
    if outcome.error is None:
        return outcome
    return outcome.with_detail(message=f"{request.method} {shown(request.url)}: {outcome.error['message']}")


async def _exchanged(
    request: "Request", call: Call, seconds: "httpx.Timeout", total: float | None, fence: "Fence | None"
) -> Outcome:
    import httpx

    try:
        return _outcome(await _send(request, call, seconds, total, fence))
    except NotAllowed as problem:
        return error("http.refused", str(problem))
    except TooLarge as problem:
        return error("http.too_large", str(problem))
    except (TimeoutError, httpx.TimeoutException) as problem:
        return error("timeout", f"no answer in time ({type(problem).__name__})", retryable=True)
    except httpx.ConnectError as problem:
        return error("http.connect", f"no connection: {problem}", retryable=True)
    except httpx.TooManyRedirects:
        return error("http.redirects", f"more than {REDIRECTS} redirects")
    except (httpx.UnsupportedProtocol, httpx.LocalProtocolError, httpx.InvalidURL) as problem:
        return error("http.request", f"the request cannot be sent: {problem}")
    except httpx.TransportError as problem:
        return error("http.protocol", f"the connection broke: {problem}", retryable=True)
    except (httpx.HTTPError, ValueError, TypeError) as problem:
        return error("http.request", f"the request cannot be sent: {problem}")


def shown(url: str) -> str:
    """An address as a message may show it: without user, password, query and fragment, where secrets stand."""
    import re

    text = re.sub(r"^([^/?#]*//)?[^/?#]*@", r"\1", re.split(r"[?#]", url, maxsplit=1)[0])
    return text if len(text) <= 200 else f"{text[:200]}…"


class Request(NamedTuple):
    """A request as httpx takes it; `params` go over those of the address."""

    method: str
    url: str
    headers: dict[str, str]
    params: list[tuple[str, str]]
    content: bytes | None
    basic: tuple[str, str] | None


def _request(call: Call, env: Env) -> Request:
    """Everything that is sent. Raises Invalid, and KeyError for an unknown credential."""
    fields = call.fields
    url = fields["url"] if fields.get("url") is not None else fields["endpoint"]
    headers = {name: _text(value) for name, value in _mapping(fields.get("headers")) if value is not None}
    given = {name.lower() for name in headers}
    method = str(fields.get("method") or "GET").upper()
    content, kind = _body(fields)
    if kind is not None and "content-type" not in given:
        headers["Content-Type"] = kind
    if method not in _SAFE and "idempotency-key" not in given:
        headers["Idempotency-Key"] = call.action_id
    basic = _authorize(fields.get("auth"), headers, env) if "authorization" not in given else None
    return Request(method, str(url), headers, _pairs(fields.get("params")), content, basic)


def _body(fields: dict[str, Json]) -> tuple[bytes | None, str | None]:
    """The content of a request and its type, each None where there is none. Raises Invalid."""
    bodies = [name for name in ("json", "body", "payload", "data", "form") if fields.get(name) is not None]
    if "json" in fields and fields["json"] is None and not bodies:
        bodies = ["json"]  # a body of null is a body
    if not bodies:
        return None, None
    if len(bodies) > 1:
        raise Invalid(f"only one of the fields {' and '.join(bodies)} can be the body")
    value = fields[bodies[0]]
    if bodies[0] in ("form", "data") and isinstance(value, dict):
        return _form_bytes(_pairs(value)), "application/x-www-form-urlencoded"
    if bodies[0] != "json" and isinstance(value, str):
        return value.encode("utf-8", "surrogatepass"), None
    import json

    return json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass"), "application/json"


def _authorize(auth: Json, headers: dict[str, str], env: Env) -> tuple[str, str] | None:
    """Put a credential on a request: a token as Bearer or under its own `header`, a password as Basic."""
    if auth is None:
        return None
    if isinstance(auth, dict) and not isinstance(auth.get("credential", auth.get("name")), str):
        fields = auth
    else:
        name = auth if isinstance(auth, str) else _named(auth)
        fields = env.credential(name)
    user = fields.get("username", fields.get("user"))
    if user is not None and fields.get("password") is not None:
        return _text(user), _text(fields["password"])
    for key in ("token", "access_token", "bearer", "value", "api_key"):
        if (token := fields.get(key)) is not None:
            header = fields.get("header")
            headers[str(header or "Authorization")] = _text(token) if header else f"Bearer {_text(token)}"
            return None
    raise Invalid("auth names a credential without a token, and without user and password")


def _named(auth: Json) -> str:
    found = auth.get("credential", auth.get("name")) if isinstance(auth, dict) else None
    if not isinstance(found, str):
        raise Invalid("auth must name a credential")
    return found


async def _send(
    request: Request, call: Call, seconds: "httpx.Timeout", total: float | None, fence: Fence | None
) -> Answer:
    """Send a request and read its answer, at most the limit's bytes of it."""
    import asyncio

    import httpx

    follow = _flag(call, "follow_redirects", default=False)
    limit = call.knobs.get("max_response_bytes")
    most = limit if isinstance(limit, int) and not isinstance(limit, bool) else BODY_BYTES
    basic = httpx.BasicAuth(*request.basic) if request.basic else None
    async with (
        asyncio.timeout(total),
        httpx.AsyncClient(
            timeout=seconds,
            transport=_fenced(fence, _verify(call)) if fence is not None else None,
            trust_env=fence is None,  # a proxy would connect to what is refused here
            verify=_verify(call),
            follow_redirects=follow,
            max_redirects=REDIRECTS,
        ) as client,
        client.stream(
            request.method,
            httpx.URL(request.url).copy_merge_params(_merged(request.params)),
            headers=request.headers,
            content=request.content,
            auth=basic,
        ) as response,
    ):
        content = bytearray()
        async for chunk in response.aiter_bytes():
            content += chunk
            if len(content) > most:
                raise TooLarge(f"the answer has more than {most} bytes")
        headers: dict[str, Json] = dict(response.headers.items())
        return Answer(response.status_code, headers, bytes(content), response.charset_encoding)


def _verify(call: Call) -> "ssl.SSLContext | bool":
    return _trust() if _flag(call, "verify_ssl", default=True) else False


def _fenced(fence: Fence, verify: "ssl.SSLContext | bool") -> "httpx.AsyncBaseTransport":
    """A transport that looks up a name itself, asks the fence about each address, and connects to one it asked about.

    Every request comes through here, those that follow a redirect too.
    """
    import httpx

    class Fenced(httpx.AsyncHTTPTransport):
        async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
            host = request.url.host
            try:
                address = await address_of(host, request.url.port or _PORTS.get(request.url.scheme, 0), fence)
            except (OSError, UnicodeError) as problem:
                raise httpx.ConnectError(str(problem)) from None
            # Another one, because a redirect goes on from this. It has its Host header already.
            pinned = httpx.Request(
                request.method,
                request.url.copy_with(host=address),
                headers=request.headers,
                stream=request.stream,
                extensions={**request.extensions, "sni_hostname": host},
            )
            return await super().handle_async_request(pinned)

    return Fenced(verify=verify)


def _outcome(answer: Answer) -> Outcome:
    data, encoding = _data(answer)
    result: dict[str, Json] = {
        "status_code": answer.status,
        "headers": answer.headers,
        "data": data,
        "body": data,
    }
    extra: dict[str, Json] = {"status": answer.status, "headers": answer.headers, "encoding": encoding}
    if answer.status < 400:
        return ok(result, http=extra)
    again = answer.status in (408, 425, 429) or answer.status >= 500
    message = f"the server answered with status {answer.status}"
    return error("http.status", message, result=result, retryable=again, http=extra)


def _data(answer: Answer) -> tuple[Json, str]:
    """The body as a value, and how it was read."""
    if not answer.content:
        return None, "none"
    kind = str(answer.headers.get("content-type", "")).partition(";")[0].strip().lower()
    if kind == "application/json" or kind.endswith("+json"):
        with suppress(ValueError):  # said to be JSON and is none: what came is kept as it is
            return json_of(answer.content), "json"
    return text_of(answer.content, answer.charset)


def _timeouts(call: Call) -> tuple["httpx.Timeout", float | None]:
    """httpx's limits and the limit of the whole attempt: the task's spec, else its field, else 30 s."""
    import httpx

    for given in (call.timeout, call.fields.get("timeout"), call.fields.get("timeout_seconds")):
        if isinstance(given, dict):
            parts = {name: seconds_of(value) for name, value in given.items() if value is not None}
            if unknown := [name for name in given if name not in ("connect", "read", "write", "pool")]:
                raise Invalid(f"timeout has no part {unknown[0]!r}")
            if None in parts.values():
                raise Invalid("the parts of timeout must be durations")
            return httpx.Timeout(SECONDS, **parts), None
        if given is not None:
            seconds = seconds_of(given)
            if seconds is None:
                raise Invalid("timeout must be a duration or {connect, read}")
            return httpx.Timeout(seconds), seconds
    return httpx.Timeout(SECONDS), SECONDS


def _flag(call: Call, name: str, *, default: bool) -> bool:
    for given in (call.fields.get(name), call.knobs.get(name)):
        if isinstance(given, bool):
            return given
    return default


def _mapping(value: Json) -> list[tuple[str, Json]]:
    return list(value.items()) if isinstance(value, dict) else []


def _pairs(value: Json) -> list[tuple[str, str]]:
    """Names and texts of a query or a form: a list repeats its name, null leaves it out. Raises Invalid."""
    if isinstance(value, list):
        if not all(isinstance(pair, list) and len(pair) == 2 for pair in value):
            raise Invalid("params must be a mapping, or a list of pairs")
        entries = [(str(pair[0]), pair[1]) for pair in value if isinstance(pair, list)]
    else:
        entries = _mapping(value)
    found = []
    for name, entry in entries:
        texts = entry if isinstance(entry, list) else [entry]
        found += [(name, _text(text)) for text in texts if text is not None]
    return found


def _text(value: Json) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict | list):
        import json

        return json.dumps(value, ensure_ascii=False)
    return str(value)


def _merged(pairs: list[tuple[str, str]]) -> dict[str, list[str]]:
    """The texts of each name, in order."""
    found: dict[str, list[str]] = {}
    for name, text in pairs:
        found.setdefault(name, []).append(text)
    return found


@cache
def _trust() -> "ssl.SSLContext":
    """The certificates that servers are checked against; reading them takes longer than a request."""
    import httpx

    return httpx.create_ssl_context()


def _form_bytes(form: list[tuple[str, str]]) -> bytes:
    from urllib.parse import urlencode

    return urlencode(form).encode("ascii")
