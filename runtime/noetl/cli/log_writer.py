"""The log of a command that stays: lines on standard error, for people or as JSON, an object a line."""

from __future__ import annotations

import time

from noetl.cli.text import escaped, json_text
from noetl.host.log_lines import LEVELS, LogLevel, LogLine
from noetl.host.process_secrets import masked
from noetl_cli import lazy_click as click
from noetl_ir.events import iso_of
from noetl_ir.expr import Json
from noetl_ir.trace_ids import trace_id_of


class LogWriter:
    """Writes lines at a level and above. For people a line is its text alone; as JSON it has its time, level and
    message, and the ids of the execution that it is about.
    """

    def __init__(self) -> None:
        self.format = "text"
        self.level: LogLevel = "info"

    def write(self, text: str) -> None:
        """Write a line; one without a level is a warning."""
        line = text if isinstance(text, LogLine) else LogLine(text)
        if LEVELS.index(line.level) < LEVELS.index(self.level):
            return
        # Masked first: an escape in the middle of a secret would hide it from the mask, and not from a reader.
        message = masked(line)
        if self.format == "text":
            of_task = f"{line.execution_id} {line.step} / {line.task}: " if line.task else ""
            click.echo(escaped(of_task + message), err=True)
            return
        told: dict[str, Json] = {"time": iso_of(time.time_ns() // 1000), "level": line.level, "message": message}
        if line.execution_id:
            told |= {"execution_id": line.execution_id, "trace_id": trace_id_of(line.execution_id)}
        if line.task:
            told |= {"step": line.step, "task": line.task}
        click.echo(json_text(told), err=True)
