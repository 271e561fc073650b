"""http: one request over httpx (LANGUAGE §7).

The response is `{status_code, headers, data, body, url, elapsed}`: `url` is its own, `elapsed` in seconds, and
`body` = `data`: parsed where the content type says JSON and it parses, text where the bytes are text, else base64 text;
the extra `encoding` says which (`json`, `text`, `base64`, or `none` for an empty body, which is null). The extra
`retry_after` is the response's `Retry-After` in seconds, null without one. A header that
came several times is one text, joined by commas. A request that may change something carries the task's `action_id` as
`Idempotency-Key`.

The message of an error names the method and the address, without its query. Error codes: `http.status` (keeps
the response), `timeout`, `http.connect`, `http.protocol`, `http.redirects`, `http.too_large`, `http.refused` (nothing
may connect there, or a secret would go to another origin), `http.request` (the request itself cannot be sent),
`fields.invalid`, `credential.missing`, `extra.missing`.
"""

from collections.abc import Mapping
from contextlib import suppress
from time import time

from noetl.clients.auth import login_of, name_in
from noetl.clients.content import json_of, text_of
from noetl.clients.http import (
    BODY_BYTES,
    SECONDS,
    HttpRequest,
    HttpResponse,
    RequestLimits,
    exchange,
    faulty_header,
    is_there,
    same_origin,
)
from noetl.ports import Env, InvalidFields, ToolCall
from noetl_ir.expr import Json, texts_in
from noetl_ir.kinds import misfits, seconds_of
from noetl_ir.kinds.http import KIND
from noetl_ir.outcome import Outcome, error, ok
from noetl_ir.responses import STATUS, refused_with, retry_after_of, shown_url

_SAFE = frozenset({"GET", "HEAD", "OPTIONS", "TRACE"})
_BODILESS = frozenset({"GET", "HEAD", "DELETE"})
_FORM = "application/x-www-form-urlencoded"


async def run(call: ToolCall, env: Env) -> Outcome:
    """Send the request and read the response. Its connection is closed then, or kept for the task's next request."""
    if not is_there():
        return error("extra.missing", "the http tool needs httpx, which is not installed: pip install httpx")
    if wrong := misfits(KIND, call.fields):
        return error("fields.invalid", "; ".join(wrong))
    try:
        request, bounds = await _request(call, env), _bounds(call)
    except InvalidFields as problem:
        return error("fields.invalid", str(problem))
    except KeyError as problem:
        return error("credential.missing", str(problem.args[0] if problem.args else problem))
    if away := await _left_origin(call, request, env):
        return error("http.refused", away)
    response = await exchange(request, bounds, env.fence())
    outcome = _outcome(response) if isinstance(response, HttpResponse) else response
    if outcome.error is None:
        return outcome
    return outcome.with_detail(message=f"{request.method} {shown_url(request.url)}: {outcome.error['message']}")


async def _request(call: ToolCall, env: Env) -> HttpRequest:
    """Everything that is sent. Raises InvalidFields, and KeyError for an unknown credential."""
    fields = call.fields
    url = fields["url"] if fields.get("url") is not None else fields["endpoint"]
    headers = {name: _text(value) for name, value in _mapping(fields.get("headers")) if value is not None}
    names = {name.lower() for name in headers}
    method = str(fields.get("method") or "GET").upper()
    bodies, query = _routed(method, fields)
    content, kind = _body(bodies, next((text for name, text in headers.items() if name.lower() == "content-type"), ""))
    if kind is not None and "content-type" not in names:
        headers["Content-Type"] = kind
    # Attempts of one task run share the id: after a crash the server can tell the repeat of a request from a new one.
    if method not in _SAFE and "idempotency-key" not in names:
        headers["Idempotency-Key"] = call.action_id
    if "traceparent" not in names and (traceparent := env.traceparent()):
        headers["traceparent"] = traceparent
    # A header that the author writes wins, and the credential is not even looked up.
    basic = await _authorize(fields.get("auth"), headers, env) if "authorization" not in names else None
    task = (call.execution_id, call.step, call.task)
    query = [*_pairs(fields.get("params")), *query]
    return HttpRequest(method, str(url), headers, query, content, basic, env.holds_secret, task)


def _routed(method: str, fields: Mapping[str, Json]) -> tuple[Mapping[str, Json], list[tuple[str, str]]]:
    """The fields in which `data` is a body or nothing, and what of it belongs into the query. Raises InvalidFields.

    The routing is that of NoETL (`noetl/tools/http/request.py`): `query` and `body` below it say where they go; of a
    request that has no body all of it goes into the query.
    """
    data = fields.get("data")
    if not isinstance(data, dict):
        return fields, []
    rest = {name: value for name, value in fields.items() if name != "data"}
    if data and data.keys() <= {"query", "body"}:
        query = data.get("query")
        # A value of null must not make a body of the names themselves, as it comes with the run.
        if query is None or isinstance(query, dict):
            return {**rest, "data": data.get("body")}, _pairs(query)
        if "body" in data:
            raise InvalidFields("`query` of data is no mapping: which of it is the query cannot be told")
    return (rest, _pairs(data)) if method in _BODILESS else (fields, [])


def _body(fields: Mapping[str, Json], written: str) -> tuple[bytes | None, str | None]:
    """The content of a request and its type, each None where there is none. `written` is the content type among its
    headers, "" for none: it says how a mapping is to be written. Raises InvalidFields.
    """
    bodies = [name for name in ("json", "body", "payload", "data", "form") if fields.get(name) is not None]
    if "json" in fields and fields["json"] is None and not bodies:
        bodies = ["json"]  # a body of null is a body
    if not bodies:
        return None, None
    # Which of two bodies was meant cannot be guessed, and the wrong one may have an effect.
    if len(bodies) > 1:
        raise InvalidFields(f"only one of the fields {' and '.join(bodies)} can be the body")
    value = fields[bodies[0]]
    if bodies[0] != "json":
        # No content type is made up for a text: what it is, only the author knows.
        if isinstance(value, str):
            return value.encode("utf-8", "surrogatepass"), None
        if "multipart/" in written.lower():
            raise InvalidFields(f"`{bodies[0]}` is no text: a body of several parts is to be given as one")
        if bodies[0] == "form" or _FORM in written.lower():
            if not isinstance(value, dict):
                raise InvalidFields(f"`{bodies[0]}` is neither a mapping nor text: the header says that it is a form")
            return _form_bytes(_pairs(value)), _FORM
    import json

    return json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass"), "application/json"


async def _authorize(auth: Json, headers: dict[str, str], env: Env) -> tuple[str, str] | None:
    """Put a credential on a request: a token as Bearer or under its own `header`, a password as Basic."""
    if auth is None:
        return None
    fields = await login_of(auth, env)
    user = fields.get("username", fields.get("user"))
    if user is not None and fields.get("password") is not None:
        return _text(user), _text(fields["password"])
    for key in ("token", "access_token", "bearer", "value", "api_key"):
        if (token := fields.get(key)) is not None:
            if why := _faulty_token(_text(token)):
                raise InvalidFields(f"{_named(auth)}: its `{key}` {why}")
            header = fields.get("header")
            headers[str(header or "Authorization")] = _text(token) if header else f"Bearer {_text(token)}"
            return None
    raise InvalidFields("auth names a credential without a token, and without user and password")


def _faulty_token(token: str) -> str:
    """Why no request can be made with a token; empty where one can."""
    if not token.strip():
        return "is empty: give it the token, in the variable or file that its entry names, or by `noetl credential add`"
    return f"{why}: a token is one word, so store it anew without that" if (why := faulty_header(token)) else ""


def _named(auth: Json) -> str:
    name = name_in(auth)
    return "`auth`" if name is None else f"credential {name!r}"


async def _left_origin(call: ToolCall, request: HttpRequest, env: Env) -> str | None:
    """Why a request must not be sent: it takes a secret to another origin than the first one of this task in its run
    did, as the next page of a response may. An origin that the workload names is known to whoever started this.
    """
    holds = call.holds_secret or call.fields.get("auth") is not None
    if not call.origin or not holds or same_origin(call.origin, request.url):
        return None
    # The workload is fixed when the run starts, so nothing that a server answers can add an origin to it.
    named = await env.met(lambda: texts_in(call.scope.get("workload")))
    if any("://" in text and same_origin(text, request.url) for text in named):
        return None
    return (
        f"{request.method} {shown_url(request.url)}: this address lies at another origin than {call.origin}, where "
        "this task sent its `auth` or keychain value first, and they go nowhere else: if it may have them, name its "
        "origin in `workload`; if it needs none, ask for it in a task without them"
    )


def _outcome(response: HttpResponse) -> Outcome:
    data, encoding = _data(response)
    result: dict[str, Json] = {
        "status_code": response.status,
        "headers": response.headers,
        "data": data,
        "body": data,
        "url": response.url,
        "elapsed": response.elapsed,
    }
    wait = retry_after_of(response.headers, time())
    extra: dict[str, Json] = {
        "status": response.status, "headers": response.headers, "encoding": encoding, "retry_after": wait
    }  # fmt: skip
    if response.status < 400:
        return ok(result, http=extra)
    return error(STATUS, refused_with(response.status), result=result, http=extra)


def _data(response: HttpResponse) -> tuple[Json, str]:
    """The body as a value, and how it was read."""
    if not response.content:
        return None, "none"
    kind = str(response.headers.get("content-type", "")).partition(";")[0].strip().lower()
    if kind == "application/json" or kind.endswith("+json"):
        with suppress(ValueError):  # said to be JSON and is none: what came is kept as it is
            return json_of(response.content), "json"
    return text_of(response.content, response.charset)


def _bounds(call: ToolCall) -> RequestLimits:
    """The limits of a request: of time the task's spec, else its field, else 30 s. Raises InvalidFields."""
    limit = call.knobs.get("max_response_bytes")
    most = limit if isinstance(limit, int) and not isinstance(limit, bool) else BODY_BYTES
    verify, follow = _flag(call, "verify_ssl", default=True), _flag(call, "follow_redirects", default=False)
    for timeout in (call.timeout, call.fields.get("timeout"), call.fields.get("timeout_seconds")):
        if isinstance(timeout, dict):
            if unknown := [name for name in timeout if name not in ("connect", "read", "write", "pool")]:
                raise InvalidFields(f"timeout has no part {unknown[0]!r}")
            parts = {name: seconds_of(value) for name, value in timeout.items() if value is not None}
            known = {name: seconds for name, seconds in parts.items() if seconds is not None}
            if len(known) != len(parts):
                raise InvalidFields("the parts of timeout must be durations")
            return RequestLimits(None, known, most, verify, follow)
        if timeout is not None:
            seconds = seconds_of(timeout)
            if seconds is None:
                raise InvalidFields("timeout must be a duration or {connect, read}")
            return RequestLimits(seconds, {}, most, verify, follow)
    return RequestLimits(SECONDS, {}, most, verify, follow)


def _flag(call: ToolCall, name: str, *, default: bool) -> bool:
    for value in (call.fields.get(name), call.knobs.get(name)):
        if isinstance(value, bool):
            return value
    return default


def _mapping(value: Json) -> list[tuple[str, Json]]:
    return list(value.items()) if isinstance(value, dict) else []


def _pairs(value: Json) -> list[tuple[str, str]]:
    """Names and texts of a query or a form: a list repeats its name, null leaves it out. Raises InvalidFields."""
    if isinstance(value, list):
        if not all(isinstance(pair, list) and len(pair) == 2 for pair in value):
            raise InvalidFields("params must be a mapping, or a list of pairs")
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


def _form_bytes(form: list[tuple[str, str]]) -> bytes:
    from urllib.parse import urlencode

    return urlencode(form, errors="surrogatepass").encode("ascii")
