"""One HTTP server on the loopback address that answers for all services, and playbooks' addresses turned to it.

An address `https://HOST/path` becomes `http://127.0.0.1:PORT/RUN/HOST/path`, so that each run has services of its own.
"""

import json
import re
from collections.abc import Container, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from urllib.parse import parse_qsl, unquote, urlsplit

from corpora.more_sites import Site
from corpora.sites import NOT_FOUND, Memory, Request, Response

_HOST = r"[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*(?::\d+)?"
_ADDRESS = re.compile(rf"https?://({_HOST})(?![\w.{{$-])")


class _Server(ThreadingHTTPServer):
    """The server, and what the services remember of each run."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, sites: Mapping[str, Site]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.sites = sites
        self.memories: dict[str, Memory] = {}


class _Handler(BaseHTTPRequestHandler):
    """Hands a call to the service that answers for its host."""

    protocol_version = "HTTP/1.1"
    server: _Server

    def _respond(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        parts = urlsplit(self.path)
        # Addresses were turned to `/RUN/HOST/PATH`: one server stands for all services and keeps what it remembers
        # apart by run.
        run, _, rest = parts.path.lstrip("/").partition("/")
        host, _, path = rest.partition("/")
        site = self.server.sites.get(unquote(host))
        # What one run did must not change another's answers.
        memory = self.server.memories.setdefault(run, Memory())
        query = dict(parse_qsl(parts.query, keep_blank_values=True))
        request = Request(self.command, f"/{unquote(path)}", query, dict(self.headers.items()), body, memory)
        self._send(site(request) if site is not None else NOT_FOUND)

    def _send(self, response: Response) -> None:
        is_text = isinstance(response.body, str)
        data = str(response.body).encode() if is_text else json.dumps(response.body).encode()
        self.send_response(response.status)
        self.send_header("Content-Type", "text/html; charset=utf-8" if is_text else "application/json")
        self.send_header("Content-Length", str(len(data)))
        for name, value in response.headers:
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do_HEAD = _respond

    def log_message(self, format: str, *args: object) -> None:
        """Nothing: a run's own log tells enough."""


@contextmanager
def served(sites: Mapping[str, Site]) -> Iterator[int]:
    """The services, as long as this is open; gives their port."""
    server = _Server(sites)
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield int(server.server_address[1])
    finally:
        server.shutdown()
        server.server_close()


def hosts_in(text: str) -> set[str]:
    """The hosts whose addresses stand in a text, with their ports where they are written."""
    return {found[1] for found in _ADDRESS.finditer(text)}


def turned(text: str, hosts: Container[str], at: str) -> str:
    """A text with the addresses of some hosts turned to the server; `at` is its address for a run."""

    def local(found: re.Match[str]) -> str:
        # The address of a service that is not here stays, so that the run fails as being offline and is told so.
        return f"{at}/{found[1]}" if found[1] in hosts else found[0]

    return _ADDRESS.sub(local, text)
