"""How a server serves: its API, signals, and the thread that drives beside it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import uvicorn
from starlette.applications import Starlette

from noetl.api.authorization import Authorization
from noetl.api.connections import Book
from noetl.api.listening import (
    HttpServer,
    Listening,
    bound_to,
    bounds_of,
    config_of,
    name_of,
    open_files,
    stopped_by_signals,
    url_of,
)
from noetl.api.notifier import Notifier
from noetl.api.oidc_sign_in import OidcSignIn
from noetl.api.page_sessions import PageSessions
from noetl.api.pending_sign_in import PendingSignIns
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
    pass


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
    book = Book(bounds_of(listening, open_files()), lines.say)
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
    server = HttpServer(config_of(app, listening, book), app.state.streams.end_soon)
    driving = _Driving(service, server, lines.say)
    aside = _aside(app, runtime, lines, retention, None if asked is not None else listening.bus_url)
    # Bound first: where the address cannot be had, nothing was driven yet that would have to be stopped.
    with bound_to(listening) as bound, stopped_by_signals(server, lambda again: service.stop(0 if again else DRAIN)):
        host, port = bound.getsockname()[:2]
        if registry is not None:
            registry.url = listening.announced or url_of(listening, name_of(host), port)
        pages[0] = listening.public_url or url_of(listening, host, port)
        driving.start()
        for thread in aside:
            thread.start()
        lines.ready(url_of(listening, host, port))
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
