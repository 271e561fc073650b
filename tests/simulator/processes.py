"""Simulated processes: the real service and control plane, the real worker, each with a network and clocks of its own.

A process runs a moment after it is woken, or when its next time is due; not while it is stopped (as by SIGSTOP). When
it dies, everything in its memory is gone.
"""

import random
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import NamedTuple

from noetl.app.idle import IdleWorker
from noetl.app.task_environment import TaskEnvironments
from noetl.engine.program import Program
from noetl.ports import Blobs
from noetl.ports.needs import Needs
from noetl.server.bulkhead import EventObserver
from noetl.server.children import NotFound
from noetl.server.control import ControlPlane
from noetl.server.journal import Batching
from noetl.server.namespaces.shares import NamespaceShares
from noetl.server.service import Service
from noetl.server.workers.leases import Leases
from noetl.server.workers.macs import Macs
from noetl.server.workers.registry import WorkerRegistry
from noetl.server.workers.remote import RemoteWorkers
from noetl.store.memory import MemoryBlobs, MemoryStore
from noetl.worker.heartbeats import Heartbeats
from noetl.worker.launcher import AsyncLauncher
from noetl.worker.worker import Worker
from simulator.disk import Disk, DiskOdds, Holders, Killed
from simulator.effects import Deed, Tools
from simulator.endpoint import Endpoint
from simulator.fetches import FetchedBlobs, FetchedPrograms, SimulatedFetches
from simulator.network import Network
from simulator.timeline import EPOCH, SECOND, SkewedClock, Timeline

LOOK_EVERY = 4 * SECOND
"""Microseconds after which a server looks around, whatever it waits for; a real one does so more often."""

ROUNDS = 200
"""A server that has something to do for so many rounds at one moment is in a circle."""


class Shared(NamedTuple):
    """The parts of a simulated cluster that outlive every process."""

    timeline: Timeline
    network: Network
    store: MemoryStore
    holders: Holders
    blobs: MemoryBlobs
    programs: Mapping[str, Program]
    paths: Mapping[str, str]
    """Digests by playbook path."""
    deeds: Counter[Deed]


class Life:
    """When a process runs. `step` does what there is to do and gives when to look again (true time), None for never."""

    def __init__(self, timeline: Timeline, chance: random.Random, step: Callable[[], int | None]) -> None:
        self.is_alive = True
        self._timeline = timeline
        self._chance = chance
        self._step = step
        self._planned: int | None = None
        self._stops = 0

    def wake(self) -> None:
        """Run a moment from now."""
        self._plan(self._timeline.now + self._chance.randint(10, 1_000))

    def stop(self) -> None:
        """Stand still until `go_on`, as often as it was stopped."""
        self._stops += 1

    def go_on(self) -> bool:
        """Run again; whether it does."""
        self._stops -= 1
        self.wake()
        return not self._stops

    def _plan(self, time: int) -> None:
        if self._planned is None or time < self._planned:
            self._planned = time
            self._timeline.at(time, lambda: self._run(time))

    def _run(self, time: int) -> None:
        if self._planned != time or not self.is_alive:
            return
        self._planned = None
        if not self._stops and (due := self._step()) is not None:
            self._plan(max(due, self._timeline.now + 1))


class ServerProcess:
    """A server. `observe` hears its events; `died` is called when it ended."""

    def __init__(
        self,
        shared: Shared,
        chance: random.Random,
        name: str,
        *,
        odds: DiskOdds,
        skew: int,
        observe: EventObserver,
        batching: Batching,
    ) -> None:
        self.name = name
        self.said: list[str] = []
        self.died: Callable[[], None] = lambda: None
        self.disk = Disk(shared.store, shared.holders, chance, odds, self.die)
        self.life = Life(shared.timeline, chance, self._step)
        self.endpoint = Endpoint(shared.network, name, self.life.wake)
        self._timeline = shared.timeline
        self._due: int | None = None
        self._passed = False
        self.wall = SkewedClock(shared.timeline, EPOCH + skew)
        steady = self._steady = SkewedClock(shared.timeline, chance.randint(0, 9 * SECOND))
        self.leases = Leases(steady)
        registry = WorkerRegistry(self.endpoint, self.endpoint, steady, name)
        self.control = ControlPlane(
            self.endpoint, store=self.disk, blobs=shared.blobs, clock=self.wall, steady=steady,
            find=lambda caller, path: shared.programs[shared.paths[path]], load=lambda digest: shared.programs[digest],
            observe=observe,
            tracker=RemoteWorkers(self.leases, registry, Macs(self.disk.claims_key)), batching=batching,
            shares=NamespaceShares(shared.store.namespaces.rows, steady),
        )  # fmt: skip
        self.control.orders.open_lane = registry.open_lane
        self.service = Service(
            self.control, store=self.disk, worker=IdleWorker(), waiter=self, clock=steady,
            load=lambda digest: shared.programs[digest], skips=lambda name: False, say=self.said.append,
        )  # fmt: skip
        self.life.wake()

    def stop(self) -> None:
        """Stand still, as by SIGSTOP."""
        self.life.stop()
        self.endpoint.is_awake = False
        self.disk.stop()

    def go_on(self) -> None:
        """Run again."""
        if self.life.go_on():
            self.endpoint.is_awake = True
            self.disk.go_on()

    def die(self) -> None:
        """End here, as by SIGKILL."""
        if not self.life.is_alive:
            return
        self.life.is_alive = False
        self.endpoint.die()
        self.disk.crash()
        self.died()

    def _step(self) -> int | None:
        for _ in range(ROUNDS):
            self._passed = False
            with suppress(Killed):
                self.service._round()
            if not self.life.is_alive:
                return None
            if self._passed:
                mine = self.disk.taken & self.control.executions.keys()
                assert not mine, f"{self.name} woke up and drives {mine}, which others took"
                latest = self._timeline.now + LOOK_EVERY
                return latest if self._due is None else min(self._due - self._steady.ahead, latest)
        raise AssertionError(f"{self.name} never comes to rest")

    def open(self) -> None:
        """`Waiter.open`."""

    def poll(self) -> None:
        """`Waiter.poll`."""

    def pass_time(self, due: int | None) -> bool:
        """`Waiter.pass_time`: the step ends here."""
        self._due = due
        self._passed = True
        return True

    def wake(self) -> None:
        """`Waiter.wake`."""
        self.life.wake()

    def close(self) -> None:
        """`Waiter.close`."""


class WorkerProcess:
    """A worker of a pool. With `fetches` it has plans and values from elsewhere, which take their time."""

    def __init__(
        self,
        shared: Shared,
        chance: random.Random,
        name: str,
        *,
        pool: str,
        slots: int,
        skew: int,
        waits: Callable[[], int],
        fetches: SimulatedFetches | None = None,
    ) -> None:
        self.name = name
        self.pool = pool
        self.life = Life(shared.timeline, chance, self._step)
        self.endpoint = Endpoint(shared.network, name, self.life.wake)
        self._timeline = shared.timeline
        self.wall = SkewedClock(shared.timeline, EPOCH + skew)
        steady = self._steady = SkewedClock(shared.timeline, chance.randint(0, 9 * SECOND))

        def load(digest: str) -> Program:
            if digest not in shared.programs:
                raise NotFound(digest)
            return shared.programs[digest]

        def blobs(needs: Needs) -> Blobs:
            return shared.blobs if fetches is None else FetchedBlobs(shared.blobs, needs)

        environments = TaskEnvironments(
            FetchedPrograms(load).load,
            blobs,
            root=".",
            secrets_path="/nonexistent/secrets",
            chance=chance.random,
            log=lambda call, text: None,
        )
        pure = AsyncLauncher(environments.env_of, steady)
        self.tools = Tools(shared.timeline, shared.deeds, waits=waits, pure=pure, wake=self.life.wake)
        self.worker = Worker(
            self.endpoint, pool=pool, slots=slots, launcher=self.tools, program_of=environments.program_of,
            context_of=environments.context_of, clock=self.wall, steady=steady, name=name,
            heartbeats=Heartbeats(self.endpoint, self.endpoint, steady), blobs=blobs,
            fetches=fetches,  # type: ignore[arg-type]
        )  # fmt: skip
        if fetches is not None:
            fetches.wake = self.life.wake
        self.life.wake()

    def stop(self) -> None:
        """Stand still, as by SIGSTOP; its tools go on."""
        self.life.stop()
        self.endpoint.is_awake = False

    def go_on(self) -> None:
        """Run again."""
        if self.life.go_on():
            self.endpoint.is_awake = True

    def die(self) -> None:
        """End here, as by SIGKILL: its tools end with it."""
        self.life.is_alive = False
        self.endpoint.die()

    def _step(self) -> int | None:
        for broadcast in self.endpoint.received():
            self.worker.hear(broadcast)
        for _ in range(ROUNDS):
            if not self.worker.step():
                due = self.worker.due()
                return None if due is None else due - self._steady.ahead
        raise AssertionError(f"{self.name} never comes to rest")
