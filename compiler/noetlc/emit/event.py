"""The events that a run writes: their names, what each payload holds, the JSON Schema, and the table for readers.

`EVENTS` is the one table; the schema and the documentation are made from it, and the tests hold both against the
logs of real runs. A payload has no key that is not listed. Times called `due` and lengths called `timeout` are in
microseconds, as in the log; `wait` is in seconds.
"""

import json

from noetl_ir.envelope import envelope_schema
from noetl_ir.events import INPUT_EVENTS, WORKER_EVENTS
from noetl_ir.expr import Json
from noetl_ir.records import NamedTuple

_Schema = dict[str, Json]


# Sentence and schema in one row: two tables would drift apart with the next event.
class Key(NamedTuple):
    """A key of a payload: its schema, what it holds, and whether it may be missing."""

    schema: _Schema
    doc: str
    optional: bool = False


class EventType(NamedTuple):
    """The sentence of an event's type, and its payload by key."""

    doc: str
    payload: dict[str, Key]


_ANY: _Schema = {}
_PHASE: _Schema = {"enum": ["compensation", "on_failure", "finally"]}
_PHASES: _Schema = {"enum": ["main", "compensation", "on_failure", "finally"]}
_TEXT: _Schema = {"type": "string"}
_COUNT: _Schema = {"type": "integer", "minimum": 0}
_BY = Key({"type": "string"}, "the run that began")
_MAP: _Schema = {"type": "object"}
_TEXTS: _Schema = {"type": "array", "items": _TEXT}
_LIST: _Schema = {"type": "array"}
_TRUE: _Schema = {"const": True}
_ERROR: _Schema = {
    "type": "object",
    "properties": {"code": _TEXT, "kind": _TEXT, "message": {"type": ["string", "number", "boolean"]}},
    "required": ["code", "message"],
}
_OUTCOME: _Schema = {
    "type": "object",
    "properties": {"status": {"enum": ["ok", "error"]}, "error": {"anyOf": [_ERROR, {"type": "null"}]}, "meta": _MAP},
    "required": ["error", "meta", "status"],
}
_STATS: _Schema = {
    "type": "object",
    "properties": dict.fromkeys(("total", "ok", "failed", "skipped"), _COUNT),
    "required": ["failed", "ok", "skipped", "total"],
    "additionalProperties": False,
}
_ARC: _Schema = {
    "type": "object",
    "properties": {"arc": _COUNT, "key": _TEXT, "args": _MAP, "due": {"type": "integer"}, "ends": _TRUE},
    "required": ["arc", "key"],
    "additionalProperties": False,
}
_ASKED: _Schema = {
    "type": "object",
    "properties": {"target": _TEXT, "when": _TEXT},
    "required": ["target", "when"],
    "additionalProperties": False,
}


def _maybe(schema: _Schema, doc: str) -> Key:
    return Key(schema, doc, optional=True)


_ROW = {"row": _maybe(_COUNT, "the inbox row that asked for it")}
_FAILURE = Key(
    _ERROR,
    "`code`, `message`, and what else is known: `step`, `task`, `rule`, `arc`, `key`, `cause`, `errors`, `event`",
)
_LOOP_STATS = Key(_STATS, "how many items ended how")
_LEVEL = Key(_COUNT, "loop level, 0 outermost")
_PATCHES = {
    "iter": _maybe(_MAP, "what `set_iter` wrote"),
    "ctx": _maybe(_MAP, "what `set_ctx` wrote"),
}
_JUDGED = {
    "status": Key({"enum": ["ok", "error"]}, "of the outcome"),
    "outcome": Key(_OUTCOME, "the outcome without its result"),
    "rule": Key({"type": "integer", "minimum": -1}, "index of the rule that decided or was not to be asked, -1: none"),
}

EVENTS: dict[str, EventType] = {
    "playbook.execution.requested": EventType(
        "Somebody asked for a run of a plan.",
        {
            "playbook": Key(_TEXT, "`metadata.name`"),
            "path": Key(_TEXT, "`metadata.path`, or empty"),
            "digest": Key({"type": "string", "pattern": "^[0-9a-f]{64}$"}, "of the plan"),
            "payload": Key(_MAP, "as given, never rendered"),
            "trace_id": Key(_TEXT, "the execution's own id unless the caller gave one"),
            "parent": _maybe(_LIST, "execution and token key of the calling task"),
            "call": _maybe(_TEXT, "token key, task, visit and attempt of the call"),
            "depth": _maybe(_COUNT, "how many callers there are above"),
            "iter_parent": _maybe({"type": ["object", "null"]}, "the caller's `iter`"),
            "return_step": _maybe(_TEXT, "the step whose result the caller wants"),
            "env": _maybe({"type": "object"}, "the variables of the environment that the workload reads, as they were"),
            "under": _maybe(_ANY, "the keys of the places that it runs under, each with the execution that holds it"),
            "folder": _maybe(_TEXT, "where the playbook's file is, from the root of tools if it is inside"),
            "detached": _maybe(_TRUE, "the caller does not wait for it"),
            "scripted": _maybe(_TRUE, "a script stands in for tools; times are those of a virtual clock"),
            "rerun_of": _maybe(_TEXT, "the execution of whose log this one has the beginning"),
            "labels": _maybe(_MAP, "texts by name that the start brought, to find it by"),
            "started_by": _maybe(
                _MAP,
                "`schedule` and its `time`, with `backfill` where it was asked for afterwards; `traceparent`",
            ),
        },
    ),
    "playbook.request.evaluated": EventType(
        "The workload is fixed.",
        {
            "workload": Key(_MAP, "defaults rendered, payload merged over them"),
            "place": _maybe(_MAP, "the place that it asks for before it begins: `key`, `limit`, `on_conflict`"),
            "ctx": _maybe(_MAP, "keys that are reduced, with the `initial` of each that has one"),
        },
    ),
    "workflow.started": EventType(
        "The initial marking is put; the entry token has the key `1`.",
        {
            "timeout": _maybe(_COUNT, "`lifecycle.timeout_s` of the executor"),
            "after": _maybe(_COUNT, "`lifecycle.after_s` of the executor"),
        },
    ),
    "token.enqueued": EventType(
        "A token entered a join that has to wait, or a wave of a join is complete.",
        {"wave": _maybe({"const": "complete"}, "the join is ready for its next wave")},
    ),
    "token.joined": EventType(
        "A join has its tokens; one goes on.",
        {
            "tokens": Key(_TEXTS, "the keys joined"),
            "forced": _maybe(_TRUE, "nothing else could move; of a `settled` join"),
        },
    ),
    "token.swallowed": EventType("A token came to a wave that had started without it.", {}),
    "token.claimed": EventType(
        "The oldest `wait` that listens for a signal took it.",
        {
            "signal": Key(_TEXT, "its name"),
            "outcome": Key(_OUTCOME, "of the parked task"),
            "row": _maybe(_COUNT, "the inbox row of one that the mailbox addressed to this `wait`"),
        },
    ),
    "token.waiting": EventType(
        "A gate keeps a token: until `ctx` changes (`on_deny: wait`), or until locks are free.",
        {"locks": _maybe(_TEXTS, "the locks that it waits for")},
    ),
    "lock.taken": EventType(
        "A run holds the locks of its step, or has taken those of sections.", {"locks": Key(_TEXTS, "their names")}
    ),
    "lock.given": EventType(
        "Nothing is left of a run that held locks, or in a section: they are free. The run is the one that took them.",
        {"locks": Key(_TEXTS, "their names")},
    ),
    "token.rejected": EventType("A gate refused a token; it ends.", {"reason": Key(_TEXT, "in words")}),
    "token.withdrawn": EventType(
        "The start of a step that cancels this one took a token that flew, waited or was not routed yet.", {"by": _BY}
    ),
    "token.ended": EventType(
        "A token ended at a router or a join.",
        {
            "reason": Key(_TEXT, "in words"),
            "asked": _maybe({"type": "array", "items": _ASKED}, "the guards that were false"),
            "ends": _maybe({"enum": ["completed", "failed"]}, "the execution ends with this status by it"),
            "unhandled": _maybe(_TRUE, "the execution fails by it"),
            "error": _FAILURE._replace(optional=True),
        },
    ),
    "step.scheduled": EventType(
        "A gate admitted a token: a step run begins.",
        {
            "timeout": _maybe(_COUNT, "`lifecycle.timeout_s`"),
            "timers": _maybe(_MAP, "when the timers of `interrupt` are due, by name"),
        },
    ),
    "step.started": EventType("The pipeline or the loop of a run is set up.", {}),
    "step.done": EventType("A run without a loop succeeded.", {}),
    "step.failed": EventType(
        "A run failed.",
        {"error": _FAILURE, "stats": _LOOP_STATS._replace(optional=True), "level": _LEVEL._replace(optional=True)},
    ),
    "step.interrupted": EventType(
        "A signal or timer stops a run where it stands: it fails.",
        {
            "by": Key({"enum": ["signal", "timer"]}, "what stops it"),
            "name": Key(_TEXT, "the name of the signal or timer"),
            "data": _maybe(_ANY, "what came with the signal"),
            "also": _maybe(_TRUE, "the signal stops others, too, and is not used up yet"),
        },
    ),
    "step.cancelled": EventType(
        "The start of a step that cancels this one ended a run: it routes nothing, and is no failure.", {"by": _BY}
    ),
    "loop.started": EventType(
        "The items of a loop run are frozen.",
        {
            "n": Key(_COUNT, "number of items"),
            "m": Key({"type": "integer", "minimum": 1}, "how many may run at once"),
            "level": _LEVEL,
            "items": Key(_LIST, "the items"),
            "timeout": _maybe(_COUNT, "`lifecycle.timeout_s` of an iteration"),
            "timers": _maybe(_MAP, "when the timers of `close` and `complete` are due, by these words and their names"),
        },
    ),
    "loop.enough": EventType(
        "A loop has enough before its items are over, and what waits is skipped; or it could not be asked, and fails.",
        {"stats": _LOOP_STATS, "level": _LEVEL, "error": _FAILURE._replace(optional=True)},
    ),
    "loop.item.added": EventType(
        "A signal has brought a loop an item.",
        {
            "signal": Key(_TEXT, "its name"),
            "index": Key(_COUNT, "the number of the item"),
            "item": Key(_ANY, "what came with the signal"),
            "level": _LEVEL,
        },
    ),
    "loop.closed": EventType(
        "No items come to a loop any more, or it is to end before its items are over.",
        {
            "by": Key({"enum": ["signal", "timer", "enough", "stopped"]}, "why"),
            "name": _maybe(_TEXT, "the name of the signal or timer"),
            "data": _maybe(_ANY, "what came with the signal"),
            "complete": _maybe(_TRUE, "it ends: what waits is skipped"),
            "level": _LEVEL,
        },
    ),
    "loop.iteration.started": EventType("An iteration took a slot.", {}),
    "loop.iteration.done": EventType("An iteration succeeded.", {}),
    "loop.iteration.failed": EventType(
        "An iteration failed.",
        {"error": _FAILURE, "stats": _LOOP_STATS._replace(optional=True), "level": _LEVEL._replace(optional=True)},
    ),
    "loop.iteration.skipped": EventType(
        "An iteration never began, or was stopped.",
        {
            "index": _maybe(_COUNT, "of an item that never began"),
            "error": _FAILURE._replace(optional=True),
            "stats": _LOOP_STATS._replace(optional=True),
            "level": _LEVEL._replace(optional=True),
        },
    ),
    "loop.done": EventType(
        "A loop run succeeded; at level 0 it ends the step run.",
        {
            "stats": _LOOP_STATS,
            "level": _LEVEL,
            "errors": _maybe(_LIST, "of failed iterations, each with its `index` (`best_effort`)"),
        },
    ),
    "task.started": EventType(
        "A worker claimed an attempt and is about to run the tool.",
        {
            "call": _maybe(_MAP, "the rendered call of a task that parks"),
            "origin": _maybe(_TEXT, "where the secrets of the task go first in its run: the origin of its request"),
            "due": _maybe({"type": "integer"}, "when a parked task has waited long enough"),
            "timers": _maybe(_MAP, "when the timers of a `wait` are due, by name"),
            "utc": _maybe(_TEXTS, "the timers of a `wait` whose time names no offset, so that it is of UTC"),
        },
    ),
    "task.done": EventType(
        "A task run is over.",
        {
            **_JUDGED,
            "directive": Key({"enum": ["continue", "break", "fail", "jump", "fault"]}, "what follows"),
            "result": _maybe(_ANY, "the result, or its reference; missing for null"),
            "error": _FAILURE._replace(optional=True),
            "to": _maybe(_COUNT, "the task to jump to, an index of the plan's tasks"),
            "due": _maybe({"type": "integer"}, "when a delayed jump lands"),
            "passed_error": _maybe(_TRUE, "an error that no rule matched and that went on"),
            **_PATCHES,
        },
    ),
    "retry.started": EventType(
        "An attempt is over and another one will follow.",
        {
            **_JUDGED,
            "directive": Key({"const": "retry"}, ""),
            "due": Key({"type": "integer"}, "when the next attempt may start, jitter included"),
            "wait": Key({"type": "number", "minimum": 0}, "seconds until then"),
            **_PATCHES,
        },
    ),
    "task.lost": EventType("The process that ran an attempt is gone; the attempt may be claimed again.", {}),
    "ctx.patched": EventType(
        "Patches of a task are global now.",
        {
            "patch": Key(_MAP, "keys and their new values; of a reduced key what is contributed"),
            "replaced_newer": _maybe(_TEXTS, "keys whose newer value it replaced"),
        },
    ),
    "next.selected": EventType(
        "A router fired; a token went out for each arc.",
        {
            "arcs": Key(
                {"type": "array", "items": _ARC, "minItems": 1},
                "each with `arc`, an index of the plan's arcs, and the `key` of its token; `args`; `due` of a delay; "
                "`ends` where it leads to an undeclared `end`",
            )
        },
    ),
    "signal.received": EventType(
        "A signal came from outside; it is kept until a `wait` takes it.",
        {
            "name": Key(_TEXT, "its name"),
            "data": Key(_ANY, "what came with it"),
            **_ROW,
            "wait": _maybe(_TEXT, "the wait that the mailbox addressed it to: `RUN:TASK:VISIT:ATTEMPT`"),
            "since": _maybe({"type": "integer"}, "when it was posted to the mailbox (microseconds)"),
            "came": _maybe(
                {"type": "integer"},
                "when the store had it (microseconds), of one that came over a pause: timers due before go first",
            ),
        },
    ),
    "signal.sent": EventType(
        "The signal of a parked task is with its receivers, or has none.",
        {"outcome": Key(_OUTCOME, "of the parked task")},
    ),
    "signal.missed": EventType(
        "Nothing hears the oldest kept signal of that name, and nothing will: every wait for it is `transient` and "
        "listens only to what comes later. Only in runs of playbooks with such a wait.",
        {"name": Key(_TEXT, "its name")},
    ),
    "signal.returned": EventType(
        "The `wait` that the mailbox addressed a signal to listens no more: it goes to the next one, or is kept.",
        {"name": Key(_TEXT, "its name"), "row": Key(_COUNT, "the inbox row that brought it")},
    ),
    "timer.fired": EventType(
        "A time has come: a retry or delayed jump wakes, a delayed token lands, a timer of a `wait` is due, "
        "a parked task, a step run, the execution or a phase behind its main is over time.",
        {
            "timer": Key(
                _TEXT,
                "`wake KEY`, `land KEY`, `wait KEY NAME`, `parked KEY`, `timeout KEY`, `close KEY NAME`, "
                "`complete KEY NAME`, `execution` or `phase NAME`",
            ),
            "outcome": _maybe(_OUTCOME, "of the parked task"),
            "error": _FAILURE._replace(optional=True),
        },
    ),
    "playbook.queued": EventType(
        "No place is free under the key that the execution asks for: it waits.",
        {
            "key": Key(_TEXT, "what it asks for a place under"),
            "limit": Key(_COUNT, "how many may hold one when it begins, itself among them"),
            "on_conflict": Key(_TEXT, "`queue` or `cancel_running`"),
            "holders": Key(_TEXTS, "the executions that held one then"),
        },
    ),
    "playbook.placed": EventType(
        "The execution has a place, and begins.", {"key": Key(_TEXT, "what it has a place under")}
    ),
    "playbook.refused": EventType(
        "The execution gets no place, and is over.",
        {
            "key": Key(_TEXT, "what it asked for a place under"),
            "why": Key(_TEXT, "`skip`, `fail`, `circle` (the wait would never end) or `replaced` (by a newer one)"),
            "holders": Key(_TEXTS, "the executions that held one then"),
        },
    ),
    "playbook.paused": EventType("Nothing new starts.", _ROW),
    "playbook.resumed": EventType("A pause is over.", _ROW),
    "playbook.cancelled": EventType(
        "Somebody ended the execution.", {**_ROW, "by": _maybe(_TEXT, "the newer execution that takes its place")}
    ),
    "playbook.faulted": EventType(
        "The engine made a mistake in a turn of the execution, which is over until somebody tries it again.",
        {"error": _FAILURE},
    ),
    "playbook.retried": EventType("Somebody tries again what the engine made a mistake in.", {}),
    "playbook.rerun": EventType(
        "A rerun begins: what stands before it was put to the engine again from the log of another execution.",
        {
            "of": Key(_TEXT, "that execution"),
            "position": Key(_COUNT, "of the last event in that log that was looked at"),
            "shift": Key(_COUNT, "microseconds by which timers are due later, but for those of a time of day"),
            "steps": Key(_TEXTS, "the steps before whose runs it begins; none: where the other one stood"),
            "kept": Key(_COUNT, "how many tasks do not run again"),
            "place": _maybe(_MAP, "the place that it asks for before it goes on: `key`, `limit`, `on_conflict`"),
        },
    ),
    "playbook.migrated": EventType(
        "The execution goes on under another plan, which what stands before it is a legal run of, too.",
        {"from": Key(_TEXT, "the digest of its plan until then"), "to": Key(_TEXT, "that of its new plan"), **_ROW},
    ),
    "migration.refused": EventType(
        "The execution was to go on under another plan, and does not.",
        {
            "row": Key(_COUNT, "the inbox row that asked for it"),
            "to": Key(_TEXT, "the digest of that plan"),
            "why": Key(_TEXTS, "what hinders, a sentence each"),
        },
    ),
    "phase.started": EventType(
        "A phase behind main begins, with one token at its first step, and with nothing of the phase before; that of "
        "compensation without one.",
        {
            "phase": Key(_PHASE, "which"),
            "status": Key({"enum": ["completed", "failed", "cancelled", "blocked"]}, "how main ended"),
            "error": Key({"type": ["object", "null"]}, "what main failed of"),
            "reason": _maybe(_TEXT, "of `blocked` and `cancelled`, in words; of the first phase behind main"),
            "result": _maybe(_ANY, "the result that the playbook declares; of the first phase behind main"),
        },
    ),
    "phase.ended": EventType(
        "A phase behind main is over, the status of the execution stays what it was; or main is, and children that "
        "were called off still go through phases of their own, which is waited for.",
        {
            "phase": Key(_PHASES, "which"),
            "status": Key({"enum": ["completed", "failed", "cancelled", "blocked"]}, "how it ended"),
            "error": _FAILURE._replace(optional=True),
            "reason": _maybe(_TEXT, "of `blocked` and `cancelled`, in words"),
            "left": _maybe(_COUNT, "runs that were not undone; of compensation"),
            "result": _maybe(_ANY, "the result that the playbook declares; of main"),
            "faulty_result": _maybe(_TRUE, "main completed, and its result could not be evaluated"),
        },
    ),
    "compensation.started": EventType(
        "The region that undoes a run begins, with one token; the run is not remembered any more.",
        {"run": Key(_TEXT, "the run or iteration that is undone"), "step": Key(_TEXT, "the step that it is of")},
    ),
    "compensation.done": EventType(
        "What undoes a run is over, however it ended; the next one follows.",
        {
            "run": Key(_TEXT, "the run or iteration that it undid"),
            "status": Key({"enum": ["completed", "failed", "cancelled", "blocked"]}, "how it ended"),
            "error": _FAILURE._replace(optional=True),
            "reason": _maybe(_TEXT, "of `blocked` and `cancelled`, in words"),
            "left": _maybe(_COUNT, "how many runs are left, where the phase ends with it: out of time, or cancelled"),
        },
    ),
    "child.started": EventType(
        "A task is about to call a child that goes on for a while once it is cancelled, or may: it, or one that it "
        "calls, has phases behind main.",
        {"child": Key(_TEXT, "its execution")},
    ),
    "child.ended": EventType(
        "A child is over that was called off while it had phases to go through.",
        {"child": Key(_TEXT, "its execution")},
    ),
    "workflow.finished": EventType(
        "The execution has ended.",
        {
            "status": Key({"enum": ["completed", "failed", "cancelled", "blocked"]}, "how"),
            "error": _FAILURE._replace(optional=True),
            "reason": _maybe(_TEXT, "of `blocked` and `cancelled`, in words"),
            "result": _maybe(_ANY, "the result that the playbook declares, of `completed`"),
            "after": _maybe(
                {"type": "array", "items": {"type": "object", "required": ["phase", "status"]}},
                "what became of the phases behind main, where there are some: `phase`, `status`, `error`, `reason`",
            ),
        },
    ),
    "playbook.processed": EventType("The last event of every log.", {}),
}


def schema_text() -> str:
    """The JSON Schema of an event as `noetl events --json` prints it."""
    schema = envelope_schema()
    properties = schema["properties"]
    assert isinstance(properties, dict)
    # Inside of the JSON Schema the payloads hang on the event's name by `if` and `then`: one schema validates a line
    # of a log without knowing which event it is.
    properties["event_type"] = {"enum": list(EVENTS)}
    schema["allOf"] = [
        {
            "if": {"properties": {"event_type": {"const": name}}},
            "then": {"properties": {"payload": _payload_schema(known)}},
        }
        for name, known in EVENTS.items()
    ]
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


def _payload_schema(known: EventType) -> _Schema:
    keys = known.payload
    properties: dict[str, Json] = {
        name: {**key.schema, "description": key.doc} if key.doc else key.schema for name, key in keys.items()
    }
    # A log that lacks a key which is not optional, or has one that no table names, is invalid: its readers may rely
    # on the table.
    required: list[Json] = [name for name, key in keys.items() if not key.optional]
    return {
        "type": "object",
        "description": known.doc,
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }


def events_markdown() -> str:
    """The table of events for the documentation. Keys in brackets may be missing."""
    lines = ["| event | from | what it says | payload |", "|---|---|---|---|"]
    for name, known in EVENTS.items():
        keys = [_shown(key_name, key) for key_name, key in known.payload.items()]
        lines.append(f"| `{name}` | {_origin(name)} | {known.doc} | {'<br>'.join(keys)} |")
    return "\n".join(lines) + "\n"


def _origin(name: str) -> str:
    """Who knew of it first: an input from outside, or what follows from the log before it."""
    # First: what a worker says is an input to the fold as well.
    if name in WORKER_EVENTS:
        return "worker"
    return "input" if name in INPUT_EVENTS else "follows"


def _shown(name: str, key: Key) -> str:
    word = f"[`{name}`]" if key.optional else f"`{name}`"
    return f"{word}: {key.doc}" if key.doc else word
