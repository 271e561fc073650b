"""The meaning of an event for somebody who watches: one sentence, or none."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from noetl.app.error_places import located
from noetl.app.picture import Activity, place_of
from noetl.cli.failures import at_text, failure_text
from noetl.cli.text import amount, duration, escaped
from noetl.engine.event_data import texts_of
from noetl.engine.execution import Execution
from noetl.engine.program import Program
from noetl_ir.events import Event
from noetl_ir.expr import Json
from noetl_ir.records import NamedTuple

_Say: TypeAlias = Callable[[Execution, Program, Event], str]


class Sentence(NamedTuple):
    """A sentence for the watcher. `matters` says that it is told even when very much happens."""

    text: str
    matters: bool


def row_text(row: Activity, now: int) -> str:
    """A row of the picture on one line, with the time that is left."""
    left = f" in {duration(row.due - now)}" if row.due is not None else ""
    return escaped(f"{row.place}: {row.text}") + left


def sentence_of(execution: Execution, program: Program, event: Event) -> Sentence | None:
    """The sentence of an event, just folded into `execution`; None where there is nothing to tell."""
    # Most events say nothing to a person: they are told by the one that ends them.
    found = _SENTENCES.get(event.event_type)
    if found is None:
        return None
    text = found(execution, program, event)
    if not text:
        return None
    # Lines of a child stand among those of its caller, and both may have a step of one name.
    child = f"{escaped(program.plan.path or program.plan.name)}: " if execution.parent else ""
    return Sentence(child + text, event.event_type in _MATTERS)


def _here(program: Program, event: Event) -> str:
    return escaped(place_of(program, event.step, event.run, event.task))


def _said(words: str) -> _Say:
    return lambda execution, program, event: f"{_here(program, event)}: {words}"


def _loop_started(_: Execution, program: Program, event: Event) -> str:
    n, m = event.data.get("n"), event.data.get("m")
    if event.data.get("level"):
        return ""
    many = amount(n, "iteration") if isinstance(n, int) else "iterations"
    return f"{_here(program, event)}: {many}" + (f", {m} at a time" if n and m != 1 else "")


def _loop_done(_: Execution, program: Program, event: Event) -> str:
    stats = event.data.get("stats")
    if event.data.get("level") or not isinstance(stats, dict):
        return ""
    return f"{_here(program, event)}: done, {counts_text(stats)}"


def _loop_enough(_: Execution, program: Program, event: Event) -> str:
    stats = event.data.get("stats")
    if event.data.get("level") or "error" in event.data or not isinstance(stats, dict):
        return ""
    return f"{_here(program, event)}: enough, {counts_text(stats)}"


def _loop_closed(_: Execution, program: Program, event: Event) -> str:
    name, by = event.data.get("name"), event.data.get("by")
    if event.data.get("level") or by not in ("signal", "timer"):
        return ""  # what it follows from is told
    what = "completed" if event.data.get("complete") else "no more items"
    return f"{_here(program, event)}: {what}, by the {by} {escaped(str(name))}"


def counts_text(stats: Mapping[str, object]) -> str:
    """The counts of a loop: `9 of 10 ok, 1 failed`."""
    others = [f"{stats[name]} {name}" for name in ("failed", "skipped") if stats.get(name)]
    return ", ".join([f"{stats.get('ok')} of {stats.get('total')} ok", *others])


def _failed(execution: Execution, program: Program, event: Event) -> str:
    """A failure is told once: here, or by what it becomes the failure of, at the end of that."""
    error = event.data.get("error")
    if event.event_type == "loop.iteration.failed":
        loop = execution.loops.get(event.run.rpartition("/")[0])
        # The first failure of a loop is told at its end, as what its step fails of. A step that does its best does
        # not fail, so there it is told here.
        told_later = not program.plan.steps[event.step].best_effort and (loop is None or loop.cause == error)
    else:
        told_later = _is_the_end(execution, error)
    return f"{_here(program, event)}: failed" if told_later else f"{_here(program, event)}: {_why(program, error)}"


def _is_the_end(execution: Execution, error: Json) -> bool:
    """Whether an error is the one that the last line of the command tells."""
    return execution.parent is None and execution.failure == error


def _why(program: Program, error: Json) -> str:
    at = at_text(located(program, error))
    return f"failed {at}: {failure_text(error)}" if at else f"failed: {failure_text(error)}"


def _task_done(_: Execution, program: Program, event: Event) -> str:
    if not event.data.get("passed_error"):
        return ""
    outcome = event.data.get("outcome")
    error = outcome.get("error") if isinstance(outcome, dict) else None
    return f"{_here(program, event)}: goes on after an error: {failure_text(error)}"


def _task_started(_: Execution, program: Program, event: Event) -> str:
    unsaid = event.data.get("utc")
    if not isinstance(unsaid, list):
        return ""
    names = ", ".join(f"`{escaped(str(name))}`" for name in unsaid)
    return f"{_here(program, event)}: the time of {names} has no offset and is read as UTC"


def _missed(_: Execution, program: Program, event: Event) -> str:
    return f"nothing hears the signal {escaped(str(event.data.get('name')))}: it is missed"


def _returned(_: Execution, program: Program, event: Event) -> str:
    return f"the wait that had the signal {escaped(str(event.data.get('name')))} is over: it goes back to the mailbox"


def _retry(_: Execution, program: Program, event: Event) -> str:
    wait, outcome = event.data.get("wait"), event.data.get("outcome")
    error = outcome.get("error") if isinstance(outcome, dict) else None
    why = f" after {failure_text(error)}" if error else ""
    later = f" in {duration(round(wait * 1_000_000))}" if isinstance(wait, int | float) and wait else ""
    return f"{_here(program, event)}: attempt {event.attempt + 1}{later}{why}"


def _cancelled(execution: Execution, program: Program, event: Event) -> str:
    beginning = execution.runs.get(str(event.data.get("by")))
    by = f" by `{escaped(program.plan.steps[beginning.step].name)}`" if beginning is not None else ""
    return f"{_here(program, event)}: cancelled{by}"


def _ended(execution: Execution, program: Program, event: Event) -> str:
    """A token ended by a step that ends all, or by an arc that could not be evaluated; other failures were told when
    they came up.
    """
    if "ends" in event.data:
        return f"{_here(program, event)}: ends the execution as {escaped(str(event.data['ends']))}"
    error = event.data.get("error")
    if not isinstance(error, dict) or "arc" not in error:
        return ""
    told = "" if _is_the_end(execution, error) else f": {_why(program, error)}"
    return f"{_here(program, event)}: an arc could not be evaluated{told}"


def _end(event: Event) -> str:
    status = escaped(str(event.data["status"]))
    return {"cancelled": "was cancelled", "blocked": "is blocked"}.get(status, status)


def _listed(event: Event) -> str:
    holders = event.data.get("holders")
    return ", ".join(escaped(str(one)) for one in holders) if isinstance(holders, list) and holders else "nobody now"


def _phase_ended(_: Execution, program: Program, event: Event) -> str:
    """A phase behind main is over: what it failed of is told here alone, since the status stays that of main."""
    error, reason = event.data.get("error"), event.data.get("reason")
    phase = escaped(str(event.data["phase"]))
    if isinstance(error, dict) and event.data["status"] == "failed":
        return f"{phase} {_why(program, error)}"
    why = f": {_why(program, error)}" if isinstance(error, dict) else f": {escaped(str(reason))}" if reason else ""
    return f"{phase} {_end(event)}{why}"


def _undone(execution: Execution, program: Program, event: Event) -> str:
    """A compensation that failed; what it failed of was told where it came up."""
    if event.data["status"] == "completed":
        return ""
    key = str(event.data["run"])
    run = execution.runs.get(key.partition("/")[0])
    step = f"`{escaped(program.plan.steps[run.step].name)}`" if run is not None else escaped(key)
    return f"the run of {step} was not undone: its compensation {_end(event)}"


def _kept_out(_: Execution, program: Program, event: Event) -> str:
    """A token waits at a gate: for locks, or for its rules. Who holds a lock may be over when this is read."""
    names = event.data.get("locks")
    locks = [f"`{escaped(str(name))}`" for name in names] if isinstance(names, list) else []
    return f"{_here(program, event)}: waits at its gate{' for the lock ' + ' and '.join(locks) if locks else ''}"


_SENTENCES: dict[str, _Say] = {
    "step.started": _said("started"),
    "step.done": _said("done"),
    "step.failed": _failed,
    "step.cancelled": _cancelled,
    "loop.started": _loop_started,
    "loop.enough": _loop_enough,
    "loop.closed": _loop_closed,
    "loop.done": _loop_done,
    "loop.iteration.failed": _failed,
    "task.started": _task_started,
    "task.done": _task_done,
    "task.lost": _said("the attempt was cut off and runs again"),
    "retry.started": _retry,
    "token.rejected": _said("not admitted"),
    "token.waiting": _kept_out,
    "token.ended": _ended,
    "signal.missed": _missed,
    "signal.returned": _returned,
    "phase.started": lambda execution, program, event: (
        f"main {_end(event)}: {escaped(str(event.data['phase']))} begins"
    ),
    "phase.ended": _phase_ended,
    "compensation.started": lambda execution, program, event: f"{escaped(str(event.data['step']))}: is undone",
    "compensation.done": _undone,
    "playbook.queued": lambda execution, program, event: (
        f"waits for a place under `{escaped(str(event.data['key']))}`, held by {_listed(event)}"
    ),
    "playbook.refused": lambda execution, program, event: (
        f"got no place under `{escaped(str(event.data['key']))}`, held by {_listed(event)}"
    ),
    "playbook.paused": lambda execution, program, event: "paused",
    "playbook.resumed": lambda execution, program, event: "resumed",
    "playbook.retried": lambda execution, program, event: "tried again",
    "playbook.rerun": lambda execution, program, event: (
        f"goes on from {escaped(str(event.data['of']))}, with {amount(int(str(event.data['kept'])), 'task')} of it"
    ),
    "playbook.migrated": lambda execution, program, event: (
        f"goes on under the plan {escaped(str(event.data['to'])[:12])}, before {escaped(str(event.data['from'])[:12])}"
    ),
    "migration.refused": lambda execution, program, event: (
        f"stays with its plan: {escaped('; '.join(texts_of(event.data['why'])))}"
    ),
    "playbook.cancelled": lambda execution, program, event: "cancelled",
}
OFTEN = frozenset({"step.started", "step.done"})
"""Events of each step, which have a sentence that does not matter: it is not put together where it is not shown."""

_MATTERS = frozenset(
    {
        "step.failed",
        "signal.missed",
        "phase.ended",
        "compensation.done",
        "playbook.paused",
        "playbook.resumed",
        "playbook.cancelled",
    }
)
