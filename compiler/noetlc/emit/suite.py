"""The JSON Schema of files of tests (`*.test.yaml`), for editors; names are held against the playbook by `noetl test`.

Where a case has a `table`, any value may be written as `{{ row.name }}`: a text is allowed everywhere.
"""

import json

from noetl_ir.expr import Json
from noetl_ir.registry import names
from noetl_ir.suite import REAL_KINDS, STATUSES, CaseLimits
from noetlc.emit.event import EVENTS

_Schema = dict[str, Json]

_ROW: _Schema = {"type": "string", "pattern": "\\{\\{\\s*row\\."}
_ANY: _Schema = {}
_DURATION: _Schema = {"type": ["number", "string"]}
_NAME: _Schema = {"type": "string"}
_PLACE: dict[str, tuple[_Schema, str]] = {
    "step": (_NAME, "The step; any when left out."),
    "task": (_NAME, "The task; any when left out."),
    "run": ({"type": "integer", "minimum": 1}, "Which run of the step, from 1."),
    "index": ({"type": ["integer", "array"]}, "The iteration, from 0; in nested loops a list."),
    "visit": ({"type": "integer", "minimum": 1}, "Which arrival at the task in a run, from 1."),
    "attempt": ({"type": "integer", "minimum": 1}, "Which try, from 1."),
}
_COUNT: _Schema = {"type": "integer", "minimum": 0}


def schema_text() -> str:
    """The schema as indented JSON; ends in a line break."""
    return json.dumps(schema(), indent=2, ensure_ascii=False) + "\n"


def schema() -> _Schema:
    """The schema as a value."""
    shared = _shared()
    case = {
        "case": (_NAME, "The name of the case: what it shows."),
        "table": (_list({"type": "object"}), "Rows of values: one case for each, with `{{ row.name }}` put in."),
        **shared,
        "expect": (_expect(), "What the run is held against."),
    }
    root = {
        "playbook": (_NAME, "The playbook, from this file's folder; NAME.yaml of NAME.test.yaml when left out."),
        **shared,
        "cases": (_list(_object(case, ("case", "expect"))), "The cases: each is one run of the playbook."),
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Tests of a NoETL playbook (*.test.yaml)",
        **_object(root, ("cases",)),
    }


def _object(keys: dict[str, tuple[_Schema, str]], required: tuple[str, ...] = ()) -> _Schema:
    """A mapping with these keys, each with its sentence, and no others but `x-…`."""
    properties: dict[str, Json] = {}
    for key, (shape, sentence) in keys.items():
        # A row may stand in for a number or a word alone: lists and mappings have their rows inside, and texts are
        # texts.
        is_plain = not shape or shape.get("type") in ("string", "array", "object")
        open_: _Schema = shape if is_plain else {"anyOf": [shape, _ROW]}
        properties[key] = {"description": sentence, **open_}
    more: _Schema = {"required": [*required]} if required else {}
    return {
        "type": "object", "properties": properties, "patternProperties": {"^x-": {}}, "additionalProperties": False,
        **more,
    }  # fmt: skip


def _list(item: _Schema) -> _Schema:
    return {"type": "array", "items": item}


def _shared() -> dict[str, tuple[_Schema, str]]:
    kinds: list[Json] = [*names("noetl_ir.kinds")]
    limits = _object({
        "events": ({"type": "integer", "minimum": 1}, "Events before a run is stopped; "
                   f"{CaseLimits().events} by default."),
        "seconds": ({"type": "number", "exclusiveMinimum": 0}, "Seconds of real time; "
                    f"{CaseLimits().seconds:g} by default."),
        "repeated": ({"type": "integer", "minimum": 1}, "Events in a row in which no task begins for the first time; "
                     f"{CaseLimits().repeated} by default."),
    })  # fmt: skip
    signal = _object({
        "at": (_DURATION, "When it comes, on the virtual clock."),
        "before": ({"type": "boolean"}, "With `key`, instead of `at`: it is kept under that when the run begins."),
        "name": (_NAME, "Its name."),
        "data": (_ANY, "What it brings."),
        "key": (
            {"type": ["string", "number"]},
            "Instead of to the run itself it goes to whoever waits under this key, the `correlation` of a `wait`.",
        ),
        "keep_for": (_DURATION, "With `key`: how long it is kept for a wait that comes later; 7d when left out."),
    }, ("name",))  # fmt: skip
    return {
        "payload": ({"type": "object"}, "Values that replace those of the workload."),
        "outcomes": (
            _list(_outcome()),
            "What stands in for tools: the first entry that fits an attempt is its outcome.",
        ),
        "signals": (_list(signal), "Signals that reach the run, or whoever waits under a key."),
        "real": (_list({"enum": kinds}), f"Kinds that run for real; by default {', '.join(REAL_KINDS)}."),
        "keychain": (
            {"type": "object", "additionalProperties": {"type": ["string", "object"]}},
            "Invented secrets, by the name of their entry: there are no others. A text is the entry's one value.",
        ),
        "files": (_list(_NAME), "Files and folders beside this file that are copied into the folder of the run."),
        "limits": (limits, "When a run is stopped that goes on and on."),
    }


def _outcome() -> _Schema:
    outcome: _Schema = {
        "type": "object",
        "properties": {
            "status": {"description": "Whether it succeeded.", "anyOf": [{"enum": ["ok", "error"]}, _ROW]},
            "result": {"description": "The result; of http the body, or the whole response."},
            "error": {"description": "The error: `code`, `message`, `retryable`.", "type": ["object", "string"]},
        },
    }
    return _object({
        **_PLACE,
        "times": ({"type": "integer", "minimum": 1}, "How often it is used; any number of times when left out."),
        "takes": (_DURATION, "How long the attempt takes, on the virtual clock."),
        "outcome": (outcome, "What comes of it; a success without a result when left out."),
    })  # fmt: skip


def _expect() -> _Schema:
    event = _object({
        "event": ({"enum": [*sorted(EVENTS)]}, "The name of the event."),
        **_PLACE,
        "never": ({"const": True}, "It does not happen."),
        "times": (_COUNT, "It happens so often."),
        "at_most": (_COUNT, "It happens at most so often."),
        "at_least": (_COUNT, "It happens at least so often."),
    }, ("event",))  # fmt: skip
    call = _object({
        **_PLACE,
        "times": (_COUNT, "How many such calls there are; at least one when left out."),
        "fields": ({"type": "object"}, "Fields of the task as they were rendered; those that are named."),
        "args": ({"type": "object"}, "Args of the task as they were rendered; those that are named."),
    })  # fmt: skip
    error = _object({
        "code": (_NAME, "Its code."),
        "message": (_NAME, "Its message."),
        "step": (_NAME, "The step that failed."),
        "task": (_NAME, "The task that failed."),
        "kind": (_NAME, "The class of the error, as `timeout`."),
        "retryable": ({"type": "boolean"}, "Whether another try may help."),
    })  # fmt: skip
    bounds = _object({"at_most": (_DURATION, "At most."), "at_least": (_DURATION, "At least.")})
    # What expects something by its entries alone has one: without any it would hold of every run.
    some: _Schema = {"minItems": 1}
    bounds["minProperties"] = 1
    return _object({
        "status": ({"enum": [*STATUSES]}, "How the run ends; `completed` unless this or `error` is given."),
        "error": (error, "The error that the run fails with."),
        "steps": (_list(_NAME), "The steps that run, all of them, in their order."),
        "steps_in_any_order": (_list(_NAME), "The steps that run, all of them."),
        "not_run": ({**_list(_NAME), **some}, "Steps that do not run."),
        "result": (_ANY, "The result of the run."),
        "result_includes": ({"type": "object"}, "What the result holds among other keys, at any depth."),
        "results": ({"type": "object", "minProperties": 1}, "Results of steps, by name: of each its latest."),
        "ctx": ({"type": "object", "minProperties": 1}, "Keys of `ctx` at the end; those that are named."),
        "calls": ({**_list(call), **some}, "Attempts at tasks, with their fields and args as they were rendered."),
        "events": ({**_list(event), **some}, "How often events happen."),
        "duration": ({"anyOf": [_DURATION, bounds]}, "How long the run takes, on the virtual clock."),
    })  # fmt: skip
