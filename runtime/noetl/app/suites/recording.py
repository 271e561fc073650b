"""A case made of a real execution (`noetl test --record`): what its tools came to, what reached it, and how it ended.

All of it is read from the log, where secrets are hidden but for those that inputs bring. Tasks without effects and
those of kinds that run for real in tests are left to run; the outcomes of the others are written down, each for its
own attempt.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import TypeAlias

from noetl.app.recorded_secrets import secrets_here
from noetl.app.runtime import Runtime
from noetl.app.script_letters import letters_in
from noetl.app.snapshots import Snapshot, UnreadableExecution, events_of, fetched, result_of, snapshot_of
from noetl.app.suites.inventing import InventedSecrets
from noetl.app.suites.step_runs import numbers_of, steps_of
from noetl.app.suites.writing import WrittenCase, suite_text
from noetl.ports import ExecutionRow
from noetl.ports.mailbox import KEEP_FOR
from noetl.ports.needs import HERE
from noetl_ir.evaluate import Fault
from noetl_ir.events import Event, index_of, step_run_of
from noetl_ir.expr import Json, Literal
from noetl_ir.kinds import Kind, seconds_of
from noetl_ir.plan import Plan
from noetl_ir.registry import load
from noetl_ir.suite import PURE_KINDS, REAL_KINDS

CALL = "playbook"
LEFT_TO_RUN = frozenset((*PURE_KINDS, *REAL_KINDS))
_Attempt: TypeAlias = tuple[str, int, int, int]
"""The step run with its iteration, the number of the task in the plan, its visit, its attempt."""


def recorded_suite(runtime: Runtime, row: ExecutionRow) -> str:
    """The file of tests of an execution that has ended. Raises UnreadableExecution."""
    snapshot = snapshot_of(runtime, row)
    plan = snapshot.program.plan
    log = [event for _, event in events_of(runtime, row.execution_id)]
    begun = log[0].ts
    request = log[0].data.get("payload")
    expect: dict[str, Json] = {"status": row.status}
    steps: list[Json] = [*steps_of(plan, log)]
    expect["steps"] = steps
    failure = snapshot.execution.failure
    if row.status == "failed" and failure is not None:
        expect["error"] = {key: failure[key] for key in ("code", "step", "task") if failure.get(key) is not None}
    if row.status == "completed" and snapshot.execution.has_result:
        expect["result"] = result_of(runtime, row, None)
    called = called_in(log, plan)
    invented, hide = InventedSecrets(plan), _hiding(runtime, snapshot)

    def written(value: Json) -> Json:
        return invented.instead_of_markers(hide(value))

    payload, told = written(request), written(expect)
    case = WrittenCase(
        f"execution {row.execution_id}",
        str(written(_remark(called))),
        payload if isinstance(payload, dict) else {},
        [written(each) for each in _outcomes(runtime, snapshot, log)],
        [written(each) for each in _signals(runtime, row.execution_id, log, begun)],
        told if isinstance(told, dict) else {},
        "As it was: hold it against what it should be.",
    )
    head = f"Recorded from execution {row.execution_id} of {plan.path or plan.name}."
    if invented.keychain:
        head += "\nSecrets are masked in the log: those here are invented."
    return suite_text(head, plan.source, [case], keychain=invented.keychain)


def called_in(log: list[Event], plan: Plan) -> tuple[str, ...]:
    """The playbooks that an execution called, each with its step: the path as the call has it."""
    found: dict[str, None] = {}
    for event in log:
        if event.event_type == "task.started" and plan.tasks[event.task].kind == CALL:
            call = event.data.get("call")
            path = call.get("path") if isinstance(call, dict) else None
            step = plan.steps[event.step].name
            found[f"`{path}` (step `{step}`)" if isinstance(path, str) else f"that of step `{step}`"] = None
    return tuple(found)


def _remark(called: tuple[str, ...]) -> str:
    """Words for the head of a case that called playbooks; "" of one that did not."""
    if not called:
        return ""
    shown = ", ".join(called[:_MOST]) + (f" and {len(called) - _MOST} more" if len(called) > _MOST else "")
    return (
        f"It called playbooks whose logs are their own: {shown}.\n"
        "Their outcomes are not recorded: write those of their steps and tasks below, before this can pass."
    )


_MOST = 5
"""The calls that a remark names."""


def _hiding(runtime: Runtime, snapshot: Snapshot) -> Callable[[Json], Json]:
    """Hides what the log has in clear of the secrets that are here: inputs, and signals of a server with a bus."""
    secrets = secrets_here(runtime, snapshot)

    def hide(value: Json) -> Json:
        try:
            return secrets.redact(value, HERE)
        except Fault as fault:  # without a key nothing can be hidden
            raise UnreadableExecution(fault.message) from None

    return hide


def _outcomes(runtime: Runtime, snapshot: Snapshot, log: list[Event]) -> Iterator[Json]:
    plan = snapshot.program.plan
    numbers = numbers_of(log)
    open_: dict[_Attempt, dict[str, Json]] = {}
    for event in log:
        if event.event_type in ("task.started", "task.done", "retry.started"):
            task = plan.tasks[event.task]
            if task.generated or task.kind in LEFT_TO_RUN or _is_parked(task.kind):
                continue
            attempt = (event.run, event.task, event.visit, event.attempt)
            place = _place(plan, event, numbers.get(step_run_of(event.run), 1))
            if event.event_type == "task.started":
                open_[attempt] = place
            else:
                open_.pop(attempt, None)
                yield {**place, **_outcome(runtime, snapshot, event)}
    # What was stopped came to nothing: in a test it takes longer than the whole run did, so that it is stopped again.
    longer = math.ceil((log[-1].ts - log[0].ts) / 1_000_000) + 1
    for place in open_.values():
        yield {**place, "takes": longer}


def _is_parked(kind: str) -> bool:
    """Whether no outcome of a script stands in for tasks of a kind, as they wait outside of any worker."""
    return load("noetl_ir.kinds", kind, "KIND", Kind).parks


def _place(plan: Plan, event: Event, run: int) -> dict[str, Json]:
    """The attempt, said in full: what is left out would fit later runs and visits, too."""
    row: dict[str, Json] = {"step": plan.steps[event.step].name, "task": plan.tasks[event.task].name, "run": run}
    if index := index_of(event.run):
        row["index"] = [*index]
    return {**row, "visit": event.visit, "attempt": event.attempt}


def _outcome(runtime: Runtime, snapshot: Snapshot, event: Event) -> dict[str, Json]:
    envelope = event.data.get("outcome")
    outcome: dict[str, Json] = dict(envelope) if isinstance(envelope, dict) else {}
    meta = outcome.pop("meta", None)
    if outcome.get("error") is None:
        outcome.pop("error", None)
    if "result" in event.data:
        outcome["result"] = fetched(runtime, snapshot, event.data["result"])
    took = meta.get("duration") if isinstance(meta, dict) else None
    if isinstance(took, int | float) and took > 0:
        return {"takes": min(round(took, 3), _limit(snapshot.program.plan, event)), "outcome": outcome}
    return {"outcome": outcome}


def _limit(plan: Plan, event: Event) -> float:
    """The seconds that an attempt may take, as far as they are written out. One that was done just in time took longer
    until its worker had looked.
    """
    number = plan.tasks[event.task].timeout
    written = plan.templates[number] if number >= 0 else None
    found = seconds_of(written.value) if isinstance(written, Literal) else None
    return math.inf if found is None else found


def _signals(runtime: Runtime, execution_id: str, log: list[Event], begun: int) -> Iterator[Json]:
    """The signals that reached the run itself, and those under a key that it and what it called took, but for those
    that they sent themselves: a test sends these again.
    """
    direct = [event for event in log if event.event_type == "signal.received" and "wait" not in event.data]
    rows: list[tuple[int, Json]] = [(event.ts, {**_came(event.ts, begun), **_brought(event)}) for event in direct]
    for event, key in letters_in(runtime, execution_id):
        rows.append((_posted(event), {"key": key, **_kept(event, begun), **_brought(event)}))
    yield from [row for _, row in sorted(rows, key=lambda each: each[0])]


def _posted(event: Event) -> int:
    """When a signal under a key was posted: a wait takes the oldest one, whenever it opens."""
    since = event.data.get("since")
    return min(since, event.ts) if isinstance(since, int) else event.ts


def _kept(event: Event, begun: int) -> dict[str, Json]:
    """When a signal under a key was posted, and for how long it was kept, where that is longer than is usual."""
    posted = _posted(event)
    came: dict[str, Json] = {"before": True} if posted < begun else _came(posted, begun)
    kept = event.ts - max(posted, begun)
    return came if kept < KEEP_FOR else {**came, "keep_for": kept // 1_000_000 + 1}


def _came(at: int, begun: int) -> dict[str, Json]:
    return {"at": round((at - begun) / 1_000_000, 3)}


def _brought(event: Event) -> dict[str, Json]:
    data = event.data.get("data")
    row: dict[str, Json] = {"name": event.data.get("name")}
    return row if data is None else {**row, "data": data}
