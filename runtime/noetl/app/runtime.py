"""The embedded runtime behind a store URL: what `noetl run`, `resume` and the other commands work with."""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from itertools import islice
from pathlib import Path
from types import FunctionType, MappingProxyType

from noetl import own
from noetl.app.clock import SteadyClock, WallClock
from noetl.app.embedded import Embedded, Parts, Ticking, Waiter
from noetl.app.identities import IDS
from noetl.app.programs import Programs
from noetl.app.task_environment import Log, TaskEnvironments
from noetl.background import BackgroundFetches
from noetl.bus.memory import MemoryBus
from noetl.deployment import learn_file
from noetl.engine.execution import Execution
from noetl.engine.program import Program
from noetl.environment import NO_ENVIRONMENT, Environment
from noetl.patience import LONGEST, PAUSE, Patience
from noetl.ports import Blobs, Clock, Fence, Store, StoreFailure
from noetl.server.control import ControlPlane, Observer
from noetl.server.execution import Ask, Keep, at_once, hydrate
from noetl.server.workers.tracker import DEFAULT_POOL, LocalWorkers
from noetl.worker.launcher import AsyncLauncher
from noetl.worker.scripted import Script, ScriptedLauncher, Signal, VirtualClock
from noetl.worker.worker import Worker
from noetl_ir import registry
from noetl_ir.commands import Answer, Command, Said
from noetl_ir.events import Event
from noetl_ir.rows import NamedTuple

DEFAULT_STORE = "sqlite:///.noetl/noetl.db"
DEFAULT_SLOTS = 64
_MODULES = {"https": "http", "postgresql": "postgres"}
"""Schemes whose adapter has another name."""


class Settings(NamedTuple):
    """How to run. `folders` is the catalogue, `root` what tools' paths stay inside."""

    folders: tuple[Path, ...] = ()
    root: Path = Path(".")
    slots: int = DEFAULT_SLOTS
    limits: Mapping[str, int] = MappingProxyType({})
    """How many pipelines of a pool are at work at once, where there is a limit."""
    script: Script | None = None
    log: Log = lambda call, text: None
    fence: Fence | None = None
    """Where the http tool may connect to; everywhere when there is none."""
    environment: Environment = NO_ENVIRONMENT
    """What workloads may read of the environment."""
    tick: Callable[[], None] | None = None
    """Called whenever the driver is about to wait, at least five times a second while it does."""
    patience: float = LONGEST
    """Seconds that a run waits for a store that takes nothing."""
    say: Callable[[str], None] = lambda text: None
    """Hears that a run waits for that."""
    waits: bool = False
    """Whether room is waited for from the first file on: of a store, of its plans, of who owns an execution."""


def bus_of(settings: Settings, clock: Clock) -> MemoryBus[Command, Said, Answer]:
    """The bus to the worker of this process. Its queues are short: what has no slot waits where priorities order it."""
    bus: MemoryBus[Command, Said, Answer] = MemoryBus(capacity=2 * settings.slots, clock=clock)
    for pool, most in settings.limits.items():
        bus.limit(pool, most)
    return bus


class Runtime:
    """A store with everything that drives executions in it. `keep` has stored what is before a drive begins."""

    def __init__(
        self,
        store: Store,
        blobs: Blobs,
        secrets_path: str,
        settings: Settings,
        compiler: Callable[[Path], bytes],
        keep: Keep = at_once,
    ) -> None:
        self.keep = keep
        self.store = store
        self.secrets_path = secrets_path
        self.blobs = blobs
        self.settings = settings
        self.programs = Programs(store, settings.folders, compiler)

    def new_execution_id(self) -> str:
        """An id that no execution of the store has; later ones are greater."""
        return IDS.draw(lambda drawn: self.store.execution(drawn) is not None)

    @contextmanager
    def driver(self, execution_id: str, observe: Observer) -> Iterator[Driver]:
        """Own an execution and hold what drives it; raises Owned while another process does."""
        with ExitStack() as owning:
            self.keep(lambda: owning.enter_context(self.store.own(execution_id)))
            driver = self._assemble(execution_id, observe)
            try:
                yield driver
            finally:
                driver.launcher.close()
                driver.control.close()

    def events(self, execution_id: str, after: int = 0) -> Iterator[tuple[int, Event]]:
        """The log of an execution with positions; raises codec.CodecError, KeyError, StoreFailure."""
        for record in self.store.read(execution_id, after):
            yield record.position, hydrate(record, self.blobs)

    def check_room(self, suspected: bool) -> None:
        """Raises NoRoom where there is none for events or values (`Store.check_room`)."""
        self.store.check_room(suspected=suspected)
        self.blobs.check_room(suspected=suspected)

    def was_scripted(self, execution_id: str) -> bool:
        """Whether a script stood in for tools when the execution began, so that its times are virtual."""
        return any(event.data.get("scripted") is True for _, event in islice(self.events(execution_id), 1))

    def program_of(self, execution_id: str) -> Program:
        """The program that an execution runs; raises NotFound, LookupError."""
        row = self.store.execution(execution_id)
        if row is None:
            raise LookupError(f"there is no execution `{execution_id}` in this store")
        return self.programs.load(row.plan_digest)

    def _assemble(self, execution_id: str, observe: Observer) -> Driver:
        settings = self.settings
        script = settings.script
        virtual = VirtualClock() if script is not None or self.was_scripted(execution_id) else None
        if virtual is not None:
            log = [event for _, event in self.events(execution_id)]
            virtual.move_to(max((event.ts for event in log), default=0))
        if script is not None:
            sent = sum(event.event_type == "signal.received" and "row" not in event.data for event in log)
            script = script._replace(signals=script.signals[sent:])
        clock: Clock = virtual or WallClock()
        steady: Clock = virtual or SteadyClock()
        bus = bus_of(settings, steady)
        chance = random.Random(0).random if virtual is not None else random.SystemRandom().random
        patience = Patience(settings.patience, settings.say)
        control = ControlPlane(
            bus, store=self.store, blobs=self.blobs, clock=clock, steady=steady,
            tracker=LocalWorkers(DEFAULT_POOL, settings.limits),
            find=self.programs.find, load=self.programs.load, observe=observe,
            wall=WallClock() if virtual is not None else None, environment=settings.environment.given, keep=patience,
        )  # fmt: skip
        environments = TaskEnvironments(
            self.programs.load,
            self.blobs,
            root=str(settings.root),
            secrets_path=self.secrets_path,
            chance=chance,
            log=settings.log,
            fence=settings.fence,
            fetches=BackgroundFetches() if virtual is None else None,
        )
        real = AsyncLauncher(environments.env_of, steady)
        environments.fetches.listen(real.wake)
        launcher: AsyncLauncher | ScriptedLauncher = real
        if virtual is not None and script is not None:
            launcher = ScriptedLauncher(script, virtual, real, _signalling(control, execution_id))
        worker = Worker(
            bus, pool=DEFAULT_POOL, slots=settings.slots, limited=settings.limits, launcher=launcher,
            program_of=environments.program_of, context_of=environments.context_of, clock=clock, steady=steady,
            fetches=environments.fetches,
            failed=patience.failed,
        )  # fmt: skip
        waiter: Waiter = launcher if settings.tick is None else Ticking(launcher, settings.tick)
        if virtual is None:  # tools go on meanwhile
            patience.wait = lambda: _wait(waiter, steady)
        embedded = Embedded(Parts(self.store, self.blobs, bus, clock, waiter, control, worker, patience))
        return Driver(execution_id, embedded, launcher, control)


def _wait(waiter: Waiter, clock: Clock) -> None:
    waiter.pass_time(clock.now() + round(PAUSE * 1_000_000))


def _signalling(control: ControlPlane, execution_id: str) -> Callable[[Signal], None]:
    """Where the signals of a script go."""
    return lambda signal: control.ask(execution_id, Ask("signal", None, {"name": signal.name, "data": signal.data}))


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


@contextmanager
def open_runtime(url: str, settings: Settings, compiler: Callable[[Path], bytes]) -> Iterator[Runtime]:
    """Open the store at a URL with the blobs beside it; raises StoreFailure."""
    scheme, _, path = url.partition("://")
    try:
        opener = registry.load("noetl.store", _MODULES.get(scheme, scheme), "open_store", FunctionType)
    except LookupError:
        raise StoreFailure(f"there is no store for `{scheme}`; write sqlite:///PATH or postgresql://…") from None
    keep: Keep = Patience(settings.patience, settings.say) if settings.waits else at_once
    store: Store = keep(lambda: opener(url))
    with ExitStack() as closing:
        closing.callback(store.close)
        is_remote = scheme in ("http", "https")
        secrets = closing.enter_context(_passing_folder()) if is_remote else secrets_path_of(url)
        blobs = _blobs(scheme, path)
        closing.callback(blobs.close)
        yield Runtime(store, blobs, secrets, settings, compiler, keep)


def guard(url: str) -> None:
    """Keep tools from the files of a store and of its secrets."""
    store = secrets_path_of(url).removesuffix(".credentials")
    own.keep(store)
    learn_file(f"{store}.credentials.key")


def narrowed(url: str) -> tuple[str, ...]:
    """Keep others from the files of a store that was opened; those that they could use until now."""
    return own.narrow(secrets_path_of(url).removesuffix(".credentials"))


@contextmanager
def _passing_folder() -> Iterator[str]:
    """Where the secrets of a store lie that leaves nothing behind: their file goes with it."""
    from tempfile import TemporaryDirectory

    with TemporaryDirectory(prefix="noetl-") as folder:
        yield os.path.join(folder, "credentials")


def secrets_path_of(url: str) -> str:
    """The file of the credential store that belongs to a store; of one that is no file, what belongs to the default."""
    scheme, _, path = url.partition("://")
    if scheme != "sqlite":
        return secrets_path_of(DEFAULT_STORE)
    return f"{path[1:] or 'noetl'}.credentials"


def _blobs(scheme: str, path: str) -> Blobs:
    """The reference store beside the database."""
    name, url = "memory", "memory:"
    if scheme == "sqlite":
        name, url = "files", f"files:///{path[1:]}.blobs"
    elif scheme in ("http", "https", "postgresql", "postgres"):
        name, url = _MODULES.get(scheme, scheme), f"{scheme}://{path}"
    opener = registry.load("noetl.store", name, "open_blobs", FunctionType)
    blobs: Blobs = opener(url)
    return blobs
