"""The secrets of an execution in what signals bring: hidden before it is recorded, as in outcomes of tasks.

Law: a signal is recorded with its secrets hidden or not at all. One whose execution cannot know its secrets yet stays
in the inbox, and what was asked behind it too.
"""

from collections.abc import Sequence
from typing import Final, Protocol

from noetl.engine.execution import Execution
from noetl.engine.program import Program
from noetl_ir.expr import Json


class SignalRedactor(Protocol):
    """Hides the secrets that executions know."""

    def is_ready(self, execution: Execution, program: Program, brought: Sequence[Json]) -> bool:
        """Whether these values can be redacted now; what is lacking for that is being fetched."""
        ...

    def redact(self, execution: Execution, program: Program, brought: Json) -> Json:
        """The values with a marker for each secret. Raises Fault where no marker can be made."""
        ...

    def forget(self, execution_id: str) -> None:
        """The execution is over, or not driven here any more: what is being fetched for it is not wanted."""
        ...


class _NoSecrets:
    """`SignalRedactor`."""

    def is_ready(self, execution: Execution, program: Program, brought: Sequence[Json]) -> bool:
        return True

    def redact(self, execution: Execution, program: Program, brought: Json) -> Json:
        return brought

    def forget(self, execution_id: str) -> None:
        pass


NO_SECRETS: Final = _NoSecrets()
"""Of executions that know no secret."""
