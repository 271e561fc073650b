"""A server in one process: a thread that drives every execution of the store, and the API beside it."""

from __future__ import annotations

import random
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import uvicorn

from noetl.app.clock import WallClock
from noetl.app.cluster import ClusterBus, cluster_of
from noetl.app.desk import DRAIN, Bell, Compile, StoreDesk
from noetl.app.runtime import Runtime, bus_of
from noetl.app.surroundings import Surroundings
from noetl.engine.execution import Execution
from noetl.engine.program import Program
from noetl.errands import Errands
from noetl.server.api.guard import Guard
from noetl.server.api.routes import application
from noetl.server.control import ControlPlane
from noetl.server.service import Service
from noetl.server.watch import DEFAULT_POOL, Near
from noetl.tokens import Token
from noetl.user_sessions import Sessions
from noetl.worker.launcher import AsyncLauncher
from noetl.worker.shell import Worker
from noetl_ir.events import Event
from noetl_ir.rows import NamedTuple

if TYPE_CHECKING:
    from types import FrameType

LEAVE_WITHIN = 5
"""Seconds that connections have to end once the server stops; those that follow an execution never would."""


class Listening(NamedTuple):
    """Where to listen and for whom; `tokens` gives those that are known now.

    `certificate` and `key` are files in PEM; port 0 takes one that is free.
    """

    host: str
    port: int
    tokens: Callable[[], Sequence[Token]] = tuple
    certificate: Path | None = None
    key: Path | None = None
    announced: str = ""
    """Where workers on other machines reach it; empty: where it listens."""


class Lines(NamedTuple):
    """Who hears of what: `say` of the server itself, `ready` its URL once it listens."""

    say: Callable[[str], None]
    ready: Callable[[str], None]


def serve(
    runtime: Runtime,
    listening: Listening,
    compiler: Compile,
    lines: Lines,
    *,
    sessions: Sessions,
    bus: ClusterBus | None = None,
) -> bool:
    """Serve until told to stop: by a signal, by the API, or by an error. Returns whether all ended well.

    Its workers are on the bus; without one there is a worker in this process. Raises OSError when the address cannot
    be had.
    """
    bell = Bell()
    cluster = cluster_of(runtime, bus, bell.ring, lines.say) if bus is not None else None
    service, roll = cluster or (service_of(runtime, bell, lines.say), None)
    guard = Guard(listening.tokens)
    app = application(StoreDesk(runtime, service, bell, compiler, roll), guard, lines.say, sessions)
    certificate = str(listening.certificate) if listening.certificate is not None else None
    key = str(listening.key) if listening.key is not None else certificate
    with _bound(listening) as bound:
        config = uvicorn.Config(
            app, log_config=None, access_log=False, lifespan="off", server_header=False, ws="none",
            timeout_graceful_shutdown=LEAVE_WITHIN, ssl_certfile=certificate, ssl_keyfile=key,
        )  # fmt: skip
        server = _Server(config)
        driving = _Driving(service, server, lines.say)
        host, port = bound.getsockname()[:2]
        with _stopped_by_signals(server, service):
            url = f"http{'s' if certificate else ''}://{f'[{host}]' if ':' in host else host}:{port}"
            if roll is not None:
                roll.url = listening.announced or url
            driving.start()
            lines.ready(url)
            server.run(sockets=[bound])
            service.stop(DRAIN)
            driving.join()
    return not driving.failed


def service_of(runtime: Runtime, bell: Bell, say: Callable[[str], None]) -> Service:
    """The service of a runtime, with a worker in the same thread."""
    settings, clock = runtime.settings, WallClock()
    bus = bus_of(settings)

    def observe(execution: Execution, program: Program, event: Event) -> None:
        if execution.is_over:
            around.forget(execution.execution_id)
        bell.ring(execution.execution_id)

    control = ControlPlane(
        bus, store=runtime.store, blobs=runtime.blobs, clock=clock, watch=Near(DEFAULT_POOL, settings.limits),
        find=runtime.programs.find, load=runtime.programs.load, observe=observe,
    )  # fmt: skip
    around = Surroundings(
        runtime.programs.load, runtime.blobs, root=str(settings.root), secrets_path=runtime.secrets_path,
        chance=random.SystemRandom().random, log=settings.log, fence=settings.fence, errands=Errands(),
    )  # fmt: skip
    launcher = AsyncLauncher(around.env_of, clock)
    around.errands.listen(launcher.wake)
    worker = Worker(
        bus, pool=DEFAULT_POOL, slots=settings.slots, limited=settings.limits, launcher=launcher,
        program_of=around.program_of, kit_of=around.kit_of, clock=clock, errands=around.errands,
    )  # fmt: skip
    return Service(
        control, store=runtime.store, crew=worker, waiter=launcher, clock=clock,
        load=runtime.programs.load, skips=runtime.was_scripted, say=say,
    )  # fmt: skip


class _Server(uvicorn.Server):
    """Leaves signals to `serve`: uvicorn would end the process by them before what is in flight has finished."""

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
            self._say(f"internal error: {type(error).__name__}: {error} (please report)")
        finally:
            self._server.should_exit = True


def _bound(listening: Listening) -> socket.socket:
    """A socket that listens, so that nobody who was told of it comes too early."""
    family = socket.AF_INET6 if ":" in listening.host else socket.AF_INET
    # With the protocol named, asyncio has its connections send at once; else each answer of two parts takes 40 ms.
    bound = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind((listening.host, listening.port))
        bound.listen(128)
    except BaseException:
        bound.close()
        raise
    return bound
