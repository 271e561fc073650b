"""A store with its programs and values: what every command that reads or drives executions works with."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import partial
from itertools import islice
from threading import Lock
from types import MappingProxyType
from typing import TYPE_CHECKING

from noetl.app.adapters import open_blobs, open_outputs, open_store, secrets_beside
from noetl.app.identities import IDS
from noetl.app.programs import CompileFile, Programs
from noetl.app.task_environment import TaskLog
from noetl.engine.program import Program
from noetl.host.environment import NO_ENVIRONMENT, Environment
from noetl.ports import Blobs, Fence, Store
from noetl.ports.output import Outputs
from noetl.server.journal import Keep, at_once
from noetl.server.store_retry import LONGEST, StoreRetry
from noetl.server.stored_events import hydrate
from noetl_ir.events import Event
from noetl_ir.records import NamedTuple

if TYPE_CHECKING:
    from pathlib import Path

    from noetl.host.trace_sampling import Tracing
    from noetl.secrets.only_these import Secrets
    from noetl.worker.scripted import Script

DEFAULT_SLOTS = 64


class Settings(NamedTuple):
    """How to run. `folders` is the catalogue, `root` what tools' paths stay inside."""

    folders: tuple[Path, ...] = ()
    root: Path | str = "."
    slots: int = DEFAULT_SLOTS
    limits: Mapping[str, int] = MappingProxyType({})
    """How many pipelines of a pool are at work at once, where there is a limit."""
    script: Script | None = None
    log: TaskLog = lambda call, text: None
    fence: Fence | None = None
    """Where the http tool may connect to; everywhere when there is none."""
    requirements: bool = True
    """Whether packages may be installed for python tasks."""
    environment: Environment = NO_ENVIRONMENT
    """The environment variables that workloads may read."""
    tick: Callable[[], None] | None = None
    """Called whenever the driver is about to wait, at least five times a second while it does."""
    store_timeout: float = LONGEST
    """Seconds that a run waits for a store that takes nothing."""
    say: Callable[[str], None] = lambda text: None
    """Called with a line about a run that waits for the store."""
    every_event: bool = False
    """Whether each turn is on disk before the next one, instead of before what leaves the process."""
    secrets: Secrets | None = None
    """The secrets of a test, where there are no others."""
    tells_lifecycle: bool = False
    """Whether the log of a server says what becomes of executions."""
    tracing: Tracing | None = None
    """How traces are made; None for not at all."""
    waits: bool = False
    """Whether room is waited for from the first file on: of a store, of its plans, of who owns an execution."""


class Runtime:
    """A store with what drives executions in it needs. `keep` has stored what is before a drive begins."""

    def __init__(
        self,
        store: Store,
        blobs: Blobs,
        secrets_path: str,
        settings: Settings,
        compiler: CompileFile,
        outputs: Callable[[], Outputs],
        keep: Keep = at_once,
    ) -> None:
        self.keep = keep
        self._open_outputs = outputs
        self._outputs: Outputs | None = None
        self._lock = Lock()
        self.store = store
        self.secrets_path = secrets_path
        self.blobs = blobs
        self.settings = settings
        self.programs = Programs(store, settings.folders, compiler)

    @property
    def outputs(self) -> Outputs:
        """The output of tasks. Opened when it is first asked for: most runs neither have nor read any."""
        with self._lock:
            if self._outputs is None:
                self._outputs = self._open_outputs()
            return self._outputs

    def close_outputs(self) -> None:
        """Close what was opened for `outputs`."""
        if self._outputs is not None:
            self._outputs.close()

    def new_execution_id(self) -> str:
        """An id that no execution of the store has; later ones are greater."""
        return IDS.draw(lambda drawn: self.store.execution(drawn) is not None)

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


@contextmanager
def open_runtime(url: str, settings: Settings, compiler: CompileFile) -> Iterator[Runtime]:
    """Open the store at a URL with the blobs beside it; raises StoreFailure."""
    keep: Keep = StoreRetry(settings.store_timeout, settings.say) if settings.waits else at_once
    store: Store = keep(lambda: open_store(url))
    with ExitStack() as closing:
        # Registered as soon as it is open: what fails after it must not leave the store open.
        closing.callback(store.close)
        secrets = closing.enter_context(secrets_beside(url))
        blobs = open_blobs(url)
        closing.callback(blobs.close)
        runtime = Runtime(store, blobs, secrets, settings, compiler, partial(open_outputs, url), keep)
        closing.callback(runtime.close_outputs)
        yield runtime
