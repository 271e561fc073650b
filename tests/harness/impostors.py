"""Servers of a group that are none: they respond to a request what a test has them respond."""

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import NamedTuple

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n"


class Heard(NamedTuple):
    """A request as an impostor heard it."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes


class Impostor(NamedTuple):
    """An impostor: its address, and what it has heard but for looks at how it stands."""

    url: str
    heard: list[Heard]


def whole(text: str | bytes, *lines: str) -> bytes:
    """A response of some JSON."""
    data = text.encode() if isinstance(text, str) else text
    more = "".join(f"{line}\r\n" for line in lines).encode()
    return HEAD + more + f"Content-Length: {len(data)}\r\n\r\n".encode() + data


Says = Callable[[Heard], bytes | Iterable[bytes]]
"""What an impostor sends for a request, as bytes of HTTP, or part by part; it closes the connection behind it."""


@contextmanager
def impostor(says: Says, stands: Callable[[], bytes] = lambda: whole("{}")) -> Iterator[Impostor]:
    """A server that says what a test wants; `stands` is its response to who asks how it stands."""
    heard = list[Heard]()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _respond(self) -> None:
            self.close_connection = True
            if self.path.endswith("/readyz"):
                self.wfile.write(stands())
                return
            body = self.rfile.read(int(self.headers.get("content-length", "0")))
            one = Heard(self.command, self.path, {key.lower(): value for key, value in self.headers.items()}, body)
            heard.append(one)
            try:
                told = says(one)
                for part in [told] if isinstance(told, bytes) else told:
                    self.wfile.write(part)
            except ConnectionError:  # it has heard enough
                return

        do_GET = do_POST = do_PUT = do_DELETE = _respond

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield Impostor(f"http://127.0.0.1:{server.server_port}", heard)
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
