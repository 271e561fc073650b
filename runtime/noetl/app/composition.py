"""The composition root: stores, buses and settings become the servers and workers of `run`, `server` and `worker`.

Nothing else builds a control plane, a worker or a service. `driver_of` drives one execution in this process,
`server_of` all of a store, with a worker in the same thread or with those on a bus, `bus_worker_of` is one of those.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Container, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING

from noetl.app.clock import MonotonicClock, SteadyClock, WallClock
from noetl.app.embedded import Embedded, Parts, Ticking, WaitingLauncher
from noetl.app.hidden_signals import KnownSecrets, OwnSecrets
from noetl.app.identities import fraction
from noetl.app.task_environment import TaskEnvironments
from noetl.bus.memory import MemoryBus
from noetl.engine.execution import Execution
from noetl.engine.program import Program
from noetl.ports import Clock, MailboxFull
from noetl.ports.bus import STOPS, Bus
from noetl.ports.output import OutputChunk
from noetl.server.bulkhead import EventObserver
from noetl.server.control import ControlPlane
from noetl.server.execution import Ask
from noetl.server.journal import BEFORE_EFFECTS, EVERY_EVENT, EVERY_ROUND, Batching, Keep
from noetl.server.signal_secrets import SignalRedactor
from noetl.server.store_retry import PAUSE, StoreRetry
from noetl.server.workers.tracker import DEFAULT_POOL, LocalWorkers, WorkerTracker
from noetl.worker.background_fetches import BackgroundFetches
from noetl.worker.launcher import AsyncLauncher
from noetl.worker.output import OutputWriter
from noetl.worker.worker import Launcher, Worker
from noetl_ir.events import Event
from noetl_ir.orders import Answer, Order, Said
from noetl_ir.records import NamedTuple

if TYPE_CHECKING:
    from noetl.app.adapters import ClusterBus
    from noetl.app.measuring import EventMeasures
    from noetl.app.runtime import Runtime, Settings
    from noetl.app.worker_cache import WorkerCache
    from noetl.host.measures import Measures
    from noetl.server.orders import Shares
    from noetl.server.service import Service
    from noetl.server.workers.registry import WorkerRegistry
    from noetl.worker.scripted import ScriptedLauncher, Signal, VirtualClock


class _Times(NamedTuple):
    """The clocks of a process: `clock` gives the times of events, `steady` measures how long anything takes or
    waits.
    """

    clock: Clock
    steady: Clock


class Driver(NamedTuple):
    """The driver of an owned execution."""

    execution_id: str
    embedded: Embedded
    launcher: AsyncLauncher | ScriptedLauncher
    control: ControlPlane

    @property
    def execution(self) -> Execution:
        """Its state."""
        return self.control.executions[self.execution_id].execution


class Server(NamedTuple):
    """The driver of all executions of a store, and the workers elsewhere that it knows of, where its workers are."""

    service: Service
    registry: WorkerRegistry | None


class WorkerOptions(NamedTuple):
    """Where a worker works: the bus, the URLs of servers (none: those of this machine that announce themselves), its
    pool, its name, and the file of its credential store."""

    bus: str
    servers: tuple[str, ...]
    pool: str
    name: str
    secrets_path: str


class BusWorker(NamedTuple):
    """A worker of a bus, and the launcher of its tools."""

    worker: Worker
    launcher: AsyncLauncher


@contextmanager
def driver_of(runtime: Runtime, execution_id: str, observe: EventObserver) -> Iterator[Driver]:
    """Own an execution and hold what drives it; raises Owned while another process does."""
    with ExitStack() as owning:
        runtime.keep(lambda: owning.enter_context(runtime.store.own(execution_id)))
        driver = _driver(runtime, execution_id, observe)
        try:
            yield driver
        finally:
            # Tools end before the execution is let go: its next owner would order again what still runs here.
            driver.launcher.close()
            driver.control.close()


def server_of(
    runtime: Runtime,
    bus: ClusterBus | None,
    changed: Callable[[str], None],
    say: Callable[[str], None],
    asked: Container[str] | None = None,
) -> Server:
    """The driver of every execution of a runtime: with the workers of a bus, or with one in the same thread (None).

    `changed` is called with the execution that has a new event. Of executions that it did not start, only those that
    are `asked` for are taken up, where that is said.
    """
    from noetl.app.measuring import EventMeasures
    from noetl.host.measures import Measures

    measures = Measures()
    events = EventMeasures(measures)
    if bus is None:
        return _with_local_worker(runtime, changed, say, asked, measures, events)
    return _with_bus(runtime, bus, changed, say, measures, events)


def bus_worker_of(
    options: WorkerOptions, settings: Settings, bus: ClusterBus, cache: WorkerCache, fetches: BackgroundFetches,
    say: Callable[[str], None],
) -> BusWorker:  # fmt: skip
    """A worker of a bus, which has plans and values from servers, by way of its cache."""
    from noetl.worker.heartbeats import Heartbeats

    times = _Times(WallClock(), SteadyClock())
    environments = TaskEnvironments(
        cache.program, cache.blobs, root=str(settings.root), secrets_path=options.secrets_path,
        chance=unforeseen(), log=settings.log, fence=settings.fence, requirements=settings.requirements,
        fetches=fetches, output=OutputWriter(cache.add_output), tracing=settings.tracing,
    )  # fmt: skip
    launcher = _launcher(environments, times)
    worker = Worker(
        bus, pool=options.pool, slots=settings.slots, launcher=launcher, program_of=environments.program_of,
        context_of=environments.context_of, clock=times.clock, steady=times.steady, fetches=fetches,
        name=options.name, heartbeats=Heartbeats(bus, bus, MonotonicClock()), blobs=cache.blobs, say=say,
    )  # fmt: skip
    bus.listen(launcher.wake)
    return BusWorker(worker, launcher)


def unforeseen() -> Callable[[], float]:
    """Chance that nobody can foretell."""
    return fraction


def _unchanging() -> Callable[[], float]:
    """Chance that is the same in every run of a script."""
    # The same script gives the same run, chance of retries included; a seed of the time would make a test that fails
    # now and then.
    from random import Random

    return Random(0).random


def _driver(runtime: Runtime, execution_id: str, observe: EventObserver) -> Driver:
    settings, script = runtime.settings, runtime.settings.script
    virtual: VirtualClock | None = None
    if script is not None or runtime.was_scripted(execution_id):
        from noetl.app.script_letters import logs_under
        from noetl.worker.scripted import VirtualClock  # most runs have no script

        virtual = VirtualClock()
        logs = [*logs_under(runtime, execution_id)]
        log = logs[0]
        # A run on a virtual clock that is resumed goes on where its log, and those of its children, end. From 0 its
        # timers would lie ahead, and times would run backwards.
        virtual.move_to(max((event.ts for each in logs for event in each), default=0))
    if virtual is not None and script is not None:
        from noetl.app.script_letters import left_of

        script = left_of(script, log, virtual.now())
    times = _Times(WallClock(), SteadyClock()) if virtual is None else _Times(virtual, virtual)
    chance = unforeseen() if virtual is None else _unchanging()
    bus = _local_bus(settings, times)
    store_retry = StoreRetry(settings.store_timeout, settings.say)
    tracker = LocalWorkers(DEFAULT_POOL, settings.limits)
    said: deque[str] = deque(maxlen=1)
    # No threads on a virtual clock: the order in which fetches come would then decide what a run does.
    fetches = BackgroundFetches(0) if virtual is not None else None
    environments = _local_environments(runtime, chance, _local_output(runtime, beside=virtual is None), fetches)
    control = _control(
        runtime, bus, tracker, observe, times, store_retry, say=said.append, secrets=KnownSecrets(environments),
        wall=WallClock() if virtual is not None else None,
    )  # fmt: skip
    real = _launcher(environments, times)
    launcher: AsyncLauncher | ScriptedLauncher = real
    if virtual is not None and script is not None:
        from noetl.worker.scripted import ScriptedLauncher

        launcher = ScriptedLauncher(script, virtual, real, _signalling(control, execution_id))
    worker = _local_worker(settings, bus, environments, launcher, times, store_retry)
    waiter: WaitingLauncher = launcher if settings.tick is None else Ticking(launcher, settings.tick)
    if virtual is None:  # tools go on meanwhile
        store_retry.wait = lambda: _pass_pause(waiter, times.steady)
    embedded = Embedded(
        Parts(runtime.store, runtime.blobs, bus, times.clock, waiter, control, worker, store_retry, said)
    )
    return Driver(execution_id, embedded, launcher, control)


def _with_local_worker(
    runtime: Runtime, changed: Callable[[str], None], say: Callable[[str], None], asked: Container[str] | None,
    measures: Measures, events: EventMeasures,
) -> Server:  # fmt: skip
    from noetl.app.measuring import MeasuredKeep
    from noetl.server.service import Service

    settings, times, store_retry = runtime.settings, _Times(WallClock(), SteadyClock()), StoreRetry(math.inf, say)
    bus = _local_bus(settings, times)
    environments = _local_environments(runtime, unforeseen(), _local_output(runtime, changed))
    observe_any = _observer(runtime, events, changed, say)

    def observe(execution: Execution, program: Program, event: Event) -> None:
        if execution.is_over:
            environments.forget(execution.execution_id)
        observe_any(execution, program, event)

    def skips(execution_id: str) -> bool:
        return (asked is not None and execution_id not in asked) or runtime.was_scripted(execution_id)

    control = _control(
        runtime, bus, LocalWorkers(DEFAULT_POOL, settings.limits), observe, times, store_retry, say=say,
        secrets=KnownSecrets(environments), keep=MeasuredKeep(store_retry, measures), shares=_shares(runtime, times),
    )  # fmt: skip
    launcher = _launcher(environments, times)
    worker = _local_worker(settings, bus, environments, launcher, times, store_retry)
    control.orders.open_lane = worker.add_lane
    service = Service(
        control, store=runtime.store, worker=worker, waiter=launcher, clock=times.steady,
        load=runtime.programs.load, skips=skips, say=say, store_retry=store_retry,
        look=runtime.check_room, measures=measures, oldest_orders=events.oldest_orders,
    )  # fmt: skip
    return Server(service, None)


def _with_bus(
    runtime: Runtime, bus: ClusterBus, changed: Callable[[str], None], say: Callable[[str], None],
    measures: Measures, events: EventMeasures,
) -> Server:  # fmt: skip
    import os

    from noetl.app.idle import IdleWorker, Sleeper
    from noetl.app.measuring import MeasuredKeep
    from noetl.server.service import Service
    from noetl.server.workers.leases import Leases
    from noetl.server.workers.macs import Macs
    from noetl.server.workers.registry import WorkerRegistry
    from noetl.server.workers.remote import RemoteWorkers

    times, monotonic, sleeper = _Times(WallClock(), SteadyClock()), MonotonicClock(), Sleeper()
    store_retry = StoreRetry(math.inf, say)
    # The name tells this process from every other, also from one of the same machine before a restart, whose last
    # words may still come.
    registry = WorkerRegistry(bus, bus, monotonic, os.urandom(8).hex())
    tracker = RemoteWorkers(Leases(monotonic), registry, Macs(runtime.store.claims_key))
    control = _control(
        runtime, bus, tracker, _observer(runtime, events, changed, say), times, store_retry, batching=EVERY_ROUND,
        say=say, secrets=OwnSecrets(runtime.store.claims_key), keep=MeasuredKeep(store_retry, measures),
        shares=_shares(runtime, times),
    )  # fmt: skip
    control.orders.open_lane = registry.open_lane
    bus.listen(sleeper.wake)
    service = Service(
        control, store=runtime.store, worker=IdleWorker(), waiter=sleeper, clock=times.steady,
        load=runtime.programs.load, skips=runtime.was_scripted, say=say, reaches=lambda: bus.room(STOPS) > 0,
        store_retry=store_retry, look=runtime.check_room, measures=measures, oldest_orders=events.oldest_orders,
    )  # fmt: skip
    return Server(service, registry)


def _observer(
    runtime: Runtime, events: EventMeasures, changed: Callable[[str], None], say: Callable[[str], None]
) -> EventObserver:
    """Counts each event, has it in the log where that is wanted, and tells who waits for it."""
    from noetl.app.lifecycle_lines import LifecycleLines

    lifecycle = LifecycleLines(say) if runtime.settings.tells_lifecycle else None

    def observe(execution: Execution, program: Program, event: Event) -> None:
        events.observe(execution, program, event)
        if lifecycle is not None:
            lifecycle.observe(execution, program, event)
        changed(execution.execution_id)

    return observe


def _control(
    runtime: Runtime,
    bus: Bus[Order, Said, Answer],
    tracker: WorkerTracker,
    observe: EventObserver,
    times: _Times,
    store_retry: StoreRetry,
    *,
    secrets: SignalRedactor,
    wall: Clock | None = None,
    batching: Batching = BEFORE_EFFECTS,
    say: Callable[[str], None] = lambda text: None,
    keep: Keep | None = None,
    shares: Shares | None = None,
) -> ControlPlane:
    return ControlPlane(
        bus, store=runtime.store, blobs=runtime.blobs, clock=times.clock, steady=times.steady, wall=wall,
        find=runtime.programs.find, load=runtime.programs.load, observe=observe, tracker=tracker,
        environment=runtime.settings.environment.variables_for, say=say, keep=keep or store_retry,
        batching=EVERY_EVENT if runtime.settings.every_event else batching, secrets=secrets, shares=shares,
    )  # fmt: skip


def _shares(runtime: Runtime, times: _Times) -> Shares | None:
    """The shares of namespaces; a process that drives one execution looks for none."""
    from noetl.ports.namespaces import Namespaced
    from noetl.server.namespaces.shares import NamespaceShares

    store = runtime.store
    if not isinstance(store, Namespaced):
        return None
    return NamespaceShares(lambda: store.namespaces.rows(), times.steady, runtime.settings.limits)


def _local_bus(settings: Settings, times: _Times) -> MemoryBus[Order, Said, Answer]:
    """The bus to the worker of this process. Its queues are short: what has no slot waits where priorities order it."""
    bus: MemoryBus[Order, Said, Answer] = MemoryBus(capacity=2 * settings.slots, clock=times.steady)
    for pool, most in settings.limits.items():
        bus.limit(pool, most)
    return bus


def _local_environments(
    runtime: Runtime, chance: Callable[[], float], output: OutputWriter, fetches: BackgroundFetches | None = None
) -> TaskEnvironments:
    settings = runtime.settings
    return TaskEnvironments(
        lambda digest, needs: runtime.programs.load(digest), lambda needs: runtime.blobs,
        root=str(settings.root), secrets_path=runtime.secrets_path,
        chance=chance, log=settings.log, fence=settings.fence, requirements=settings.requirements,
        fetches=fetches or BackgroundFetches(), output=output, secrets=settings.secrets,
        tracing=None if settings.script is not None else settings.tracing,
    )  # fmt: skip


def _local_output(
    runtime: Runtime, changed: Callable[[str], None] = lambda execution_id: None, *, beside: bool = True
) -> OutputWriter:
    """Keeps output in the store of a runtime. On a virtual clock there is no thread, as for fetches."""

    def add(chunks: Sequence[OutputChunk]) -> None:
        runtime.outputs.add_chunks(chunks)
        for name in {chunk.execution_id for chunk in chunks}:
            changed(name)

    return OutputWriter(add, beside=beside)


def _launcher(environments: TaskEnvironments, times: _Times) -> AsyncLauncher:
    """The launcher of real tools. A fetch that is over ends its wait."""
    launcher = AsyncLauncher(environments.env_of, times.steady, environments.output_writer)
    environments.fetches.listen(launcher.wake)
    return launcher


def _local_worker(
    settings: Settings,
    bus: Bus[Order, Said, Answer],
    environments: TaskEnvironments,
    launcher: Launcher,
    times: _Times,
    store_retry: StoreRetry,
) -> Worker:
    """The only worker that there is: it takes the orders of all pools."""
    return Worker(
        bus, pool=DEFAULT_POOL, slots=settings.slots, limited=settings.limits, launcher=launcher,
        program_of=environments.program_of, context_of=environments.context_of, clock=times.clock, steady=times.steady,
        fetches=environments.fetches, failed=store_retry.failed,
    )  # fmt: skip


def _pass_pause(waiter: WaitingLauncher, clock: Clock) -> None:
    waiter.pass_time(clock.now() + round(PAUSE * 1_000_000))


def _signalling(control: ControlPlane, execution_id: str) -> Callable[[Signal], None]:
    """Where the signals of a script go."""
    from noetl.app.script_letters import letter_of
    from noetl.worker.scripted import BEFORE

    def send(signal: Signal) -> None:
        if not signal.key:
            control.ask(execution_id, Ask("signal", None, {"name": signal.name, "data": signal.data}))
        elif (owned := control.executions.get(execution_id)) is not None:
            with suppress(MailboxFull):  # told at the end, as any other that no wait got
                control.post(owned, letter_of(owned.execution, signal), signal.at if signal.at == BEFORE else None)

    return send
