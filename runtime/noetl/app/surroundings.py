"""What the sessions and tools of each execution have around them: results, secrets, a root folder, a log."""

from collections.abc import Callable, Mapping
from weakref import WeakValueDictionary

from noetl.app.vault import Vault
from noetl.engine.program import Program
from noetl.errands import Errands, Held, NotYet
from noetl.ports import Blobs, Call, Fence
from noetl.recent import Recent
from noetl.server.children import NotFound
from noetl.worker.results import OwnValues, Results
from noetl.worker.session import Kit
from noetl_ir.commands import RunPipeline
from noetl_ir.expr import Json

Log = Callable[[Call, str], None]
"""Hears a line that a task wrote: for people, never for the event log."""


KEPT = 1_000
"""How many executions something is kept of beyond what sessions have; of others it is made again."""


class Surroundings:
    """Finds what belongs to an execution. `load` gives the program of a digest; `secrets_path` is the credential
    store's file. What takes long is an errand of `errands`."""

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
        errands: Errands | None = None,
    ) -> None:
        self.errands = errands or Errands(0)
        self._load = load
        self._blobs = blobs
        self._root = root
        self._secrets_path = secrets_path
        self._chance = chance
        self._log = log
        self._fence = fence
        self._kits: Recent[str, Kit] = Recent(KEPT)
        self._vaults: WeakValueDictionary[str, Vault] = WeakValueDictionary()  # a kit has its vault

    def program_of(self, order: RunPipeline) -> Program:
        """The program that an order is about. Raises KeyError where there is none, StoreFailure."""
        try:
            return self._load(order.digest)
        except NotFound as problem:
            raise KeyError(str(problem)) from None

    def kit_of(self, order: RunPipeline) -> Kit:
        """What the sessions of its execution share."""
        name = order.execution_id
        kit = self._kits.get(name)
        if kit is None:
            program = self.program_of(order)
            vault = self._vaults.get(name)
            if vault is None:
                vault = self._vaults[name] = Vault(
                    program, name, order.workload, path=self._secrets_path, root=self._root, fence=self._fence,
                    brings=self.errands.brought,
                )  # fmt: skip
            results = Results(program.plan, name, self._blobs, vault.redact)
            kit = Kit(results, vault.names, vault.restore, self._chance)
        self._kits[name] = kit  # again: what was not asked for longest goes first
        return kit

    def forget(self, execution_id: str) -> None:
        """It is over: keep nothing for it."""
        self._kits.pop(execution_id, None)

    def env_of(self, call: Call) -> "TaskEnv":
        """The surroundings of one call."""
        vault = self._vaults[call.execution_id]
        owned = OwnValues(call.execution_id, self._blobs)
        return TaskEnv(vault, owned, self._root, lambda text: self._log(call, text), self._fence, self.errands)


class TaskEnv:
    """`noetl.ports.Env` for one call."""

    __slots__ = ("_errands", "_fence", "_log", "_owned", "_root", "_vault")

    def __init__(
        self,
        vault: Vault,
        owned: OwnValues,
        root: str,
        log: Callable[[str], None],
        fence: Fence | None,
        errands: Errands,
    ) -> None:
        self._errands = errands
        self._owned = owned
        self._fence = fence
        self._vault = vault
        self._root = root
        self._log = log

    async def credential(self, name: str) -> dict[str, Json]:
        held: Held = {}
        while True:
            self._errands.serve(held)
            try:
                return self._vault.credential(name)
            except NotYet as wait:
                await wait.errand.over()

    def root(self) -> str:
        return self._root

    def fence(self) -> Fence | None:
        return self._fence

    def holds_secret(self, text: str) -> bool:
        return self._vault.redact(text) != text

    def stored(self, reference: Mapping[str, Json]) -> Json:
        return self._owned.value(reference)

    def log(self, text: str) -> None:
        self._log(str(self._vault.redact(text)))
