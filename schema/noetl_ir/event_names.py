"""The names that older specifications give our events (`noetl events --dialect`).

`case` is case-dialect §5, `formal` is formal §12.2, `extended` is formal-extended §9.2 with its aliases. An event
that a specification has no name for has none here. The names of canonical-v2 and v10 are our own.
"""

from noetl_ir.events import Event

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


def old_name(event: Event, dialect: str) -> str:
    """The event's name in one of `DIALECTS`, "" where that specification has none."""
    # One event of ours, two of theirs: by how the task ended.
    if dialect == "extended" and event.event_type == "task.done":
        return "ToolCompleted" if event.data.get("status") == "ok" else "ToolErrored"
    return _TABLES[dialect].get(event.event_type, "")
