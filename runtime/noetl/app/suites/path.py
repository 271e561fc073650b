"""The path that a run took, for people: each step that ran, with how its tasks ended and what was decided then."""

from __future__ import annotations

from noetl.app.suites.running import Ran
from noetl_ir.events import Event, index_of, step_run_of
from noetl_ir.expr import Json

MOST_LINES, MOST_ENDS = 40, 12
"""Lines of a path that are told, and ends of tasks on one line; of more the first and the last."""


def path_of(ran: Ran) -> tuple[str, ...]:
    """One line for each run of a step, in their order: `12:5 start: call_service error http.status → retry`."""
    plan = ran.program.plan
    lines: dict[str, list[str]] = {}
    heads: dict[str, str] = {}
    for event in ran.log:
        run = step_run_of(event.run)
        if event.event_type == "step.scheduled":
            step = plan.steps[event.step]
            heads[run], lines[run] = (f"{step.span} {step.name}" if step.span.line else step.name), []
        elif (
            event.event_type in ("task.done", "retry.started") and run in lines and not plan.tasks[event.task].generated
        ):
            lines[run].append(_end(ran, event))
        elif event.event_type == "step.failed" and run in lines and not event.data.get("level"):
            lines[run].append("failed")
    return _shortened([f"{heads[run]}: {_row(ends)}" if ends else heads[run] for run, ends in lines.items()])


def _end(ran: Ran, event: Event) -> str:
    name = ran.program.plan.tasks[event.task].name
    index = "".join(f"[{number}]" for number in index_of(event.run))
    outcome: Json = event.data.get("outcome")
    error = outcome.get("error") if isinstance(outcome, dict) else None
    code = f" {error.get('code')}" if isinstance(error, dict) and error.get("code") else ""
    directive = str(event.data.get("directive"))
    how = "" if directive == "continue" else f" → {directive}"
    return f"{name}{index} {event.data.get('status')}{code}{how}"


def _row(ends: list[str]) -> str:
    if len(ends) > MOST_ENDS:
        half = MOST_ENDS // 2
        ends = [*ends[:half], f"… {len(ends) - MOST_ENDS} more …", *ends[-half:]]
    return ", ".join(ends)


def _shortened(lines: list[str]) -> tuple[str, ...]:
    if len(lines) > MOST_LINES:
        half = MOST_LINES // 2
        lines = [*lines[:half], f"… {len(lines) - MOST_LINES} more steps …", *lines[-half:]]
    return tuple(lines)
