"""What the sessions and tools of each execution have around them: results, secrets, a root folder, a log."""

from collections.abc import Callable

from noetl.app.vault import Vault
from noetl.engine.program import Program
from noetl.ports import Blobs, Call, Fence
from noetl.server.control import ControlPlane
from noetl.worker.results import Results
from noetl.worker.session import Kit
from noetl_ir.expr import Json

Log = Callable[[Call, str], None]
"""Hears a line that a task wrote: for people, never for the event log."""


class Surroundings:
    """Finds what belongs to an execution by its id. `secrets_path` is the credential store's file."""

    def __init__(
        self,
        control: ControlPlane,
        blobs: Blobs,
        *,
        root: str,
        secrets_path: str,
        chance: Callable[[], float],
        log: Log,
        fence: Fence | None = None,
    ) -> None:
        self._control = control
        self._blobs = blobs
        self._root = root
        self._secrets_path = secrets_path
        self._chance = chance
        self._log = log
        self._fence = fence
        self._vaults: dict[str, Vault] = {}
        self._kits: dict[str, Kit] = {}

    def program_of(self, execution_id: str) -> Program:
        """The program that an execution runs."""
        return self._control.shells[execution_id].program

    def vault_of(self, execution_id: str) -> Vault:
        """Its secrets."""
        vault = self._vaults.get(execution_id)
        if vault is None:
            shell = self._control.shells[execution_id]
            vault = self._vaults[execution_id] = Vault(
                shell.program, execution_id, shell.execution.workload, path=self._secrets_path, root=self._root
            )
        return vault

    def kit_of(self, execution_id: str) -> Kit:
        """What its sessions share."""
        kit = self._kits.get(execution_id)
        if kit is None:
            vault, program = self.vault_of(execution_id), self.program_of(execution_id)
            results = Results(program.plan, execution_id, self._blobs, vault.redact)
            keychain = vault.names() if program.plan.keychain else {}
            kit = self._kits[execution_id] = Kit(results, keychain, vault.restore, self._chance)
        return kit

    def forget(self, execution_id: str) -> None:
        """It is over: keep nothing for it."""
        self._vaults.pop(execution_id, None)
        self._kits.pop(execution_id, None)

    def env_of(self, call: Call) -> "TaskEnv":
        """The surroundings of one call."""
        vault = self.vault_of(call.execution_id)
        return TaskEnv(vault, self._root, lambda text: self._log(call, text), self._fence)


class TaskEnv:
    """`noetl.ports.Env` for one call."""

    __slots__ = ("_fence", "_log", "_root", "_vault")

    def __init__(self, vault: Vault, root: str, log: Callable[[str], None], fence: Fence | None) -> None:
        self._fence = fence
        self._vault = vault
        self._root = root
        self._log = log

    def credential(self, name: str) -> dict[str, Json]:
        return self._vault.credential(name)

    def root(self) -> str:
        return self._root

    def fence(self) -> Fence | None:
        return self._fence

    def log(self, text: str) -> None:
        self._log(str(self._vault.redact(text)))
