"""The JSON Schema of playbooks, generated from the tables that the readers use and from the kinds.

It says which keys stand where and what shape their values have, for editors; names, expressions and
everything between two places is what `noetlc lint` is for.
"""

import json

from noetl_ir.expr import Json
from noetl_ir.kinds import TASK_KNOBS, Field, Kind
from noetl_ir.plan import CONFLICTS, SEARCH_TYPES
from noetl_ir.records import NamedTuple
from noetl_ir.reducing import REDUCERS
from noetl_ir.words import DIRECTIVES
from noetlc.dialects import canonical
from noetlc.generated.key_sentences import SENTENCES
from noetlc.older import combined
from noetlc.reading.document import VERSIONS
from noetlc.reading.executor import LIMITS, REQUIRES, RUNTIMES
from noetlc.reading.keychain import KEYCHAIN_KINDS
from noetlc.reading.kinds import kind_names, kind_of, knobs_of_any_kind
from noetlc.reading.reader import Tables

Schema = dict[str, Json]

_ANY: Schema = {}
# YAML makes numbers and truth values of words without quotes, and the readers take these as text.
_TEXT: Schema = {"type": ["string", "number", "boolean"]}
# Wherever a value may be computed, a text with braces is one: no schema can say what comes of it.
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


def _first_fit(*cases: tuple[Schema, Schema], rest: Schema) -> Schema:
    """The shape of the first (condition, shape) whose condition holds, `rest` where none does.

    Unlike `anyOf`, a chain of `if` lets an editor report a fault at its place, and not that no alternative fits.
    """
    found = rest
    for condition, shape in reversed(cases):
        found = {"if": condition, "then": shape, "else": found}
    return found


def _said(sentence: str, shape: Schema) -> Schema:
    """A shape with what its key means, for keys that are in no table of the reference."""
    return {**shape, "description": sentence}


def _object(properties: Schema, *required: str) -> Schema:
    return {
        "type": "object",
        "properties": properties,
        "required": [*required],
        "patternProperties": {"^x-": True},
        "additionalProperties": False,
    }


def _or_nothing(shape: Schema) -> Schema:
    return {**shape, "type": ["object", "null"]}


_MODE = _one_of("exclusive", "inclusive")
_LOOP_MODE = _one_of("sequential", "parallel")
_NAMED: Schema = {"type": "string"}
_LIMIT: Schema = {"type": ["number", "string", "null"]}
_COUNT: Schema = {"type": ["integer", "string"]}
_BACKOFF = _one_of("none", "linear", "exponential")


def _inner(scope: str, key: str, **inner: Schema) -> Schema:
    """A mapping under a key whose own keys the reference has a row for."""
    return _object({name: _said(SENTENCES[scope, f"{key}.{name}"], shape) for name, shape in inner.items()})


_TYPE = _one_of("string", "integer", "number", "boolean", "object", "array", "null")
_INPUT: Schema = {
    "type": ["object", "null"],
    "properties": {
        "type": _said("The JSON type of the value.", _either(_TYPE, _list_of(_TYPE))),
        "description": _said("A line for readers.", {"type": "string"}),
        "required": _said("Whether a start has to bring it.", {"type": ["boolean", "array"]}),
        "enum": _said("The values that it may have.", {"type": "array"}),
        "default": False,
    },
}
_INPUTS: Schema = {"type": ["object", "null"], "additionalProperties": _INPUT}
_DEFAULTS: Schema = _object({"spec": _said("The defaults of the kind: knobs, timeout, policy.", _ref("task_spec"))})
_TASKS: Schema = {"type": ["object", "null"], "additionalProperties": _DEFAULTS}
_MERGE: Schema = _object(
    {"tokens": _said("How many tokens start the step together.", {"type": "integer", "minimum": 1, "maximum": 10_000})},
    "tokens",
)
_REDUCER: Schema = _object(
    {
        "reduce": _said("How contributions are put together.", _one_of(*REDUCERS)),
        "initial": _said("What it begins with. Left out: what the reducer begins with.", _ANY),
    },
    "reduce",
)
_CONCURRENCY: Schema = _object(
    {
        "key": _said("The text under which executions are counted; a template over `workload`. Must be given.", _TEXT),
        "limit": _said("How many may run at once. Left out: 1.", {"type": "integer", "minimum": 1}),
        "on_conflict": _said("What becomes of one that finds no place. Left out: `queue`.", _one_of(*CONFLICTS)),
    },
    "key",
)
_SEARCHED: Schema = {
    "type": ["object", "string"],
    "properties": {
        "value": _said("An expression over `workload` and `ctx`. Must be given.", _TEXT),
        "type": _said("How it is compared. Left out: `string`.", _one_of(*SEARCH_TYPES)),
    },
    "required": ["value"],
    "additionalProperties": False,
}
_SEARCH: Schema = {"type": ["object", "null"], "additionalProperties": _SEARCHED}
_REDUCED: Schema = {"type": ["object", "null"], "additionalProperties": _REDUCER}
_WHEN: Schema = {"type": ["string", "boolean", "number"]}
_MAP: Schema = {"type": "object"}

_CAUSE = _one_of("failed", "blocked", "cancelled")
_METADATA: Schema = {
    "type": "object",
    "properties": {
        "name": _said("What it is called. Must be given.", _TEXT),
        "path": _said("The name under which other playbooks call it.", _TEXT),
        "version": _said("Its version, which the plan keeps.", _TEXT),
        "description": _said("What it is for, for readers.", _TEXT),
        "labels": _said(
            "Texts by name that all its executions are found by.",
            {"type": ["object", "null"], "additionalProperties": _TEXT},
        ),
    },
}
_CREDENTIAL: Schema = {
    "type": "object",
    "properties": {
        "name": _said("What expressions call it: `keychain.<name>`.", _TEXT),
        "kind": _said("Where the secret comes from.", _one_of(*KEYCHAIN_KINDS)),
        "type": _said("Another name for `kind`.", _TEXT),
    },
}


def _heard(*, timers: bool) -> Schema:
    names: Schema = _either({"type": "string"}, _list_of({"type": "string"}))
    properties: Schema = {"events": _said("The names of the signals.", names)}
    if timers:
        properties["timers"] = _said("Names, each with the duration after which it is up.", {"type": "object"})
    return _or_nothing(_object(properties))


_LOCK: Schema = {
    **_inner("step_policy", "lock", name=_TEXT, through=_either(_list_of(_TEXT), _TEXT)),
    "required": ["name"],
}


VALUES: dict[tuple[str, str], Schema] = {
    ("document", "apiVersion"): _one_of(*VERSIONS),
    ("document", "kind"): {"const": "Playbook"},
    ("document", "metadata"): _METADATA,
    ("document", "executor"): _ref("executor"),
    ("document", "workload"): _either(_MAP, {"type": "null"}),
    ("document", "keychain"): {"type": ["array", "object", "null"], "items": _CREDENTIAL},
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
    ("executor_spec", "search"): _SEARCH,
    ("executor", "kind"): _one_of(*RUNTIMES),
    ("executor", "profile"): _one_of(*RUNTIMES),
    ("executor", "requires"): _or_nothing(
        _object({name: _said(f"The {name} that have to be there, by name.", _list_of(_TEXT)) for name in REQUIRES})
    ),
    ("executor_policy", "failure"): _inner("executor_policy", "failure", mode=_one_of("fail_fast", "best_effort")),
    ("executor_policy", "results"): _inner("executor_policy", "results", reference_first={"type": "boolean"}),
    ("executor_policy", "lifecycle"): _or_nothing(
        _inner("executor_policy", "lifecycle", timeout_s=_LIMIT, after_s=_LIMIT)
    ),
    ("executor_policy", "limits"): _object(
        {name: _said(f"A bound of a run: `{name}`.", {"type": "integer"}) for name in LIMITS}
    ),
    ("step", "step"): _TEXT,
    ("step", "spec"): _ref("step_spec"),
    ("step", "loop"): _ref("loop"),
    ("step", "tool"): _ref("tool"),
    ("step", "next"): _ref("next"),
    ("step_spec", "policy"): _ref("step_policy"),
    ("step_policy", "admit"): _ref("admit"),
    ("step_policy", "failure"): _inner("step_policy", "failure", mode=_one_of("fail_fast", "best_effort")),
    ("step_policy", "compensate"): _either(
        _TEXT,
        _object(
            {
                "step": _said("The step that undoes a run. Must be given.", _TEXT),
                "on": _said(
                    "`started`: also runs that failed or were cut short. Left out: `done`.", _one_of("done", "started")
                ),
            },
            "step",
        ),
    ),
    ("step_policy", "lock"): _either(_TEXT, _LOCK, _list_of(_either(_TEXT, _LOCK))),
    ("step_policy", "cancels"): _either(_list_of(_TEXT), _TEXT),
    ("step_policy", "interrupt"): _heard(timers=True),
    ("step_policy", "terminate"): _one_of("completed", "failed"),
    ("step_policy", "join"): _either(
        _one_of("any", "all", "taken", "first", "settled"), {"type": "integer", "minimum": 1}, _MERGE
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
    ("loop_policy", "lifecycle"): _or_nothing(_inner("loop_policy", "lifecycle", timeout_s=_LIMIT)),
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
    ("step_policy", "lifecycle"): _or_nothing(
        _object(
            {
                "timeout_s": _said(SENTENCES["step_policy", "lifecycle.timeout_s"], _LIMIT),
                "deadline_s": _said("Accepted, noted by lint, and without effect.", _LIMIT),
            }
        )
    ),
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

SECTIONS: dict[tuple[str, str], str] = {
    ("executor_spec", "policy"): "Limits, what a failure stops, how long an execution may take.",
    ("executor_policy", "results"): "Where results are kept.",
    ("executor_policy", "failure"): "What a failure stops that no arc takes.",
    ("executor_policy", "lifecycle"): "How long an execution may take.",
    ("step_spec", "policy"): "Admission, joins, limits, locks and what becomes of the whole.",
    ("step_policy", "lifecycle"): "How long a run of the step may take.",
    ("step_policy", "failure"): "What a failed item of a loop stops.",
    ("loop", "spec"): "How items run: in which order, how many at once, until when.",
    ("loop_spec", "policy"): "When the loop has enough, and how long an iteration may take.",
    ("loop_policy", "lifecycle"): "How long an iteration may take.",
    ("task", "spec"): "Time limits, the policy, and knobs of the kind.",
    ("next", "spec"): "Whether one arc is taken or all that match.",
    ("next_spec", "policy"): "Accepted, noted by lint, and without effect.",
    ("arc", "spec"): "How long the token waits on the way, and its priority.",
    ("then", "allow"): "Of `admit`: whether the token may start the step.",
}
"""(scope, key) → what a section is for of which the reference has its keys alone."""

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
    return _schema("playbook", "A NoETL playbook", _Form(canonical(), VALUES, REQUIRED, frozenset()))


def dialects_schema() -> Schema:
    """The schema of one document in any mix of the dialects: the keys that some reader takes.

    Where dialects write different shapes under one key, any shape stands; steps and tasks may have a tool's fields.
    """
    # Only the shapes of containers hold for all dialects. Under `tool`, `next` and `loop` each dialect had another
    # one, and a schema that knows one of them would underline working files in an editor.
    containers = {row: shape for row, shape in VALUES.items() if "$ref" in shape and row not in _RESHAPED}
    return _schema("playbook-dialects", "A NoETL playbook in any dialect", _Form(combined()[0], containers, {}, _OPEN))


def schema_text() -> str:
    """The schema of canonical playbooks as a JSON document."""
    return _text(playbook_schema())


def dialects_text() -> str:
    """The schema of playbooks in all dialects as a JSON document."""
    return _text(dialects_schema())


class _Form(NamedTuple):
    """The source of a schema: the readers' tables; the shapes of values by scope and key; the required keys by scope;
    and the scopes that take other keys besides (`open`).
    """

    tables: Tables
    values: dict[tuple[str, str], Schema]
    required: dict[str, tuple[str, ...]]
    open: frozenset[str]


_RESHAPED = frozenset({("step", "tool"), ("step", "next"), ("loop", "loop")})
_OPEN = frozenset({"document", "step", "task", "then", "arc", "next", "loop"})


def _text(schema: Schema) -> str:
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


def _schema(name: str, title: str, form: _Form) -> Schema:
    tables = form.tables
    scopes = [name for name in tables._fields if name not in _APART and name != "then"]
    definitions: dict[str, Json] = {name: _scope(form, name, tuple(getattr(tables, name))) for name in scopes}
    # The answer of an admission rule stands in the same `then` as the directives of a task's, so that `allow` is
    # added to their keys.
    definitions["then"] = _scope(form, "then", (*tables.then, "allow"))
    definitions |= {f"task_{kind.name}": _task(form, kind) for kind in _kinds()}
    definitions["task"] = _by_kind(form)
    definitions |= {f"block_{word}": _block(word) for word in tables.task_entries}
    definitions["entry"] = _entry(tuple(tables.task_entries))
    if "loop" in form.required:
        # Items that signals bring may be all that a loop has.
        more: Schema = {"required": ["spec"], "properties": {"spec": {"required": ["more"]}}}
        definitions["loop"] = {**_scope(form, "loop", tuple(tables.loop)), **_either({"required": ["in"]}, more)}
    definitions["tasks"] = _list_of(_ref("entry"))
    definitions["tool"] = _TOOL
    definitions["rule"] = {
        "type": "object",
        "properties": {
            "when": _said("One expression; the first rule whose expression is true decides.", _WHEN),
            "then": _said("What follows.", _ref("then")),
            "else": _said("What follows where no rule before it matched.", _MAP if form.open else _ELSE),
        },
        "additionalProperties": "then" in form.open,
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"https://noetl.io/schema/{name}.schema.json",
        "title": title,
        **_scope(form, "document", tuple(tables.document)),
        "$defs": dict(sorted(definitions.items())),
    }


_ELSE = _first_fit(
    ({"type": "object", "required": ["then"]}, _object({"then": _said("What follows.", _ref("then"))}, "then")),
    ({"type": "object"}, _ref("then")),
    rest={"type": "null"},
)
_TOOL = _first_fit(({"type": "array"}, _ref("tasks")), ({"type": "object"}, _ref("task")), rest={"type": "null"})


def _having(key: str) -> Schema:
    return {"required": [key]}


def _by_kind(form: _Form) -> Schema:
    """A task, its fields checked by its kind. With `if` for each kind, an editor marks a wrong field and
    not the task.
    """
    kinds: list[Json] = [
        {
            "if": {"properties": {"kind": {"const": kind.name}}, "required": ["kind"]},
            "then": _ref(f"task_{kind.name}"),
        }
        for kind in _kinds()
    ]
    kind = _said(SENTENCES["task", "kind"], _one_of(*(kind.name for kind in _kinds())))
    # The keys that tasks of all kinds have are listed here as well, so that an editor offers them before a kind is
    # written. They have no shape here: a fault would be reported twice, here and by the kind.
    said: Schema = {
        key: {"description": SENTENCES.get(("task", key), SECTIONS.get(("task", key), ""))} for key in form.tables.task
    }
    properties: Schema = {**said, "kind": kind}
    return {"type": "object", "properties": properties, "required": ["kind"], "allOf": kinds}


def _entry(blocks: tuple[str, ...]) -> Schema:
    """An entry of a list of tasks: a task, a block, or a task under its label."""
    # A labelled task is a mapping of one key, the name (S000). The docs of the product still write it, so that people
    # will paste it.
    label: Schema = {"type": "object", "minProperties": 1, "maxProperties": 1, "not": {"required": ["name"]}}
    labelled: Schema = {"type": "object", "additionalProperties": _ref("task")}
    return _first_fit(
        (_having("kind"), _ref("task")),
        *[(_having(word), _ref(f"block_{word}")) for word in blocks],
        (label, labelled),
        rest=_ref("task"),
    )


def _block(word: str) -> Schema:
    """An entry of a list of tasks that is none: `{name, choose|while|until}` (LANGUAGE §6)."""
    body = _first_fit(({"type": "array"}, _ref("tasks")), rest=_ref("task"))
    then = _said("The tasks, one or a list. Must be given.", body)
    if word == "choose":
        last = _first_fit(
            ({"type": "array"}, _ref("tasks")), ({"type": "object"}, _object({"then": then})), rest={"type": "null"}
        )
        rule: Schema = {
            "when": _said("One expression; the first branch whose expression is true runs.", _WHEN),
            "then": then,
            "else": _said("The tasks where no branch before it matched; the last branch only.", last),
        }
        inner = _list_of(_object(rule))
    else:
        bounds: Schema = {
            "max_iterations": _said("How many rounds there are at most.", _COUNT),
            "deadline": _said("How long the rounds may take together.", _DURATION),
        }
        if word == "until":
            bounds["delay"] = _said("How long to wait between rounds.", _DURATION)
        asked = "before each round" if word == "while" else "after each round"
        inner = _object(
            {"when": _said(f"One expression, asked {asked}.", _WHEN), "then": then, **bounds}, "when", "then"
        )
    name = _said("Its name, unique in the step.", _TEXT)
    desc = _said("A line for readers.", _TEXT)
    return _object({"name": name, "desc": desc, word: _said(SENTENCES["task_entries", word], inner)}, word)


def _scope(form: _Form, name: str, keys: tuple[str, ...]) -> Schema:
    properties: dict[str, Json] = {key: _value(form, name, key) for key in keys}
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


def _value(form: _Form, scope: str, key: str) -> Schema:
    """The shape of a key's value, with what the key means."""
    shape = form.values.get((scope, key), _ANY)
    sentence = SENTENCES.get((scope, key)) or SECTIONS.get((scope, key))
    return _said(sentence, shape) if sentence is not None else shape


def _kinds() -> list[Kind]:
    return [kind for name in kind_names() if (kind := kind_of(name)) is not None]


def _task(form: _Form, kind: Kind) -> Schema:
    keys = tuple(form.tables.task)
    schema = _scope(form, "task", (*keys, *(name for name in kind.fields if name not in keys)))
    properties: dict[str, Json] = {key: _value(form, "task", key) for key in keys}
    properties.update({name: _field(field) for name, field in kind.fields.items()})
    properties["kind"] = _said(kind.summary, {"const": kind.name})
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
    # Words that are taken in any case are no closed list to a schema, and still what an editor offers.
    if field.values and field.any_case:
        schema = {**schema, "examples": list(field.values)}
    return {**schema, "description": field.doc} if field.doc else schema
