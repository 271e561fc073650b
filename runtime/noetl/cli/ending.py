"""How a run ended, for people and as JSON, and the exit code that says it."""

from __future__ import annotations

from typing import NamedTuple

import click

from noetl.app.runtime import Runtime
from noetl.cli.failures import failure_text, located, place_text
from noetl.cli.stores import command_with, events_of, path_of
from noetl.cli.text import amount, duration, escaped, json_text
from noetl.engine.execution import Execution
from noetl.engine.program import Program
from noetl.engine.views import plain_result
from noetl_ir.events import iso_of
from noetl_ir.expr import Json
from noetl_ir.outcome import is_reference

EXIT_CODES = {"completed": 0, "failed": 1, "blocked": 4, "cancelled": 4, "paused": 5, "interrupted": 5, "running": 5}
_LINES = 40


class Ending(NamedTuple):
    """What there is to say at the end. `error` of a failure, `reason` of any other end that needs one.

    `result` only of a completed execution: what a step came to before a failure is no outcome of the whole.
    `scripted`: times are those of a virtual clock.
    """

    execution_id: str
    status: str
    playbook: str
    result: Json
    error: Json
    reason: str | None
    started: int | None
    ended: int | None
    counts: dict[str, int]
    scripted: bool

    def as_json(self) -> dict[str, Json]:
        """One document; times as RFC 3339."""
        return {
            "execution_id": self.execution_id,
            "status": self.status,
            "playbook": self.playbook,
            "result": self.result,
            "error": self.error,
            "reason": self.reason,
            "started": iso_of(self.started) if self.started is not None else None,
            "ended": iso_of(self.ended) if self.ended is not None else None,
            "counts": dict(self.counts),
            "scripted": self.scripted,
        }


def ending_of(runtime: Runtime, program: Program, execution: Execution, status: str) -> Ending:
    """How an execution stands at the end of this command; a large result is its reference."""
    error, reason = execution.failure, None
    if execution.is_over:
        for _, event in events_of(runtime, execution.execution_id, max(execution.position - 2, 0)):
            if event.event_type == "workflow.finished":
                found = event.data.get("error")
                error = found if isinstance(found, dict) else error
                reason = str(event.data["reason"]) if "reason" in event.data else None
    return Ending(
        execution.execution_id,
        status,
        program.plan.path or program.plan.name,
        bare(plain_result(execution.last_result)) if status == "completed" else None,
        located(program, error),
        reason,
        None if execution.status == "new" else execution.started,
        execution.ended,
        execution.counts,
        execution.scripted,
    )


def bare(value: Json) -> Json:
    """A result whose references hold nothing but the reference."""
    if isinstance(value, dict) and is_reference(value):
        return {key: part for key, part in value.items() if key != "projected"}
    if isinstance(value, list):
        return [bare(part) for part in value]
    return value


def tell(ending: Ending, url: str, *, as_json: bool) -> int:
    """Print how it ended; returns the exit code."""
    if as_json:
        click.echo(json_text(ending.as_json()))
    else:
        _tell_people(ending, url)
    return EXIT_CODES[ending.status]


def _tell_people(ending: Ending, url: str) -> None:
    counts = [amount(ending.counts["tasks"], "task")]
    for name, noun in (("retries", "retry"), ("passed_errors", "passed error")):
        if ending.counts[name]:
            counts.append(amount(ending.counts[name], noun))
    after = ""
    if ending.ended is not None and ending.started is not None:
        virtual = " on a virtual clock" if ending.scripted else ""
        after = f" after {duration(ending.ended - ending.started)}{virtual}"
    click.echo(f"{ending.status}: {escaped(ending.playbook)}{after}, {', '.join(counts)}")
    if ending.error is not None:
        click.echo(f"error: {place_text(ending.error)}{failure_text(ending.error)}")
    if ending.reason:
        click.echo(f"reason: {escaped(ending.reason)}")
    if ending.result is not None:
        click.echo(_result_text(ending, url))
    click.echo(f"log: {escaped(path_of(url))}, execution {ending.execution_id}")
    if EXIT_CODES[ending.status] == EXIT_CODES["interrupted"]:
        click.echo(f"resume with: {escaped(command_with(url, 'resume', ending.execution_id))}")


def _result_text(ending: Ending, url: str) -> str:
    """The result on one line where it fits there, else the beginning of its long form."""
    more = escaped(command_with(url, "result", ending.execution_id))
    if isinstance(ending.result, dict) and is_reference(ending.result):
        return f"result: {ending.result.get('size')} bytes, stored outside of the log ({more})"
    short = json_text(ending.result)
    if len(short) <= 100:
        return f"result: {short}"
    lines = json_text(ending.result, indent=2).split("\n")
    shown = [line if len(line) <= 1000 else f"{line[:1000]}…" for line in lines[:_LINES]]
    rest = [f"… {len(lines) - _LINES} more lines ({more})"] if len(lines) > _LINES else []
    return "\n".join(["result:", *shown, *rest])
