"""The path that a run took: each step that ran, with how its tasks ended and what was decided then."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeVar

from noetl.app.suites.running import Ran
from noetl_ir.events import Event, index_of, step_run_of
from noetl_ir.expr import Json
from noetl_ir.records import NamedTuple
from noetl_ir.span import Span

MOST_STEPS, MOST_ENDS = 40, 12
"""Runs of steps that are kept of a path, and ends of tasks of each; of more the first and the last."""


class TaskEnd(NamedTuple):
    """How an attempt ended, and what was decided then; `code` of its error, or `""`. `iteration` is its index."""

    task: str
    iteration: tuple[int, ...]
    status: str
    code: str
    directive: str


class StepOnPath(NamedTuple):
    """A run of a step. `left_out` counts ends in the middle of `ends` that are not kept."""

    step: str
    span: Span
    ends: tuple[TaskEnd, ...]
    failed: bool
    left_out: int = 0


class PathTaken(NamedTuple):
    """The runs of steps, in their order. `left_out` counts those in the middle that are not kept."""

    steps: tuple[StepOnPath, ...] = ()
    left_out: int = 0


def path_of(ran: Ran) -> PathTaken:
    """The path of a run."""
    plan = ran.program.plan
    found: dict[str, StepOnPath] = {}
    ends: dict[str, list[TaskEnd]] = {}
    for event in ran.log:
        run = step_run_of(event.run)
        if event.event_type == "step.scheduled":
            step = plan.steps[event.step]
            found[run], ends[run] = StepOnPath(step.name, step.span, (), False), []
        elif event.event_type in ("task.done", "retry.started") and run in ends:
            if not plan.tasks[event.task].generated:
                ends[run].append(_end(ran, event))
        elif event.event_type == "step.failed" and run in found and not event.data.get("level"):
            found[run] = found[run]._replace(failed=True)
    steps, left_out = _shortened([_with(step, ends[run]) for run, step in found.items()], MOST_STEPS)
    return PathTaken(tuple(steps), left_out)


def lines_of(path: PathTaken) -> tuple[str, ...]:
    """One line for each run of a step: `12:5 start: call_service error http.status → retry`."""
    lines = [_line(step) for step in path.steps]
    if path.left_out:
        lines.insert(len(lines) // 2, f"… {path.left_out} more steps …")
    return tuple(lines)


def as_json(path: PathTaken) -> Json:
    """The path for another process."""
    steps: list[Json] = []
    for step in path.steps:
        ends: list[Json] = [[end.task, [*end.iteration], end.status, end.code, end.directive] for end in step.ends]
        steps.append([step.step, [*step.span], ends, step.failed, step.left_out])
    return [steps, path.left_out]


def of_json(record: Any) -> PathTaken:
    """The path of such a record."""
    rows, left_out = record
    steps = [
        StepOnPath(name, Span(*span), tuple(TaskEnd(task, tuple(index), *rest) for task, index, *rest in ends), *more)
        for name, span, ends, *more in rows
    ]
    return PathTaken(tuple(steps), left_out)


def _with(step: StepOnPath, ends: list[TaskEnd]) -> StepOnPath:
    kept, left_out = _shortened(ends, MOST_ENDS)
    return step._replace(ends=tuple(kept), left_out=left_out)


def _end(ran: Ran, event: Event) -> TaskEnd:
    outcome: Json = event.data.get("outcome")
    error = outcome.get("error") if isinstance(outcome, dict) else None
    code = str(error["code"]) if isinstance(error, dict) and error.get("code") else ""
    name, data = ran.program.plan.tasks[event.task].name, event.data
    return TaskEnd(name, tuple(index_of(event.run)), str(data.get("status")), code, str(data.get("directive")))


def _line(step: StepOnPath) -> str:
    head = f"{step.span} {step.step}" if step.span.line else step.step
    words = list(_words(step))
    return f"{head}: {', '.join(words)}" if words else head


def _words(step: StepOnPath) -> Iterator[str]:
    for number, end in enumerate(step.ends):
        if step.left_out and number == len(step.ends) // 2:
            yield f"… {step.left_out} more …"
        index = "".join(f"[{each}]" for each in end.iteration)
        how = "" if end.directive == "continue" else f" → {end.directive}"
        yield f"{end.task}{index} {end.status}{f' {end.code}' if end.code else ''}{how}"
    if step.failed:
        yield "failed"


_T = TypeVar("_T")


def _shortened(rows: list[_T], most: int) -> tuple[list[_T], int]:
    """Of many rows the first and the last, and how many are left out between them."""
    half = most // 2
    return (rows, 0) if len(rows) <= most else ([*rows[:half], *rows[-half:]], len(rows) - 2 * half)
