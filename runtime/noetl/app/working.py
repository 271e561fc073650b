"""The loop of a worker in a process of its own: the bus, what it needs of the servers, and the tools, in one thread."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING

from noetl.app.adapters import open_bus
from noetl.app.clock import MonotonicClock
from noetl.app.composition import WorkerOptions, bus_worker_of
from noetl.app.preflight_checks import CheckedWorker, PreflightChecks
from noetl.app.runtime import Settings
from noetl.app.worker_cache import WorkerCache
from noetl.worker.background_fetches import BackgroundFetches
from noetl.worker.launcher import AsyncLauncher
from noetl.worker.worker import Worker

if TYPE_CHECKING:
    from types import FrameType

    from noetl.app.worker_metrics import WorkerMeasures


def new_name() -> str:
    """A name that no other worker has: the machine, the process, and some chance."""
    return f"{socket.gethostname()}-{os.getpid()}-{os.urandom(3).hex()}"


def run_worker(
    options: WorkerOptions,
    settings: Settings,
    ready: Callable[[str], None],
    say: Callable[[str], None],
    measures: WorkerMeasures | None = None,
) -> None:
    """Work until told to leave, by a signal or by a server; returns when what was at work is done.

    `say` hears what is in the way; `measures` times the tools.

    The second signal ends it at once: then its claims end with their leases. Raises BusFailure, and StoreFailure where
    the server refuses it.
    """
    fetches = BackgroundFetches()
    with (
        closing(open_bus(options.bus, pool=options.pool, say=say)) as bus,
        closing(WorkerCache(options.servers)) as cache,
    ):
        # Before any order is taken: a worker whose token is refused would take orders and give them all back.
        cache.check()
        worker, launcher = bus_worker_of(options, settings, bus, cache, fetches, say)
        if measures is not None:
            measures.worker, launcher.ended = worker, measures.tool_ended
        me = CheckedWorker(options.name, options.pool, options.secrets_path, str(settings.root), settings.fence)
        checks = PreflightChecks(bus, me, fetches.needs, cache.program, MonotonicClock())
        # The loop has to be there for `wake`: a signal that came before would not end the first wait.
        launcher.open()
        with closing(launcher), _leaving_by_signals(worker, launcher):
            ready(options.name)
            while worker.busy or not worker.leaving:
                # Heard before the step, so that an order finds the server that was announced a moment ago.
                for broadcast in bus.received():
                    cache.hear(broadcast)
                    worker.hear(broadcast)
                    checks.hear(broadcast)
                checks.step()
                if not worker.step():
                    launcher.pass_time(worker.due())
            worker.step()  # the last word: that it leaves


@contextmanager
def _leaving_by_signals(worker: Worker, launcher: AsyncLauncher) -> Iterator[None]:
    """The first SIGINT or SIGTERM lets what is at work finish, the next one ends it."""
    import signal

    def leave(number: int, frame: FrameType | None) -> None:
        # Slots that are freed are acknowledged, but no end of them is reported: the claims end with their leases, and
        # another worker goes on.
        if worker.leaving:
            worker.drop_all()
        worker.take_no_more()
        launcher.wake()

    watched = (signal.SIGINT, signal.SIGTERM)
    before = [(name, signal.signal(name, leave)) for name in watched]
    try:
        yield
    finally:
        for name, handler in before:
            signal.signal(name, handler)
