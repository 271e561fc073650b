"""A server whose workers are other processes: the bus between them, and the service over it."""

import math
import os
import threading
from collections.abc import Callable, Mapping
from types import FunctionType
from typing import Protocol

from noetl.app.clock import MonotonicClock, SteadyClock, WallClock
from noetl.app.runtime import Runtime
from noetl.bus import BusFailure
from noetl.engine.execution import Execution
from noetl.engine.program import Program
from noetl.patience import Patience
from noetl.ports import STOPS, Broadcasts, Bus
from noetl.server.control import ControlPlane
from noetl.server.service import Service
from noetl.server.workers.leases import Leases
from noetl.server.workers.macs import Macs
from noetl.server.workers.registry import WorkerRegistry
from noetl.server.workers.remote import RemoteWorkers
from noetl_ir import registry
from noetl_ir.commands import Answer, Command, Said
from noetl_ir.events import Event
from noetl_ir.rows import NamedTuple

LONGEST_SLEEP = 0.2
"""Seconds; requests to another server of the same store are seen within this time."""


class ClusterBus(Bus[Command, Said, Answer], Broadcasts, Protocol):
    """A bus between processes."""


class Cluster(NamedTuple):
    """A service, and the workers that it knows of."""

    service: Service
    registry: WorkerRegistry


def open_bus(
    url: str,
    limits: Mapping[str, int] | None = None,
    pool: str | None = None,
    say: Callable[[str], None] = lambda _: None,
) -> ClusterBus:
    """The bus at a URL, for a worker of a pool, or for a server (None); `limits` are how many commands of a pool may be
    at work at once, and `say` hears what the bus does not allow. Raises BusFailure.
    """
    scheme = url.partition("://")[0]
    name = "nats" if scheme in ("nats", "tls") else scheme
    if name not in registry.names("noetl.bus") or name == "memory":
        raise BusFailure("a bus between processes is written nats://HOST:PORT")
    opener = registry.load("noetl.bus", name, "open_bus", FunctionType)
    bus: ClusterBus = opener(url, limits or {}, pool, say)
    return bus


def cluster_of(
    runtime: Runtime, bus: ClusterBus, changed: Callable[[str], None], say: Callable[[str], None]
) -> Cluster:
    """The service of a runtime over a bus. `changed` is called with the execution that has a new event."""

    def observe(execution: Execution, program: Program, event: Event) -> None:
        changed(execution.execution_id)

    steady, monotonic, sleeper = SteadyClock(), MonotonicClock(), Sleeper()
    patience = Patience(math.inf, say)
    registry = WorkerRegistry(bus, bus, monotonic, os.urandom(8).hex())
    control = ControlPlane(
        bus, store=runtime.store, blobs=runtime.blobs, clock=WallClock(), steady=steady,
        find=runtime.programs.find, load=runtime.programs.load, observe=observe,
        tracker=RemoteWorkers(Leases(monotonic), registry, Macs(runtime.store.claims_key)),
        environment=runtime.settings.environment.given, say=say, keep=patience,
    )  # fmt: skip
    bus.listen(sleeper.wake)
    service = Service(
        control, store=runtime.store, worker=NoLocalWorker(), waiter=sleeper, clock=steady,
        load=runtime.programs.load, skips=runtime.was_scripted, say=say, reaches=lambda: bus.room(STOPS) > 0,
        patience=patience, look=runtime.check_room,
    )  # fmt: skip
    return Cluster(service, registry)


class NoLocalWorker:
    """A `LocalWorker` of workers that are elsewhere."""

    busy = 0

    def step(self) -> bool:
        return False

    def due(self) -> int | None:
        return None

    def take_no_more(self) -> None:
        """`LocalWorker.take_no_more`."""

    def drop_all(self) -> None:
        """`LocalWorker.drop_all`."""


class Sleeper:
    """A `Waiter` that does nothing else."""

    def __init__(self) -> None:
        self._woken = threading.Event()
        self._clock = SteadyClock()

    def open(self) -> None:
        """`Waiter.open`."""

    def pass_time(self, due: int | None) -> bool:
        left = LONGEST_SLEEP if due is None else (due - self._clock.now()) / 1_000_000
        self._woken.wait(min(max(left, 0.0), LONGEST_SLEEP))
        self._woken.clear()
        return True

    def poll(self) -> None:
        """`Waiter.poll`."""

    def wake(self) -> None:
        self._woken.set()

    def close(self) -> None:
        """`Waiter.close`."""
