"""The environment of each execution's sessions and tools: results, secrets, a root folder, a log."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, TypeVar
from weakref import WeakValueDictionary

from noetl.app.secret_resolver import SecretResolver
from noetl.bounded_table import BoundedTable
from noetl.engine.execution import Execution
from noetl.engine.program import Program
from noetl.ports import Blobs, Fence, ToolCall
from noetl.ports.needs import Needs
from noetl.ports.output import OutputChunk
from noetl.server.children import NotFound
from noetl.worker.background_fetches import BackgroundFetches, in_asyncio
from noetl.worker.output import OutputWriter, TaskOutput
from noetl.worker.results import OwnValues, Results
from noetl.worker.session import SessionContext
from noetl_ir.expr import Json
from noetl_ir.orders import RunPipeline

if TYPE_CHECKING:
    from noetl.host.trace_sampling import Tracing
    from noetl.secrets.only_these import Secrets

_T = TypeVar("_T")
TaskLog = Callable[[ToolCall, str], None]
"""Hears a line that a task wrote: for people, never for the event log."""


KEPT = 1_000
"""How many executions something is kept of beyond what sessions have; of others it is made again."""


class TaskEnvironments:
    """Makes the context of each session, and the environment of each call.

    `secrets_path` is the credential store's file. `load` gives the program of a digest and `blobs` the values outside
    of logs, each for the needs of one asker; whatever takes long is fetched by `fetches`. `requirements` tells whether
    packages may be installed for python tasks, `secrets` which there are in a test. `output` has what tasks print kept;
    without it, only `log` hears of it. `tracing` says how what a call sends is traced.
    """

    def __init__(
        self,
        load: Callable[[str, Needs], Program],
        blobs: Callable[[Needs], Blobs],
        *,
        root: str,
        secrets_path: str,
        chance: Callable[[], float],
        log: TaskLog,
        fence: Fence | None = None,
        requirements: bool = True,
        fetches: BackgroundFetches | None = None,
        output: OutputWriter | None = None,
        secrets: "Secrets | None" = None,
        tracing: "Tracing | None" = None,
    ) -> None:
        self._tracing = tracing
        self._secrets = secrets
        self.fetches = fetches or BackgroundFetches(0)
        self.output_writer = output
        self._load = load
        self._blobs = blobs
        self._root = root
        self._secrets_path = secrets_path
        self._chance = chance
        self._log = log
        self._fence = fence
        self._requirements = requirements
        self._kept: BoundedTable[str, SecretResolver] = BoundedTable(KEPT)
        self._resolvers: WeakValueDictionary[str, SecretResolver] = WeakValueDictionary()  # a session has its resolver

    def program_of(self, order: RunPipeline, needs: Needs) -> Program:
        """The program that an order is about. Raises KeyError where there is none, StoreFailure, Absent."""
        try:
            return self._load(order.digest, needs)
        except NotFound as problem:
            raise KeyError(str(problem)) from None

    def context_of(self, order: RunPipeline, program: Program, needs: Needs) -> SessionContext:
        """The results and secrets of its execution, as a session with these needs has them."""
        secrets = self._secrets_of(order.execution_id, program, order.workload)
        results = Results(program.plan, order.execution_id, self._blobs(needs), partial(secrets.redact, needs=needs))
        return SessionContext(
            results, partial(secrets.entries, needs), partial(secrets.restore, needs=needs), self._chance, needs
        )

    def redact(self, execution: Execution, program: Program, value: Json, needs: Needs) -> Json:
        """A value from outside without the secrets that an execution knows. Raises Fault, Absent."""
        secrets = self._secrets_of(execution.execution_id, program, execution.workload)
        secrets.look_again(needs)
        return secrets.redact(value, needs)

    def _secrets_of(self, name: str, program: Program, workload: dict[str, Json]) -> SecretResolver:
        # The recent ones are kept by force, all others by weak reference for as long as a session has them. Two
        # resolvers of one execution would know different secrets, and one would not hide what the other learnt.
        secrets = self._kept.get(name) or self._resolvers.get(name)
        if secrets is None:
            secrets = self._resolvers[name] = SecretResolver(
                program,
                name,
                workload,
                path=self._secrets_path,
                root=self._root,
                fence=self._fence,
                only=self._secrets,
            )
        self._kept[name] = secrets  # again: what was not asked for longest goes first
        return secrets

    def forget(self, execution_id: str) -> None:
        """An execution is over: keep nothing for it."""
        self._kept.pop(execution_id, None)

    def env_of(self, call: ToolCall) -> "TaskEnvironment":
        """The environment of one call."""
        # A call only runs within a session, which holds the resolver: it is there.
        secrets = self._resolvers[call.execution_id]
        return TaskEnvironment(
            secrets,
            self._blobs,
            self._root,
            self._log,
            self._fence,
            self._requirements,
            call,
            self.output_writer,
            self._tracing,
        )


class TaskEnvironment:
    """`noetl.ports.Env` for one call."""

    __slots__ = (
        "_blobs",
        "_call",
        "_fence",
        "_log",
        "_output",
        "_requirements",
        "_root",
        "_secrets",
        "_tracing",
        "_writer",
    )

    def __init__(
        self,
        secrets: SecretResolver,
        blobs: Callable[[Needs], Blobs],
        root: str,
        log: TaskLog,
        fence: Fence | None,
        requirements: bool,
        call: ToolCall,
        writer: OutputWriter | None,
        tracing: "Tracing | None" = None,
    ) -> None:
        self._tracing = tracing
        self._secrets = secrets
        self._blobs = blobs
        self._root = root
        self._log = log
        self._fence = fence
        self._requirements = requirements
        self._call = call
        self._writer = writer
        self._output: TaskOutput | None = None

    async def credential(self, name: str) -> dict[str, Json]:
        return await self.met(lambda: self._secrets.credential(name, self._call.needs))

    async def met(self, compute: Callable[[], _T]) -> _T:
        return await in_asyncio(self._call.needs.met(compute))

    def traceparent(self) -> str:
        return "" if self._tracing is None else self._tracing.header_of(self._call)

    def root(self) -> str:
        return self._root

    def fence(self) -> Fence | None:
        return self._fence

    def may_install(self) -> bool:
        return self._requirements

    def holds_secret(self, text: str) -> bool:
        return self._secrets.redact(text, self._call.needs) != text

    def stored(self, reference: Mapping[str, Json]) -> Json:
        return OwnValues(self._call.execution_id, self._blobs(self._call.needs)).value(reference)

    def log(self, text: str) -> None:
        self._task_output().take_line(text)

    def output(self, stream: str, data: bytes, *, told: bool = False) -> None:
        if data or self._output is not None:  # of most tasks there is none
            self._task_output().write(stream, data, told=told)

    def redacted(self, text: str) -> str:
        """A text without the secrets that the execution knows."""
        return str(self._secrets.redact(text, self._call.needs))

    def finished(self, text: str) -> int:
        """How much of a text that goes on can be redacted now."""
        return self._secrets.finished(text, self._call.needs)

    def _task_output(self) -> TaskOutput:
        if self._output is None:
            put = self._writer.put if self._writer is not None else _drop
            self._output = TaskOutput(self._call, self, put, partial(self._log, self._call))
        return self._output


def _drop(chunk: OutputChunk) -> None:
    """Nothing is kept."""
