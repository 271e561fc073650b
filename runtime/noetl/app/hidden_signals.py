"""The secrets of executions in what signals bring, where those who drive them have the secrets too.

A server with a bus has none: they are with its workers. It hides what it was given for itself alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from noetl.app.task_environment import TaskEnvironments
from noetl.engine.execution import Execution
from noetl.engine.program import Program
from noetl.host import process_secrets
from noetl.ports.needs import HERE, Waiting
from noetl_ir.evaluate import Fault
from noetl_ir.expr import Json


class KnownSecrets:
    """`SignalRedactor` of executions whose tasks run here: what a task's outcome is redacted with."""

    def __init__(self, environments: TaskEnvironments) -> None:
        self._environments = environments
        self._learning: dict[str, Waiting[Json]] = {}

    def is_ready(self, execution: Execution, program: Program, brought: Sequence[Json]) -> bool:
        """Whether all declared secrets are here; those of the network are fetched beside the driver."""
        name, environments = execution.execution_id, self._environments
        learning = self._learning.get(name)
        if learning is None:
            needs = environments.fetches.needs()
            work = needs.met(lambda: environments.redact(execution, program, [*brought], needs))
            learning = self._learning[name] = Waiting(work)
        try:
            if not learning.step():
                return False
        except Fault:  # `redact` raises it where it ends the execution, and not the driver
            pass
        del self._learning[name]
        return True

    def redact(self, execution: Execution, program: Program, brought: Json) -> Json:
        """The values with markers. A secret that is not here after all is waited for."""
        return self._environments.redact(execution, program, brought, HERE)

    def forget(self, execution_id: str) -> None:
        """Nobody wants any more that which is being fetched for an execution."""
        if (learning := self._learning.pop(execution_id, None)) is not None:
            learning.close()


class OwnSecrets:
    """`SignalRedactor` of a process that has no secrets of executions. `key` is one that no worker opens markers by."""

    def __init__(self, key: Callable[[], bytes]) -> None:
        self._key = key

    def is_ready(self, execution: Execution, program: Program, brought: Sequence[Json]) -> bool:
        """Always."""
        return True

    def redact(self, execution: Execution, program: Program, brought: Json) -> Json:
        """The values with markers for what the process was given for itself."""
        known = process_secrets.secrets()
        if not known:
            return brought
        from noetl.secrets.keys import execution_key
        from noetl.worker.redaction import Redactor, forms_in

        if not forms_in(brought, tuple(known)):
            return brought
        redactor = Redactor(execution_key(self._key(), execution.execution_id), _refused)
        redactor.learn((process_secrets.ENTRY, name, text) for text, name in known.items())
        return redactor.redact(brought)

    def forget(self, execution_id: str) -> None:
        """Nothing is fetched here."""


def _refused(entry: str, field: str) -> Json:
    raise KeyError(f"{field} is what this deployment was given for itself: no task may use it")
