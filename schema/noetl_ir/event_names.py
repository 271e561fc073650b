"""The names and envelopes that older specifications give our events (`noetl events --dialect`).

`case` is case-dialect §5, `formal` is formal §12.2, `extended` is formal-extended §9.2 with its aliases. An event
that a specification has no name for has none here. The names of canonical-v2 and v10 are our own.
"""

from collections.abc import Mapping

from noetl_ir.events import Event
from noetl_ir.expr import Json

DIALECTS = ("case", "formal", "extended")

_CASE = {
    "playbook.execution.requested": "playbook.execution.requested",
    "playbook.request.evaluated": "playbook.request.evaluated",
    "workflow.started": "workflow.started",
    "step.started": "step.started",
    "step.done": "step.finished",
    "step.failed": "step.finished",
    "step.cancelled": "step.finished",
    "task.started": "tool.started",
    "task.done": "tool.processed",
    "retry.started": "retry.started",
    "loop.started": "loop.started",
    "loop.done": "loop.finished",
    "next.selected": "next.evaluated",
    "timer.fired": "timer.fired",
    "workflow.finished": "workflow.finished",
    "playbook.processed": "playbook.processed",
}
_FORMAL = {
    **{ours: name for ours, name in _CASE.items() if ours != "timer.fired"},
    "loop.iteration.started": "loop.iteration.started",
    "loop.iteration.done": "loop.iteration.finished",
    "loop.iteration.failed": "loop.iteration.finished",
    "loop.iteration.skipped": "loop.iteration.finished",
}
_EXTENDED = {
    "playbook.execution.requested": "PlaybookExecutionRequested",
    "playbook.request.evaluated": "PlaybookRequestEvaluated",
    "workflow.started": "WorkflowStarted",
    "step.started": "StepStarted",
    "step.done": "step.exit",
    "loop.done": "step.exit",
    "task.started": "ToolStarted",
    "loop.started": "LoopStarted",
    "loop.iteration.started": "LoopIterationStarted",
    "loop.iteration.done": "LoopIterationCompleted",
    "loop.iteration.failed": "LoopIterationCompleted",
    "loop.iteration.skipped": "LoopIterationCompleted",
    "retry.started": "RetryStarted",
    "next.selected": "NextEvaluated",
    "playbook.paused": "PlaybookPaused",
    "workflow.finished": "WorkflowFinished",
    "playbook.processed": "PlaybookProcessed",
}
_TABLES = {"case": _CASE, "formal": _FORMAL, "extended": _EXTENDED}


_FIELDS = {
    "case": {
        "event_id": "event_id",
        "event_type": "event_type",
        "timestamp": "ts",
        "execution_id": "execution_id",
        "workflow_run_id": "execution_id",
        "step_run_id": "step_run_id",
        "tool_run_id": "task_run_id",
        "entity_type": "entity_type",
        "entity_id": "entity_id",
        "parent_id": "parent_id",
        "action_id": "action_id",
        "attempt": "attempt",
        "iteration": "iteration",
        "page": "page",
        "payload": "payload",
    },
    "formal": {
        "event_id": "event_id",
        "event_type": "event_type",
        "execution_id": "execution_id",
        "timestamp": "ts",
        "entity_type": "entity_type",
        "entity_id": "entity_id",
        "status": "status",
        "payload": "payload",
    },
    "extended": {
        "event_id": "event_id",
        "execution_id": "execution_id",
        "timestamp": "ts",
        "source": "source",
        "name": "event_type",
        "entity": "entity_type",
        "entity_id": "entity_id",
        "status": "status",
        "data": "payload",
    },
}
"""The fields of a dialect in their order, and the field of ours that each is (case-dialect §5.3, formal §12.1,
formal-extended §9.1).
"""
_ENTITIES = {"task": "tool", "iteration": "loop"}


def old_envelope(event: Event, envelope: Mapping[str, Json], dialect: str) -> dict[str, Json] | None:
    """An event's envelope as one of `DIALECTS` has it; None for an event that it has no name for."""
    name = old_name(event, dialect)
    if not name:
        return None
    kind = str(envelope["entity_type"])
    first = event.event_type.partition(".")[0]
    ours = {
        **envelope,
        "event_type": name,
        "entity_type": first if first in ("workflow", "retry") else _ENTITIES.get(kind, kind),
        "status": _old_status(event, str(envelope["status"]), dialect),
    }
    return {theirs: ours[field] for theirs, field in _FIELDS[dialect].items()}


def _old_status(event: Event, status: str, dialect: str) -> str:
    """A status as far as a dialect knows it: `formal` has no pause, `extended` no skipped event."""
    if dialect == "formal" and status == "paused":
        return "in_progress"
    if dialect == "extended" and status == "skipped":
        # An iteration that is left out hinders nothing; a cancelled execution has not done what it was to do.
        return "error" if event.event_type.partition(".")[0] in ("workflow", "playbook") else "success"
    return status


def old_name(event: Event, dialect: str) -> str:
    """The event's name in one of `DIALECTS`, "" where that specification has none."""
    # One event of ours, two of theirs: by how the task ended.
    if dialect == "extended" and event.event_type == "task.done":
        return "ToolCompleted" if event.data.get("status") == "ok" else "ToolErrored"
    return _TABLES[dialect].get(event.event_type, "")
