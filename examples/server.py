"""A small HTTP server for the examples: paged lists, one busy at first, one that is gone, and an echo.

    python3 examples/server.py [--port 8080]

Prints `listening on http://127.0.0.1:PORT` as its first line; port 0 takes a free one. Stops on SIGTERM or
Ctrl-C. Standard library only. What it answers depends on the request alone, but for the two paths that fail
first and then work: those count their requests and begin again after each success, so that every run sees the
same.

    GET  /api/assessments?page=&pageSize=   25 entries in pages
    GET  /api/reports?page=&pageSize=       12 entries in pages; page 2 answers 429 before it answers
    GET  /api/retired                       404
    GET  /items/ID                          one of nine items, else 404
    GET  /cities                            three cities with their hotels
    GET  /hotels/ID/rooms?page=&pageSize=   the rooms of a hotel in pages
    GET  /flaky                             503 twice, then an answer
    GET  /slow?seconds=                     answers late, after at most 60 s
    POST /echo                              the JSON that was sent, under `received`
"""

import argparse
import json
import re
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import NamedTuple
from urllib.parse import parse_qs, urlsplit

CITIES = [
    {
        "id": "lis",
        "name": "Lisbon",
        "hotels": [
            {"id": "lis-1", "name": "Tagus", "rooms": 9},
            {"id": "lis-2", "name": "Alfama", "rooms": 4},
        ],
    },
    {"id": "osl", "name": "Oslo", "hotels": [{"id": "osl-1", "name": "Fjord", "rooms": 6}]},
    {"id": "pra", "name": "Prague", "hotels": []},
]
ROOMS = {hotel["id"]: hotel["rooms"] for city in CITIES for hotel in city["hotels"]}
ITEMS = ["anvil", "bellows", "chisel", "drill", "edger", "file", "gimlet", "hammer", "iron"]


class Response(NamedTuple):
    """The answer: its status, the value sent as JSON, and further headers."""

    status: int
    body: object
    headers: tuple[tuple[str, str], ...] = ()


class Request(NamedTuple):
    """The question: its query (the last value of each name), the parsed body, the match of the path."""

    query: dict[str, str]
    body: object
    match: re.Match[str]


class Failures:
    """Counts requests by name: the first `times` of a round fail, the next one works and ends the round."""

    def __init__(self) -> None:
        self._seen: Counter[str] = Counter()
        self._lock = threading.Lock()

    def fails(self, name: str, times: int) -> bool:
        with self._lock:
            self._seen[name] += 1
            if self._seen[name] <= times:
                return True
            self._seen[name] = 0
            return False


FAILURES = Failures()


def _whole(request: Request, name: str, default: int) -> int:
    """A number of the query between 1 and 1000."""
    text = request.query.get(name, "")
    return min(max(int(text), 1), 1000) if text.isdecimal() else default


def _page(request: Request, entries: list[dict[str, object]]) -> Response:
    page, size = _whole(request, "page", 1), _whole(request, "pageSize", 10)
    part = entries[(page - 1) * size : page * size]
    paging = {"page": page, "pageSize": size, "total": len(entries), "hasMore": page * size < len(entries)}
    return Response(200, {"data": part, "paging": paging})


def _entries(label: str, count: int) -> list[dict[str, object]]:
    return [{"id": number, "title": f"{label} {number}"} for number in range(1, count + 1)]


def assessments(request: Request) -> Response:
    return _page(request, _entries("assessment", 25))


def reports(request: Request) -> Response:
    if _whole(request, "page", 1) == 2 and FAILURES.fails("reports", 1):
        return Response(429, {"error": "too many requests"}, (("Retry-After", "1"),))
    return _page(request, _entries("report", 12))


def retired(_: Request) -> Response:
    return Response(404, {"error": "this endpoint is retired"})


def item(request: Request) -> Response:
    number = int(request.match["id"])
    if not 1 <= number <= len(ITEMS):
        return Response(404, {"error": f"no item {number}"})
    return Response(200, {"id": number, "name": ITEMS[number - 1]})


def cities(_: Request) -> Response:
    return Response(200, {"data": CITIES, "paging": {"page": 1, "hasMore": False}})


def rooms(request: Request) -> Response:
    hotel = request.match["id"]
    if hotel not in ROOMS:
        return Response(404, {"error": f"no hotel {hotel}"})
    return _page(
        request,
        [{"id": f"{hotel}-{number}", "beds": 1 + number % 3} for number in range(1, ROOMS[hotel] + 1)],
    )


def flaky(_: Request) -> Response:
    if FAILURES.fails("flaky", 2):
        return Response(503, {"error": "try again later"})
    return Response(200, {"answer": 42})


def slow(request: Request) -> Response:
    text = request.query.get("seconds", "1")
    seconds = min(float(text), 60.0) if re.fullmatch(r"\d+(\.\d+)?", text) else 1.0
    time.sleep(seconds)
    return Response(200, {"slept": seconds})


def echo(request: Request) -> Response:
    return Response(200, {"received": request.body})


ROUTES: tuple[tuple[str, str, Callable[[Request], Response]], ...] = (
    ("GET", r"/api/assessments", assessments),
    ("GET", r"/api/reports", reports),
    ("GET", r"/api/retired", retired),
    ("GET", r"/items/(?P<id>\d{1,9})", item),
    ("GET", r"/cities", cities),
    ("GET", r"/hotels/(?P<id>[^/]+)/rooms", rooms),
    ("GET", r"/flaky", flaky),
    ("GET", r"/slow", slow),
    ("POST", r"/echo", echo),
)


def respond(method: str, target: str, body: bytes) -> Response:
    """The response to one request; `target` is the path with its query."""
    parts = urlsplit(target)
    query = {name: values[-1] for name, values in parse_qs(parts.query).items()}
    for wanted, pattern, handler in ROUTES:
        if wanted == method and (match := re.fullmatch(pattern, parts.path)):
            try:
                value = json.loads(body) if body else None
            except ValueError:
                return Response(400, {"error": "the body is not JSON"})
            return handler(Request(query, value, match))
    return Response(404, {"error": f"nothing at {parts.path}"})


class Handler(BaseHTTPRequestHandler):
    """Reads a request, sends its answer as JSON, keeps the connection."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # or each answer waits 40 ms for the acknowledgement of its headers

    def do_GET(self) -> None:
        self._reply()

    def do_POST(self) -> None:
        self._reply()

    def _reply(self) -> None:
        length = self.headers.get("Content-Length", "0")
        reply = respond(self.command, self.path, self.rfile.read(int(length) if length.isdecimal() else 0))
        data = json.dumps(reply.body).encode()
        self.send_response_only(reply.status)  # without the date: the same request, the same answer
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        for name, value in reply.headers:
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        """Say nothing: the output belongs to the playbook that runs beside it."""


class Server(ThreadingHTTPServer):
    daemon_threads = True  # a slow answer does not keep the server from stopping


def main() -> None:
    parser = argparse.ArgumentParser(description="A small HTTP server for the examples.")
    parser.add_argument("--port", type=int, default=8080, help="0 takes a free port")
    server = Server(("127.0.0.1", parser.parse_args().port), Handler)
    print(f"listening on http://127.0.0.1:{server.server_address[1]}", flush=True)
    # shutdown() waits for serve_forever() to return, so it may not be called on the thread that serves.
    signal.signal(signal.SIGTERM, lambda *_: threading.Thread(target=server.shutdown).start())
    try:
        server.serve_forever(poll_interval=0.1)
    except KeyboardInterrupt:
        pass
    finally:
        server.server_close()


if __name__ == "__main__":
    main()
