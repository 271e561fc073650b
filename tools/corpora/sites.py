"""Small re-creations of the public test services that playbooks call, by what their own pages publish.

Each is a function of a request. What a service remembers between calls it remembers for one run alone.
"""

import base64
import json
import re
import time
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from noetl_ir.expr import Json


class Response(NamedTuple):
    """An answer: JSON, or text as it is."""

    status: int
    body: Json
    headers: tuple[tuple[str, str], ...] = ()


@dataclass
class Memory:
    """Records that the services have of one run."""

    tries: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    calls: list[float] = field(default_factory=list)


class Request(NamedTuple):
    """A call: `path` begins with a slash, `query` has the last value of each name."""

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: bytes
    memory: Memory

    def number(self, name: str, default: int) -> int:
        """A query value as a number."""
        text = self.query.get(name, "")
        return int(text) if re.fullmatch(r"-?\d+", text) else default

    def sent(self) -> Json:
        """The body as JSON, None when it is none."""
        try:
            found: Json = json.loads(self.body)
        except ValueError:
            return None
        return found


NOT_FOUND = Response(404, {"detail": "Not Found"})
_TOTAL, _HEAVY, _PAGE = 35, 100, 10


def paginated(request: Request) -> Response:
    """The pages of a test server: 35 things, ten a page, by page, offset or cursor; and its faults."""
    path = request.path
    if path == "/health":
        return Response(200, {"status": "ok"})
    page = request.number("page", 1)
    page_of = _PAGES.get(path.removeprefix("/api/v1/"))
    return page_of(request, page) if page_of is not None and path.startswith("/api/v1/") else NOT_FOUND


def _assessments(request: Request, page: int) -> Response:
    size = request.number("pageSize", _PAGE)
    things = [_thing(n, name=f"Assessment {n}", score=50 + n % 50) for n in _numbers(page, size)]
    return Response(200, {"data": things, "paging": _paging(page, size, _TOTAL)})


def _users(request: Request, page: int) -> Response:
    offset, limit = request.number("offset", 0), request.number("limit", _PAGE)
    numbers = range(offset + 1, min(offset + limit, _TOTAL) + 1)
    things = [_thing(n, username=f"user{n}", email=f"user{n}@example.com") for n in numbers]
    more = offset + limit < _TOTAL
    return Response(200, {"users": things, "has_more": more, "offset": offset, "limit": limit, "total": _TOTAL})


def _events(request: Request, page: int) -> Response:
    limit = request.number("limit", _PAGE)
    try:
        page = int(base64.b64decode(request.query.get("cursor", "")) or b"1")
    except ValueError:
        page = 1
    things: list[Json] = [
        {
            "id": n, "type": "user_action", "timestamp": f"2024-01-{n % 28 + 1:02d}T12:00:00Z",
            "data": {"action": f"event_{n}"},
        }
        for n in _numbers(page, limit)
    ]  # fmt: skip
    more = page * limit < _TOTAL
    cursor = base64.b64encode(str(page + 1).encode()).decode() if more else None
    return Response(200, {"events": things, "next_cursor": cursor, "limit": limit})


def _flaky(request: Request, page: int) -> Response:
    request.memory.tries[str(page)] += 1
    failing = [part.strip() for part in request.query.get("fail_on", "").split(",")]
    # A page fails the first time alone: a retry has to get through, or nothing would be learned about it.
    if str(page) in failing and request.memory.tries[str(page)] == 1:
        return Response(500, {"detail": "Simulated failure"})
    return _values(page)


def _reset(request: Request, page: int) -> Response:
    request.memory.tries.clear()
    return Response(200, {"status": "reset", "message": "Flaky endpoint counters cleared"})


def _heavy(request: Request, page: int) -> Response:
    size, kilobytes = request.number("pageSize", _PAGE), request.number("payload_kb", _PAGE)
    things = [
        _thing(
            n, name=f"Heavy Assessment {n}", score=50 + n % 50, category="technology",
            description=f"This is a detailed description for assessment {n}. " * 10, payload="x" * (1024 * kilobytes),
        )
        for n in range((page - 1) * size + 1, min(page * size, _HEAVY) + 1)
    ]  # fmt: skip
    meta: Json = {"payload_kb_per_item": kilobytes, "estimated_response_kb": len(things) * kilobytes}
    return Response(200, {"data": things, "paging": _paging(page, size, _HEAVY), "meta": meta})


def _errors(request: Request, page: int) -> Response:
    wanted, wait = request.query.get("error_type", ""), (("Retry-After", request.query.get("retry_after", "5")),)
    match wanted:
        case "429":
            return Response(429, {"error": "Too Many Requests", "message": "Rate limit exceeded"}, wait)
        case "503":
            return Response(503, {"error": "Service Unavailable", "message": "Server temporarily unavailable"}, wait)
        case "500":
            return Response(500, {"detail": "Internal Server Error - simulated"})
        case "auth":
            return Response(401, {"detail": "Unauthorized - invalid credentials"})
        case "403" | "404":
            return Response(int(wanted), {"detail": "Not Found - resource does not exist"})
        case "timeout":
            time.sleep(30)
    return _values(page)


def _rate_limited(request: Request, page: int) -> Response:
    most, now = request.number("requests_per_second", 2), time.monotonic()
    calls = request.memory.calls
    calls[:] = [at for at in calls if now - at < 1]
    if len(calls) >= most:
        told: Json = {"error": "Rate limit exceeded", "requests_in_window": len(calls), "limit": most}
        return Response(429, told, (("Retry-After", "1"),))
    calls.append(now)
    return _values(page)


def _values(page: int) -> Response:
    things = [_thing(n, value=f"item_{n}") for n in _numbers(page, _PAGE)]
    paging: Json = {"hasMore": page * _PAGE < _TOTAL, "page": page, "pageSize": _PAGE}
    return Response(200, {"data": things, "paging": paging})


def _thing(number: int, **more: Json) -> Json:
    return {"id": number, **more}


def _numbers(page: int, size: int) -> range:
    return range((page - 1) * size + 1, min(page * size, _TOTAL) + 1)


def _paging(page: int, size: int, total: int) -> Json:
    return {"hasMore": page * size < total, "page": page, "pageSize": size, "total": total}


_PAGES: dict[str, Callable[[Request, int], Response]] = {
    "assessments": _assessments,
    "users": _users,
    "events": _events,
    "flaky": _flaky,
    "flaky/reset": _reset,
    "heavy": _heavy,
    "errors": _errors,
    "rate-limited": _rate_limited,
}


def echo(request: Request) -> Response:
    """An echo service: what was sent, the status that is asked for, a delay."""
    first, _, rest = request.path.strip("/").partition("/")
    match first:
        case "status":
            status = int(rest) if rest.isdigit() else 400
            return Response(status, "")
        case "delay":
            # A longer delay would use up the time that a run has in all.
            time.sleep(min(float(rest or 0), 10.0))
            return Response(200, _echoed(request))
        case "json":
            return Response(200, {"slideshow": {"title": "Sample Slide Show", "author": "Yours Truly", "slides": []}})
        case "uuid":
            return Response(200, {"uuid": "9a1c9b1e-6a0e-4b0a-9d52-3a6d1a2f2f10"})
        case "headers" | "ip":
            return Response(200, {"headers": dict(request.headers)} if first == "headers" else {"origin": "127.0.0.1"})
        case "bearer":
            header = request.headers.get("Authorization", "")
            good = header.startswith("Bearer ")
            return Response(200, {"authenticated": True, "token": header[7:]}) if good else Response(401, "")
        case "get" | "post" | "put" | "patch" | "delete" | "anything":
            if first not in ("anything", request.method.lower()):
                return Response(405, "")
            return Response(200, _echoed(request))
    return Response(404, "")


def _echoed(request: Request) -> Json:
    echoed: dict[str, Json] = {
        "args": dict(request.query), "headers": dict(request.headers), "origin": "127.0.0.1",
        "url": f"https://{request.headers.get('Host', '')}{request.path}",
    }  # fmt: skip
    if request.method != "GET":
        echoed |= {"data": request.body.decode("utf-8", "replace"), "files": {}, "form": {}, "json": request.sent()}
    if request.path.startswith("/anything"):
        echoed["method"] = request.method
    return echoed
