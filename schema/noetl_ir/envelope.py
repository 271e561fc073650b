"""The envelope of an event: how the log shows an event to the outside (LANGUAGE §8), and its JSON Schema.

An event in the log names steps, tasks and transitions by their index in the plan; the envelope has their names, and
everything else that a reader who does not know the plan wants. It follows from the plan and the event alone.
"""

from noetl_ir.events import WORKER_EVENTS, Event, TokenKeys, action_id_of, index_of, iso_of, step_run_of
from noetl_ir.expr import Json
from noetl_ir.plan import Plan
from noetl_ir.records import NamedTuple
from noetl_ir.span import Span

STATUSES = ("in_progress", "success", "error", "skipped", "paused")
ENTITIES = ("playbook", "step", "loop", "iteration", "task", "token", "timer")

_STATUS_BY_TYPE = {
    "playbook.processed": "success",
    "playbook.paused": "paused",
    "playbook.queued": "paused",
    "playbook.placed": "success",
    "playbook.refused": "skipped",
    "playbook.cancelled": "skipped",
    "token.waiting": "paused",
    "token.joined": "success",
    "token.swallowed": "skipped",
    "token.rejected": "skipped",
    "token.withdrawn": "skipped",
    "lock.taken": "success",
    "lock.given": "success",
    "step.done": "success",
    "step.failed": "error",
    "step.interrupted": "error",
    "step.cancelled": "skipped",
    "task.lost": "error",
    "loop.iteration.done": "success",
    "loop.iteration.failed": "error",
    "loop.iteration.skipped": "skipped",
    "loop.done": "success",
    "next.selected": "success",
    "ctx.patched": "success",
    "signal.received": "success",
    "signal.missed": "skipped",
    "signal.returned": "skipped",
    "child.ended": "success",
    "signal.sent": "success",
}
_STATUS_BY_END = {"completed": "success", "cancelled": "skipped", "failed": "error", "blocked": "error"}
_ENTITY_BY_PREFIX = {
    "playbook": "playbook",
    "workflow": "playbook",
    "phase": "playbook",
    "compensation": "playbook",
    "child": "playbook",
    "signal": "playbook",
    "step": "step",
    "lock": "step",
    "next": "step",
    "ctx": "step",
    "task": "task",
    "retry": "task",
    "loop": "loop",
    "token": "token",
    "timer": "timer",
}


class Origin(NamedTuple):
    """The origin that all events of an execution share: its id, its trace, and the execution that called it, if one
    did.
    """

    execution_id: str
    trace_id: str
    parent: str | None


def origin_of(execution_id: str, first: Event) -> Origin:
    """The origin of an execution's events, from the first of them."""
    parent = first.data.get("parent")
    # A log may be of another version, or damaged: of the first event nothing is taken for granted.
    caller = str(parent[0]) if isinstance(parent, list) and parent else None
    return Origin(execution_id, str(first.data.get("trace_id") or execution_id), caller)


def envelope_of(plan: Plan, origin: Origin, event: Event, position: int) -> dict[str, Json]:
    """The envelope of the event at a log position, counted from 1."""
    # Bounds are asked here, too: a log may be shown beside a plan that is not its own.
    step = plan.steps[event.step].name if 0 <= event.step < len(plan.steps) else None
    task = plan.tasks[event.task].name if 0 <= event.task < len(plan.tasks) else None
    run = step_run_of(event.run) or None
    task_run = f"{event.run}:{task}:{event.visit}" if task is not None else None
    kind, entity, parent = _entity(origin, event, task_run)
    index = index_of(key_of(event))
    patched = event.data.get("iter")
    return {
        "event_id": event.event_id,
        "event_type": event.event_type,
        "ts": iso_of(event.ts),
        "execution_id": origin.execution_id,
        "step_run_id": run,
        "task_run_id": task_run,
        "trace_id": origin.trace_id,
        "parent_id": parent,
        "source": "worker" if event.event_type in WORKER_EVENTS else "server",
        "entity_type": kind,
        "entity_id": entity,
        "status": status_of(event),
        "action_id": _action_id(origin, event) if task is not None else None,
        "attempt": event.attempt or None,
        "iteration": list(index) if index else None,
        # Older engines had pages as a thing of their own; here a page is a key of `iter` like any other.
        "page": patched.get("page") if isinstance(patched, dict) else None,
        "payload": event.data,
        "position": position,
        "step": step,
        "task": task,
        "fired": [
            {"transition": _transition(plan, number), "took": _keys(took), "made": _keys(made)}
            for number, took, made in event.fired
        ],
    }


def status_of(event: Event) -> str:
    """The status in the envelope's words."""
    data = event.data
    # Of these the status follows from what the event says; of all others the type tells.
    match event.event_type:
        case "task.done":
            return "success" if data.get("status") == "ok" else "error"
        case "workflow.finished" | "phase.ended" | "compensation.done":
            return _STATUS_BY_END.get(str(data.get("status")), "error")
        case "token.ended":
            return "error" if data.get("unhandled") else "success"
        case "timer.fired":
            return "error" if data.get("error") else "success"
    return _STATUS_BY_TYPE.get(event.event_type, "in_progress")


def key_of(event: Event) -> str:
    """The token key an event is about; that of a skipped iteration which never began is its loop's and its index."""
    index = event.data.get("index")
    if event.event_type == "loop.iteration.skipped" and index is not None:
        return f"{event.run}/{index}"
    return event.run


def _entity(origin: Origin, event: Event, task_run: str | None) -> tuple[str, str, str | None]:
    """(kind, id, id of what it is part of): a task is in its iteration or step run, that in its execution."""
    key = key_of(event)
    kind = _ENTITY_BY_PREFIX.get(event.event_type.partition(".")[0], "playbook")
    # The prefix table says `loop` for it; an iteration is an entity of its own.
    if event.event_type.startswith("loop.iteration."):
        kind = "iteration"
    if event.event_type == "signal.sent":
        kind = "task"
    match kind:
        case "playbook":
            return kind, origin.execution_id, origin.parent
        case "task":
            return kind, task_run or key, key
        case "timer":
            return kind, str(event.data.get("timer", "")), key
    # The key of an iteration is that of its loop and its index, so that what is before the last `/` is what it is
    # part of.
    return kind, key, key.rpartition("/")[0] or origin.execution_id


def _action_id(origin: Origin, event: Event) -> str:
    return action_id_of(origin.execution_id, event.run, event.task, event.visit)


def span_of(plan: Plan, event: Event) -> Span | None:
    """Where the author wrote what an event is about: its arc, task or step; None for the execution itself."""
    arcs = event.data.get("arcs")
    if event.event_type == "next.selected" and isinstance(arcs, list) and arcs and isinstance(arcs[0], dict):
        # Bounds are asked here, too: a log may be altered, or another plan's.
        arc = arcs[0].get("arc")
        if isinstance(arc, int) and not isinstance(arc, bool) and 0 <= arc < len(plan.arcs):
            return plan.arcs[arc].span
    if 0 <= event.task < len(plan.tasks):
        return plan.tasks[event.task].span
    return plan.steps[event.step].span if 0 <= event.step < len(plan.steps) else None


def _transition(plan: Plan, number: int) -> str:
    transitions = plan.net.transitions
    return transitions[number].id if 0 <= number < len(transitions) else f"#{number}"


def _keys(keys: TokenKeys) -> Json:
    return keys if isinstance(keys, str) else list(keys)


def envelope_schema() -> dict[str, Json]:
    """The JSON Schema of an envelope."""
    text: Json = {"type": "string"}
    maybe_text: Json = {"type": ["string", "null"]}
    keys: Json = {"anyOf": [text, {"type": "array", "items": text}]}
    firing: Json = {
        "type": "object",
        "properties": {"transition": text, "took": keys, "made": keys},
        "required": ["made", "took", "transition"],
        "additionalProperties": False,
    }
    properties: dict[str, Json] = {
        **dict.fromkeys(("event_id", "event_type", "execution_id", "trace_id", "entity_id"), text),
        **dict.fromkeys(("step_run_id", "task_run_id", "parent_id", "action_id", "step", "task"), maybe_text),
        "ts": {"type": "string", "format": "date-time"},
        "source": {"enum": ["server", "worker"]},
        "entity_type": {"enum": list(ENTITIES)},
        "status": {"enum": list(STATUSES)},
        "attempt": {"type": ["integer", "null"], "minimum": 1},
        "iteration": {"type": ["array", "null"], "items": {"type": "integer", "minimum": 0}},
        "page": {},
        "payload": {"type": "object"},
        "position": {"type": "integer", "minimum": 1},
        "fired": {"type": "array", "items": firing},
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "An event of a NoETL execution",
        "type": "object",
        "properties": properties,
        "required": [*sorted(properties)],
        "additionalProperties": False,
    }
