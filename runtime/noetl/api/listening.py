"""How a server listens: its socket, its limits of connections and files, and its certificate."""

from __future__ import annotations

import asyncio
import resource
import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import uvicorn

from noetl.api.bearer_tokens import BearerToken
from noetl.api.bounded import protocol_in
from noetl.api.connections import Book, ConnectionLimits
from noetl.api.people import People
from noetl_ir.records import NamedTuple

if TYPE_CHECKING:
    from types import FrameType

MOST_FILES = 1 << 18
"""Files that may be open at once, where the system lets it: with SQLite each execution that is driven has a lock."""

LEAVE_WITHIN = 5
"""Seconds that requests have to end once the server stops."""


class Listening(NamedTuple):
    """Where a server listens, and who may ask; `tokens` gives the tokens that are known now.

    `certificate` and `key` are files in PEM; port 0 takes a free one. `behind_proxy`: a proxy in front ends TLS. Its
    `X-Forwarded-For` is believed where it runs on this machine, and nobody else's is.
    """

    host: str
    port: int
    tokens: Callable[[], Sequence[BearerToken]] = tuple
    certificate: Path | None = None
    key: Path | None = None
    behind_proxy: bool = False
    announced: str = ""
    """Where workers on other machines reach it; empty: where it listens."""
    bus_url: str = ""
    """Where messages are that start playbooks; empty for nowhere."""
    people: People | None = None
    """Who signs in to the page by OpenID Connect."""
    public_url: str = ""
    """Where browsers reach the page; empty: where it listens."""


class BadCertificate(Exception):
    """The files for TLS cannot be used; the text says which and why."""


def open_files() -> int:
    """How many files may be open at once; as many as the system lets it."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    soft = most if 0 <= most < MOST_FILES else MOST_FILES
    # Many systems begin with 1,024 or 256, which a few hundred executions and their followers use up.
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, most))
    return soft


def bounds_of(listening: Listening, files: int) -> ConnectionLimits:
    """The limits of connections: at most half of the files may be some, and a proxy has all of them."""
    bounds = ConnectionLimits()
    most = min(bounds.most, files // 2)
    of_address = most if listening.behind_proxy else min(bounds.of_address, most)
    return bounds._replace(most=most, of_address=of_address, arriving=min(bounds.arriving, files // 4))


def config_of(app: Callable[..., object], listening: Listening, book: Book) -> uvicorn.Config:
    """How uvicorn serves, with its certificate read. Raises BadCertificate."""
    certificate, key = listening.certificate, listening.key or listening.certificate
    config = uvicorn.Config(
        app, log_config=None, access_log=False, lifespan="off", server_header=False, ws="none",
        timeout_graceful_shutdown=LEAVE_WITHIN, proxy_headers=listening.behind_proxy, loop="asyncio",
        http=protocol_in(book),
        ssl_certfile=certificate, ssl_keyfile=key,
    )  # fmt: skip
    try:
        # Read now, so that a wrong certificate is told in a sentence before anything listens.
        config.load()
    except OSError as problem:  # ssl.SSLError is one
        raise BadCertificate(f"{certificate} and {key} cannot be used for TLS: {problem.strerror or problem}") from None
    return config


def url_of(listening: Listening, host: str, port: int) -> str:
    return f"http{'s' if listening.certificate else ''}://{f'[{host}]' if ':' in host else host}:{port}"


def name_of(host: str) -> str:
    """Under which name others reach a server that listens on every address: that of the machine."""
    return socket.gethostname() if host in ("0.0.0.0", "::") else host


class HttpServer(uvicorn.Server):
    """Leaves signals to `serve`: uvicorn would end the process by them before what is in flight has finished."""

    handshake = ConnectionLimits().handshake

    def __init__(self, config: uvicorn.Config, leave: Callable[[], None] = lambda: None) -> None:
        super().__init__(config)
        self._leave = leave

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to listen. A connection is known to the book once its TLS stands, which has its time too."""
        if self.config.ssl is not None:
            loop = asyncio.get_running_loop()
            create = partial(loop.create_server, ssl_handshake_timeout=self.handshake)
            # uvicorn gives no way to set this time; asyncio's own is a minute, in which a flood of half handshakes
            # has all places.
            loop.create_server = create  # type: ignore[method-assign]
        await super().startup(sockets)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop listening; what would go on without end is told to leave, and requests are finished."""
        self._leave()
        await super().shutdown(sockets)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Capture none."""
        yield


def bound_to(listening: Listening) -> socket.socket:
    """A socket that listens, so that nobody who was told of it comes too early."""
    family = socket.AF_INET6 if ":" in listening.host else socket.AF_INET
    # With the protocol named, asyncio has its connections send at once; else each response of two parts takes 40 ms.
    bound = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        # A server that is started again need not wait until the last connections of the one before have timed out.
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind((listening.host, listening.port))
        bound.listen(128)
    except BaseException:
        bound.close()
        raise
    return bound


@contextmanager
def stopped_by_signals(server: uvicorn.Server, stop: Callable[[bool], None] = lambda again: None) -> Iterator[None]:
    """The first SIGINT or SIGTERM lets what is in flight finish, the next one ends at once. `stop` is called with each;
    it hears whether there was one before.
    """
    import signal

    def heard(number: int, frame: FrameType | None) -> None:
        again = server.force_exit = server.should_exit
        stop(again)
        server.should_exit = True

    watched = (signal.SIGINT, signal.SIGTERM)
    before = [(name, signal.signal(name, heard)) for name in watched]
    try:
        yield
    finally:
        for name, handler in before:
            signal.signal(name, handler)
