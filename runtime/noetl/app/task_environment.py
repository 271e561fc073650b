"""The environment of each execution's sessions and tools: results, secrets, a root folder, a log."""

from collections.abc import Callable, Mapping
from weakref import WeakValueDictionary

from noetl.app.secret_resolver import SecretResolver
from noetl.background import BackgroundFetches, Held, Pending
from noetl.engine.program import Program
from noetl.ports import Blobs, Call, Fence
from noetl.recent import Recent
from noetl.server.children import NotFound
from noetl.worker.results import OwnValues, Results
from noetl.worker.session import SessionContext
from noetl_ir.commands import RunPipeline
from noetl_ir.expr import Json

Log = Callable[[Call, str], None]
"""Hears a line that a task wrote: for people, never for the event log."""


KEPT = 1_000
"""How many executions something is kept of beyond what sessions have; of others it is made again."""


class TaskEnvironments:
    """Finds what belongs to an execution. `load` gives the program of a digest; `secrets_path` is the credential
    store's file. What takes long is an fetch of `fetches`."""

    def __init__(
        self,
        load: Callable[[str], Program],
        blobs: Blobs,
        *,
        root: str,
        secrets_path: str,
        chance: Callable[[], float],
        log: Log,
        fence: Fence | None = None,
        fetches: BackgroundFetches | None = None,
    ) -> None:
        self.fetches = fetches or BackgroundFetches(0)
        self._load = load
        self._blobs = blobs
        self._root = root
        self._secrets_path = secrets_path
        self._chance = chance
        self._log = log
        self._fence = fence
        self._contexts: Recent[str, SessionContext] = Recent(KEPT)
        self._resolvers: WeakValueDictionary[str, SecretResolver] = WeakValueDictionary()  # a session has its resolver

    def program_of(self, order: RunPipeline) -> Program:
        """The program that an order is about. Raises KeyError where there is none, StoreFailure."""
        try:
            return self._load(order.digest)
        except NotFound as problem:
            raise KeyError(str(problem)) from None

    def context_of(self, order: RunPipeline) -> SessionContext:
        """The part that the sessions of its execution share."""
        name = order.execution_id
        context = self._contexts.get(name)
        if context is None:
            program = self.program_of(order)
            secrets = self._resolvers.get(name)
            if secrets is None:
                secrets = self._resolvers[name] = SecretResolver(
                    program, name, order.workload, path=self._secrets_path, root=self._root, fence=self._fence,
                    brings=self.fetches.brought,
                )  # fmt: skip
            results = Results(program.plan, name, self._blobs, secrets.redact)
            context = SessionContext(results, secrets.names, secrets.restore, self._chance)
        self._contexts[name] = context  # again: what was not asked for longest goes first
        return context

    def forget(self, execution_id: str) -> None:
        """An execution is over: keep nothing for it."""
        self._contexts.pop(execution_id, None)

    def env_of(self, call: Call) -> "TaskEnvironment":
        """The surroundings of one call."""
        secrets = self._resolvers[call.execution_id]
        owned = OwnValues(call.execution_id, self._blobs)
        return TaskEnvironment(
            secrets, owned, self._root, lambda text: self._log(call, text), self._fence, self.fetches
        )


class TaskEnvironment:
    """`noetl.ports.Env` for one call."""

    __slots__ = ("_fence", "_fetches", "_log", "_owned", "_root", "_secrets")

    def __init__(
        self,
        secrets: SecretResolver,
        owned: OwnValues,
        root: str,
        log: Callable[[str], None],
        fence: Fence | None,
        fetches: BackgroundFetches,
    ) -> None:
        self._fetches = fetches
        self._owned = owned
        self._fence = fence
        self._secrets = secrets
        self._root = root
        self._log = log

    async def credential(self, name: str) -> dict[str, Json]:
        held: Held = {}
        while True:
            self._fetches.serve(held)
            try:
                return self._secrets.credential(name)
            except Pending as wait:
                await wait.fetch.over()

    def root(self) -> str:
        return self._root

    def fence(self) -> Fence | None:
        return self._fence

    def holds_secret(self, text: str) -> bool:
        return self._secrets.redact(text) != text

    def stored(self, reference: Mapping[str, Json]) -> Json:
        return self._owned.value(reference)

    def log(self, text: str) -> None:
        self._log(str(self._secrets.redact(text)))
