"""How a server listens: its socket, its limits of connections, signals, and the thread that drives beside the API."""

from __future__ import annotations

import asyncio
import resource
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import uvicorn
from starlette.applications import Starlette

from noetl.api.authorization import Authorization
from noetl.api.bearer_tokens import BearerToken
from noetl.api.bounded import protocol_in
from noetl.api.connections import Book, ConnectionLimits
from noetl.api.notifier import Notifier
from noetl.api.oidc_sign_in import OidcSignIn
from noetl.api.page_sessions import PageSessions
from noetl.api.pending_sign_in import PendingSignIns
from noetl.api.people import People
from noetl.api.routes import application
from noetl.api.scheduling import Scheduling
from noetl.api.service import DRAIN, ApiService, Compile
from noetl.api.triggering import message_starter_of
from noetl.app.adapters import ClusterBus
from noetl.app.clock import WallClock
from noetl.app.collecting import Collector
from noetl.app.composition import server_of
from noetl.app.outbox_delivery import OutboxDelivery
from noetl.app.retention import Retention
from noetl.app.runtime import Runtime
from noetl.app.script_letters import keep_up
from noetl.app.telling import deliveries_of
from noetl.app.upkeep import Upkeep, UpkeepJob
from noetl.clients.oidc_provider import OidcProvider
from noetl.host.log_lines import log_line
from noetl.ports.user_sessions import Sessions
from noetl.server.service import Service
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


class ServingCallbacks(NamedTuple):
    """Callbacks: `say` gets lines about the server itself, `ready` its URL once it listens."""

    say: Callable[[str], None]
    ready: Callable[[str], None]


def serve(
    runtime: Runtime,
    listening: Listening,
    compiler: Compile,
    lines: ServingCallbacks,
    *,
    sessions: Sessions,
    bus: ClusterBus | None = None,
    asked: set[str] | None = None,
    retention: Retention | None = None,
) -> bool:
    """Serve until told to stop: by a signal, by the API, or by an error. Returns whether all ended well.

    Its workers are on the bus; without one there is a worker in this process. Of executions that were not started here,
    all are driven, or with `asked` only those of which something is asked. With `retention` it purges. Raises OSError
    when the address cannot be had, and BadCertificate.
    """
    book = Book(_bounds(listening, _open_files()), lines.say)
    notifier = Notifier()
    service, registry = server_of(runtime, bus, notifier.notify, lines.say, asked)
    kept = PageSessions(runtime.store.claims_key, encrypted=listening.behind_proxy, people=listening.people)
    authorization = Authorization(listening.tokens, kept)
    pages: list[str] = [listening.public_url]
    app = application(
        ApiService(runtime, service, notifier, compiler, registry, asked),
        authorization,
        lines.say,
        sessions,
        book.counts,
        None if retention is None else retention.purger,
        _oidc(runtime, listening, pages, lines.say),
    )
    server = _Server(_config(app, listening, book), app.state.streams.end_soon)
    driving = _Driving(service, server, lines.say)
    aside = _aside(app, runtime, lines, retention, None if asked is not None else listening.bus_url)
    # Bound first: where the address cannot be had, nothing was driven yet that would have to be stopped.
    with _bound(listening) as bound, _stopped_by_signals(server, service):
        host, port = bound.getsockname()[:2]
        if registry is not None:
            registry.url = listening.announced or _url(listening, _name_of(host), port)
        pages[0] = listening.public_url or _url(listening, host, port)
        driving.start()
        for thread in aside:
            thread.start()
        lines.ready(_url(listening, host, port))
        try:
            server.run(sockets=[bound])
        finally:
            for thread in aside:
                thread.end_soon()
            # The API ends before the service: nobody is told that a start is on its way which then never comes.
            service.stop(DRAIN)
            driving.join()
            # A job may be within a long read of the store. It is a daemon and changes nothing but in transactions of
            # what it owns, so the process may end over it.
            aside[0].join(10)
    return not driving.failed


def _oidc(
    runtime: Runtime, listening: Listening, pages: Sequence[str], say: Callable[[str], None]
) -> OidcSignIn | None:
    """The sign-in by OpenID Connect to the page at the first of `pages`, which is known once the server listens."""
    if listening.people is None:
        return None
    pending = PendingSignIns(runtime.store.claims_key, encrypted=listening.behind_proxy)
    return OidcSignIn(OidcProvider(listening.people.party), listening.people, pending, lambda: pages[0], say)


def _aside(
    app: Starlette, runtime: Runtime, lines: ServingCallbacks, retention: Retention | None, bus_url: str | None
) -> list[Upkeep | Scheduling | OutboxDelivery]:
    """The threads beside the one that drives. With `bus_url` they start what schedules and triggers say; `noetl ui`,
    which drives what is asked of it, starts nothing by itself.
    """
    jobs: list[UpkeepJob] = [Collector(runtime, WallClock()).keep_up, lambda pause: keep_up(runtime)]
    if retention is not None:
        jobs.append(retention.keep_up)
    aside: list[Upkeep | Scheduling | OutboxDelivery] = [Upkeep(jobs, lines.say)]
    if bus_url is None:
        return aside
    aside += deliveries_of(runtime, lines.say)
    if app.state.starter is not None:
        aside.append(Scheduling(app.state.starter, lines.say))
    if app.state.trigger_starter is not None:
        aside.append(Scheduling(app.state.trigger_starter, lines.say, name="triggers"))
    messages = message_starter_of(runtime, app.state.trigger_starter, bus_url)
    if messages is not None:
        # Apart from ends: a server of messages that cannot be reached holds up whoever asks for some.
        aside.append(Scheduling(messages, lines.say, name="messages", close=messages.close))
    return aside


def _open_files() -> int:
    """How many files may be open at once; as many as the system lets it."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    soft = most if 0 <= most < MOST_FILES else MOST_FILES
    # Many systems begin with 1,024 or 256, which a few hundred executions and their followers use up.
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, most))
    return soft


def _bounds(listening: Listening, files: int) -> ConnectionLimits:
    """The limits of connections: at most half of the files may be some, and a proxy has all of them."""
    bounds = ConnectionLimits()
    most = min(bounds.most, files // 2)
    of_address = most if listening.behind_proxy else min(bounds.of_address, most)
    return bounds._replace(most=most, of_address=of_address, arriving=min(bounds.arriving, files // 4))


def _config(app: Callable[..., object], listening: Listening, book: Book) -> uvicorn.Config:
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


def _url(listening: Listening, host: str, port: int) -> str:
    return f"http{'s' if listening.certificate else ''}://{f'[{host}]' if ':' in host else host}:{port}"


def _name_of(host: str) -> str:
    """Under which name others reach a server that listens on every address: that of the machine."""
    return socket.gethostname() if host in ("0.0.0.0", "::") else host


class _Server(uvicorn.Server):
    """Leaves signals to `serve`: uvicorn would end the process by them before what is in flight has finished."""

    handshake = ConnectionLimits().handshake

    def __init__(self, config: uvicorn.Config, leave: Callable[[], None]) -> None:
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


@contextmanager
def _stopped_by_signals(server: uvicorn.Server, service: Service) -> Iterator[None]:
    """The first SIGINT or SIGTERM lets what is in flight finish, the next one ends at once."""
    import signal

    def stop(number: int, frame: FrameType | None) -> None:
        if server.should_exit:
            server.force_exit = True
        service.stop(0 if server.should_exit else DRAIN)
        server.should_exit = True

    watched = (signal.SIGINT, signal.SIGTERM)
    before = [(name, signal.signal(name, stop)) for name in watched]
    try:
        yield
    finally:
        for name, handler in before:
            signal.signal(name, handler)


class _Driving(threading.Thread):
    """The thread of a service. When it ends, the server does."""

    def __init__(self, service: Service, server: uvicorn.Server, say: Callable[[str], None]) -> None:
        super().__init__(name="noetl-service")
        self._service = service
        self._server = server
        self._say = say
        self.failed = False

    def run(self) -> None:
        """Drive; what goes wrong is said and ends the server, so that nobody takes it for one that works."""
        try:
            self._service.run()
        except Exception as error:
            self.failed = True
            self._say(log_line("error", f"internal error: {type(error).__name__}: {error} (please report)"))
        finally:
            self._server.should_exit = True


def _bound(listening: Listening) -> socket.socket:
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
