"""The JSON Schema of playbooks, generated from the tables that the readers use and from the kinds.

It says which keys stand where and what shape their values have, for editors; names, expressions and
everything between two places is what `noetlc lint` is for.
"""

import json

from noetl_ir.expr import Json
from noetl_ir.kinds import TASK_KNOBS, Field, Kind
from noetl_ir.plan import CONFLICTS
from noetl_ir.records import NamedTuple
from noetl_ir.reducing import REDUCERS
from noetlc.dialects import canonical
from noetlc.older import combined
from noetlc.reading.document import VERSIONS
from noetlc.reading.kinds import kind_names, kind_of, knobs_of_any_kind
from noetlc.reading.policy import DIRECTIVES
from noetlc.reading.reader import Tables

Schema = dict[str, Json]

_ANY: Schema = {}
_TEXT: Schema = {"type": ["string", "number", "boolean"]}
_TEMPLATE: Schema = {"type": "string", "pattern": "\\{\\{"}
_SHAPES: dict[str, Schema] = {
    "any": _ANY,
    "text": _TEXT,
    "name": {"type": "string"},
    "integer": {"type": "integer"},
    "number": {"type": "number"},
    "boolean": {"type": "boolean"},
    "duration": {"type": ["number", "string"]},
    "map": {"type": "object"},
    "list": {"type": "array"},
    "map of text": {"type": "object"},
    "list of names": {"type": "array", "items": {"type": "string"}},
}
_DURATION = _SHAPES["duration"]


def _ref(name: str) -> Schema:
    return {"$ref": f"#/$defs/{name}"}


def _either(*options: Json) -> Schema:
    return {"anyOf": list(options)}


def _list_of(item: Json) -> Schema:
    return {"type": "array", "items": item}


def _one_of(*values: Json) -> Schema:
    return {"enum": list(values)}


_MODE = _one_of("exclusive", "inclusive")
_LOOP_MODE = _one_of("sequential", "parallel")
_ELSE = _either(
    {"type": "object", "properties": {"then": _ref("then")}, "required": ["then"]}, _ref("then"), {"type": "null"}
)
_BACKOFF = _one_of("none", "linear", "exponential")
_LIFECYCLE: Schema = {"type": ["object", "null"], "properties": {"timeout_s": {"type": ["number", "string", "null"]}}}
_FAILURE: Schema = {"type": "object", "properties": {"mode": _one_of("fail_fast", "best_effort")}}
_TYPE = _one_of("string", "integer", "number", "boolean", "object", "array", "null")
_INPUT: Schema = {
    "type": ["object", "null"],
    "properties": {
        "type": _either(_TYPE, _list_of(_TYPE)),
        "description": {"type": "string"},
        "required": {"type": ["boolean", "array"], "description": "Whether a start has to bring it."},
        "enum": {"type": "array"},
        "default": False,
    },
}
_INPUTS: Schema = {"type": ["object", "null"], "additionalProperties": _INPUT}
_DEFAULTS: Schema = {"type": "object", "properties": {"spec": _ref("task_spec")}, "additionalProperties": False}
_TASKS: Schema = {"type": ["object", "null"], "additionalProperties": _DEFAULTS}
_MERGE: Schema = {
    "type": "object",
    "properties": {"tokens": {"type": "integer", "minimum": 1, "maximum": 10_000}},
    "required": ["tokens"],
    "additionalProperties": False,
}
_REDUCER: Schema = {
    "type": "object",
    "properties": {"reduce": _one_of(*REDUCERS), "initial": _ANY},
    "required": ["reduce"],
    "additionalProperties": False,
}
_CONCURRENCY: Schema = {
    "type": "object",
    "properties": {
        "key": _TEXT,
        "limit": {"type": "integer", "minimum": 1},
        "on_conflict": _one_of(*CONFLICTS),
    },
    "required": ["key"],
    "additionalProperties": False,
}
_REDUCED: Schema = {"type": ["object", "null"], "additionalProperties": _REDUCER}
_WHEN: Schema = {"type": ["string", "boolean", "number"]}
_MAP: Schema = {"type": "object"}

_CAUSE = _one_of("failed", "blocked", "cancelled")


def _heard(*, timers: bool) -> Schema:
    names: Schema = _either({"type": "string"}, _list_of({"type": "string"}))
    properties: Schema = {"events": names, **({"timers": {"type": "object"}} if timers else {})}
    return {"type": ["object", "null"], "properties": properties, "additionalProperties": False}


VALUES: dict[tuple[str, str], Schema] = {
    ("document", "apiVersion"): _one_of(*VERSIONS),
    ("document", "kind"): {"const": "Playbook"},
    ("document", "metadata"): {"type": "object", "properties": {"name": _TEXT, "path": _TEXT}},
    ("document", "executor"): _ref("executor"),
    ("document", "workload"): _either(_MAP, {"type": "null"}),
    ("document", "keychain"): _either(_list_of(_MAP), _MAP, {"type": "null"}),
    ("document", "workflow"): _list_of(_ref("step")),
    ("document", "workbook"): _either(_list_of(_MAP), _MAP, {"type": "null"}),
    ("executor", "spec"): _ref("executor_spec"),
    ("executor_spec", "policy"): _ref("executor_policy"),
    ("executor_spec", "entry_step"): _TEXT,
    ("executor_spec", "inputs"): _INPUTS,
    ("executor_spec", "tasks"): _TASKS,
    ("executor_spec", "on_failure"): _TEXT,
    ("executor_spec", "finally"): _TEXT,
    ("executor_spec", "compensate_on"): _either(_CAUSE, _list_of(_CAUSE)),
    ("executor_spec", "ctx"): _REDUCED,
    ("executor_spec", "concurrency"): _CONCURRENCY,
    ("executor_policy", "failure"): _FAILURE,
    ("executor_policy", "lifecycle"): {
        "type": ["object", "null"],
        "properties": {key: {"type": ["number", "string", "null"]} for key in ("timeout_s", "after_s")},
    },
    ("executor_policy", "limits"): {"type": "object", "additionalProperties": {"type": "integer"}},
    ("step", "step"): _TEXT,
    ("step", "spec"): _ref("step_spec"),
    ("step", "loop"): _ref("loop"),
    ("step", "tool"): _ref("tool"),
    ("step", "next"): _ref("next"),
    ("step_spec", "policy"): _ref("step_policy"),
    ("step_policy", "admit"): _ref("admit"),
    ("step_policy", "failure"): _FAILURE,
    ("step_policy", "compensate"): _either(
        _TEXT, {"type": "object", "properties": {"step": _TEXT, "on": _one_of("done", "started")}}
    ),
    ("step_policy", "lock"): _either(_TEXT, _list_of(_TEXT)),
    ("step_policy", "cancels"): _either(_list_of(_TEXT), _TEXT),
    ("step_policy", "terminate"): _one_of("completed", "failed"),
    ("step_policy", "join"): _either(
        _one_of("any", "all", "taken", "first"), {"type": "integer", "minimum": 1}, _MERGE
    ),
    ("admit", "mode"): _MODE,
    ("admit", "rules"): _list_of(_ref("rule")),
    ("admit", "on_deny"): _one_of("wait", "reject"),
    ("loop", "in"): _either(_TEXT, {"type": "array"}, _MAP),
    ("loop", "iterator"): {"type": "string"},
    ("loop", "spec"): _ref("loop_spec"),
    ("loop", "loop"): _ref("loop"),
    ("loop_spec", "mode"): _LOOP_MODE,
    ("loop_spec", "max_in_flight"): {"type": ["integer", "string"]},
    ("loop_spec", "policy"): _ref("loop_policy"),
    ("loop_policy", "mode"): _LOOP_MODE,
    ("loop_policy", "max_in_flight"): {"type": ["integer", "string"]},
    ("loop_policy", "lifecycle"): _LIFECYCLE,
    ("loop_spec", "more"): _heard(timers=False),
    ("loop_spec", "close"): _heard(timers=True),
    ("loop_spec", "complete"): _heard(timers=True),
    ("loop_policy", "enough"): {"type": ["integer", "string"], "minimum": 1},
    ("loop_policy", "rest"): _one_of("cancel", "finish", "swallow"),
    ("loop_policy", "exec"): _one_of("distributed", "local"),
    ("task", "name"): _TEXT,
    ("task", "spec"): _ref("task_spec"),
    ("task", "args"): _either(_MAP, _TEMPLATE),
    ("task_spec", "policy"): _ref("task_policy"),
    ("task_policy", "rules"): _list_of(_ref("rule")),
    ("step_policy", "lifecycle"): _LIFECYCLE,
    ("task_policy", "mode"): _one_of("exclusive"),
    ("task_policy", "on_unmatched"): _one_of("continue"),
    ("then", "do"): _one_of(*DIRECTIVES),
    ("then", "attempts"): {"type": "integer", "minimum": 1},
    ("then", "backoff"): _BACKOFF,
    ("then", "multiplier"): {"type": "number", "exclusiveMinimum": 0},
    ("then", "jitter"): {"type": "boolean"},
    ("then", "delay"): _DURATION,
    ("then", "max_delay"): _DURATION,
    ("then", "to"): _TEXT,
    ("then", "set_ctx"): _MAP,
    ("then", "set_iter"): _MAP,
    ("next", "spec"): _ref("next_spec"),
    ("next", "arcs"): _list_of(_ref("arc")),
    ("next_spec", "mode"): _MODE,
    ("arc", "step"): _TEXT,
    ("arc", "when"): _WHEN,
    ("arc", "args"): _either(_MAP, _TEMPLATE),
    ("arc", "spec"): _ref("arc_spec"),
    ("arc_spec", "delay"): _DURATION,
    ("arc_spec", "priority"): {"type": "integer"},
}
"""(scope, key) → the shape of the value; any shape where there is no row."""

REQUIRED: dict[str, tuple[str, ...]] = {
    "document": ("apiVersion", "kind", "workflow"),
    "step": ("step",),
    "arc": ("step",),
    "loop": ("iterator",),
}
_KNOBBED = frozenset({"executor_spec", "step_spec", "loop_spec", "task_spec"})
_APART = frozenset({"document", "task", "task_forms"})


def playbook_schema() -> Schema:
    """The schema of one canonical document."""
    return _schema("A NoETL playbook", _Form(canonical(), VALUES, REQUIRED, frozenset()))


def dialects_schema() -> Schema:
    """The schema of one document in any mix of the dialects: the keys that some reader takes.

    Where dialects write different shapes under one key, any shape stands; steps and tasks may have a tool's fields.
    """
    # Only the shapes of containers hold for all dialects. Under `tool`, `next` and `loop` each dialect had another
    # one, and a schema that knows one of them would underline working files in an editor.
    containers = {row: shape for row, shape in VALUES.items() if "$ref" in shape and row not in _RESHAPED}
    return _schema("A NoETL playbook in any dialect", _Form(combined()[0], containers, {}, _OPEN))


def schema_text() -> str:
    """The schema of canonical playbooks as a JSON document."""
    return _text(playbook_schema())


def dialects_text() -> str:
    """The schema of playbooks in all dialects as a JSON document."""
    return _text(dialects_schema())


class _Form(NamedTuple):
    """The tables that a schema is made from: the readers' tables, the shapes of values, required keys, scopes that
    take more.
    """

    tables: Tables
    values: dict[tuple[str, str], Schema]
    required: dict[str, tuple[str, ...]]
    open: frozenset[str]


_RESHAPED = frozenset({("step", "tool"), ("step", "next"), ("loop", "loop")})
_OPEN = frozenset({"document", "step", "task", "then", "arc", "next", "loop"})


def _text(schema: Schema) -> str:
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


def _schema(title: str, form: _Form) -> Schema:
    tables = form.tables
    scopes = [name for name in tables._fields if name not in _APART and name != "then"]
    definitions: dict[str, Json] = {name: _scope(form, name, tuple(getattr(tables, name))) for name in scopes}
    # The answer of an admission rule stands in the same `then` as the directives of a task's, so that `allow` is
    # added to their keys.
    definitions["then"] = _scope(form, "then", (*tables.then, "allow"))
    definitions["task"] = _either(*[_task(form, kind) for kind in _kinds()])
    # A labelled task is a mapping of one key, the name (S000). The docs of the product still write it, so that people
    # will paste it.
    labelled: Schema = {"type": "object", "minProperties": 1, "maxProperties": 1}
    entry = _either(_ref("task"), {**labelled, "additionalProperties": _ref("task")})
    if not form.open:
        definitions["block"] = _either(*[_block(word) for word in tables.task_entries])
        entry = _either(_ref("task"), _ref("block"), {**labelled, "additionalProperties": _ref("task")})
    if "loop" in form.required:
        # Items that signals bring may be all that a loop has.
        more: Schema = {"required": ["spec"], "properties": {"spec": {"required": ["more"]}}}
        definitions["loop"] = {**_scope(form, "loop", tuple(tables.loop)), **_either({"required": ["in"]}, more)}
    definitions["tasks"] = _list_of(entry)
    definitions["tool"] = _either(_ref("task"), _ref("tasks"), {"type": "null"})
    definitions["rule"] = {
        "type": "object",
        "properties": {"when": _WHEN, "then": _ref("then"), "else": _MAP if form.open else _ELSE},
        "additionalProperties": "then" in form.open,
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": title,
        **_scope(form, "document", tuple(tables.document)),
        "$defs": dict(sorted(definitions.items())),
    }


def _block(word: str) -> Schema:
    """An entry of a list of tasks that is none: `{name, choose|while|until}` (LANGUAGE §6)."""
    body = _either(_ref("tasks"), _ref("task"))
    if word == "choose":
        rule: Schema = {
            "when": _WHEN,
            "then": body,
            "else": _either(_ref("tasks"), _object({"then": body}), {"type": "null"}),
        }
        inner = _list_of(_object(rule))
    else:
        bounds: Schema = {"max_iterations": {"type": ["integer", "string"]}, "deadline": _DURATION}
        delay: Schema = {"delay": _DURATION} if word == "until" else {}
        inner = {**_object({"when": _WHEN, "then": body, **bounds, **delay}), "required": ["when", "then"]}
    return {**_object({"name": _TEXT, "desc": _TEXT, word: inner}), "required": [word]}


def _object(properties: Schema) -> Schema:
    return {
        "type": "object",
        "properties": properties,
        "patternProperties": {"^x-": True},
        "additionalProperties": False,
    }


def _scope(form: _Form, name: str, keys: tuple[str, ...]) -> Schema:
    properties: dict[str, Json] = {key: form.values.get((name, key), _ANY) for key in keys}
    if name in _KNOBBED:
        for knob, field in sorted(knobs_of_any_kind().items()):
            # A knob that the readers' table has too keeps the table's shape, which is that of its place.
            properties.setdefault(knob, _field(field))
    # These knobs are on a task of any kind; the ones before are those of single kinds, of which the scope takes all.
    if name == "task_spec":
        properties.update({knob: _field(field) for knob, field in TASK_KNOBS.items()})
    return {
        "type": "object",
        "properties": properties,
        "required": [*form.required.get(name, ())],
        "patternProperties": {"^x-": True},
        "additionalProperties": name in form.open,
    }


def _kinds() -> list[Kind]:
    return [kind for name in kind_names() if (kind := kind_of(name)) is not None]


def _task(form: _Form, kind: Kind) -> Schema:
    keys = tuple(form.tables.task)
    schema = _scope(form, "task", (*keys, *(name for name in kind.fields if name not in keys)))
    properties: dict[str, Json] = {key: form.values.get(("task", key), _ANY) for key in keys}
    properties.update({name: _field(field) for name, field in kind.fields.items()})
    # The constant makes an editor choose one of the alternatives, so that it offers the fields of that kind only.
    properties["kind"] = {"const": kind.name}
    required: list[Json] = ["kind", *(name for name, field in kind.fields.items() if field.required)]
    return {**schema, "title": kind.name, "description": kind.summary, "properties": properties, "required": required}


def _field(field: Field) -> Schema:
    shapes: list[Json] = [_SHAPES[shape] for shape in field.shapes]
    # An enumeration in a schema knows no case: a field that takes its words in any case stays text.
    if field.values and not field.any_case:
        shapes = [_one_of(*field.values)]
    # Any shape makes all others beside it idle, and a template of it is a text anyway.
    if _ANY in shapes:
        schema = dict(_ANY)
    else:
        schema = _either(*shapes, *([_TEMPLATE] if field.text == "template" else []), {"type": "null"})
    return {**schema, "description": field.doc} if field.doc else schema
