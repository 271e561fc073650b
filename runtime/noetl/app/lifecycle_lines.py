"""Lines about executions that begin and end, for the log of a server, at the level `debug`."""

from collections.abc import Callable

from noetl.engine.execution import Execution
from noetl.engine.program import Program
from noetl.host.log_lines import log_line
from noetl_ir.events import Event

_TOLD = {
    "playbook.execution.requested": "has begun",
    "playbook.paused": "is paused",
    "playbook.resumed": "goes on",
    "playbook.cancelled": "is cancelled",
    "task.lost": "has lost an attempt with its worker",
}


class LifecycleLines:
    """Says what becomes of executions, once it is on disk; never what they are about."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say

    def observe(self, execution: Execution, program: Program, event: Event) -> None:
        """Take in an event."""
        text = _TOLD.get(event.event_type, "")
        if event.event_type == "workflow.finished":
            text = f"is {execution.status} after {(event.ts - execution.started) / 1e6:.3f} s"
        if text:
            name = program.plan.path or program.plan.name
            line = f"execution {execution.execution_id} of {name} {text}"
            self._say(log_line("debug", line, execution.execution_id))
