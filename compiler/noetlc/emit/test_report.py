"""The JSON Schema of what `noetl test --json` prints."""

import json

from noetl_ir.expr import Json
from noetl_ir.suite import PARTS, STATUSES

_Schema = dict[str, Json]

_TEXT: _Schema = {"type": "string"}
_COUNT: _Schema = {"type": "integer", "minimum": 0}
_SECONDS: _Schema = {"type": "number", "minimum": 0}
_YES: _Schema = {"type": "boolean"}
_ANY: _Schema = {}


def schema_text() -> str:
    """The schema as indented JSON; ends in a line break."""
    return json.dumps(schema(), indent=2, ensure_ascii=False) + "\n"


def schema() -> _Schema:
    """The schema as a value."""
    counts = _object({
        "passed": (_COUNT, "Cases that do all that is expected of them."),
        "failed": (_COUNT, "Cases that do not."),
        "unread": (_COUNT, "Files that cannot be read."),
    })  # fmt: skip
    suite = _object({
        "file": (_TEXT, "The file of tests."),
        "playbook": (_TEXT, "Its playbook."),
        "cases": (_list(_case()), "The cases that were run, in the order of the file."),
    })  # fmt: skip
    unread = _object({
        "file": (_TEXT, "The file of tests."),
        "said": (_TEXT, "What the compiler said of it, or of its playbook: lines for people."),
    })  # fmt: skip
    root: dict[str, tuple[_Schema, str]] = {
        # Programs of others read this: a change that breaks them gets another number.
        "version": ({"const": 1}, "The version of this form."),
        "ok": (_YES, "Whether every case does what is expected of it, and every file could be read."),
        "counts": (counts, "How many there are."),
        "seconds": (_SECONDS, "The real time that all took."),
        "suites": (_list(suite), "A suite for each file of tests."),
        "unread": (_list(unread), "The files that cannot be read: of them no case was run."),
        "coverage": (_list(_coverage()), "With --coverage: how much of each playbook was reached."),
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "The outcome of tests of NoETL playbooks (noetl test --json)",
        **_object(root, optional=("coverage",)),
        "$defs": {"place": _place()},
    }


def _object(keys: dict[str, tuple[_Schema, str]], optional: tuple[str, ...] = ()) -> _Schema:
    """A mapping with these keys, each with its sentence, and no others."""
    properties: dict[str, Json] = {key: {"description": sentence, **shape} for key, (shape, sentence) in keys.items()}
    required: list[Json] = [key for key in keys if key not in optional]
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def _list(item: _Schema) -> _Schema:
    return {"type": "array", "items": item}


def _or_null(shape: _Schema) -> _Schema:
    return {"anyOf": [shape, {"type": "null"}]}


_AT: _Schema = {"$ref": "#/$defs/place"}


def _place() -> _Schema:
    return _object({
        "file": (_TEXT, "The file."),
        "line": (_COUNT, "The line, from 1; 0 of the file as a whole."),
        "column": (_COUNT, "The column, from 1."),
        "end_line": (_COUNT, "The line of the end."),
        "end_column": (_COUNT, "The column behind the end."),
    })  # fmt: skip


def _case() -> _Schema:
    failure = _object(
        {
            "message": (_TEXT, "What is wrong."),
            "at": (_AT, "Where the file of tests says what is expected."),
            "in_playbook": (_or_null(_AT), "The place in the playbook that it is about."),
            "details": (_list(_TEXT), "Further sentences."),
            "where": (_TEXT, "What differs, as `result.rows[0].id`, `status`, `fields.url`."),
            "expected": (
                _ANY,
                "What is expected there; left out where nothing is, and of more than 10,000 characters.",
            ),
            "actual": (_ANY, "What is there; left out as `expected` is."),
        },
        optional=("where", "expected", "actual"),
    )
    end = _object({
        "task": (_TEXT, "The task."),
        "index": (_list(_COUNT), "Its iteration, from 0: one number for each loop around it."),
        "status": (_TEXT, "How the attempt ended: `ok` or `error`."),
        "code": (_or_null(_TEXT), "The code of its error."),
        "directive": (_TEXT, "What was decided then: `continue`, `retry`, `jump`, `break` or `fail`."),
    })  # fmt: skip
    step = _object({
        "step": (_TEXT, "The step."),
        "at": (_or_null(_AT), "Where it is written."),
        "failed": (_YES, "Whether this run of it failed."),
        "ends": (_list(end), "How its tasks ended, in that order; of more than 12 the first and the last."),
        "ends_left_out": (_COUNT, "How many are left out in the middle."),
    })  # fmt: skip
    return _object({
        "name": (_TEXT, "The name of the case."),
        "at": (_AT, "Where it is written."),
        "ok": (_YES, "Whether it does all that is expected of it."),
        "status": (_or_null({"enum": [*STATUSES, "interrupted"]}),
                   "How the run ended, `interrupted` where it was stopped; null where there was none."),
        "seconds": (_SECONDS, "The real time that it took."),
        "failures": (_list(failure), "The expectations that were not met."),
        "path": (_list(step), "The path taken: each run of a step; of more than 40 the first and the last."),
        "steps_left_out": (_COUNT, "How many are left out in the middle."),
    })  # fmt: skip


def _coverage() -> _Schema:
    kind = _object({"parts": (_COUNT, "How many there are."), "reached": (_COUNT, "How many were reached.")})
    part = _object({
        "kind": ({"enum": [*PARTS]}, "What it is."),
        "name": (_TEXT, "Its name."),
        "at": (_AT, "Where it is written."),
        "perhaps_never": (_YES, "Whether it is not known that a run can reach it."),
    })  # fmt: skip
    return _object({
        "playbook": (_TEXT, "The playbook."),
        "percent": ({"type": "number", "minimum": 0, "maximum": 100}, "The share of its parts that was reached."),
        "parts": (_COUNT, "How many parts a run can reach."),
        "reached": (_COUNT, "How many of them some case reached."),
        "kinds": ({"type": "object", "propertyNames": {"enum": [*PARTS]}, "additionalProperties": kind},
                  "The same, by what they are."),
        "missing": (_list(part), "The parts that no case reached."),
        "never": (_COUNT, "How many parts are left out, since no run can reach them."),
    })  # fmt: skip
