"""JSON Schemas that results are held against: a task names one in `spec.schema_hint` (v10 §10).

The registry is a folder of the worker's root, `schemas`: `orders/v1` is `schemas/orders/v1.json`. A schema may refer to
others by their names, `{"$ref": "/address"}`, and to nothing elsewhere. A result that is not what its schema says is
the error `result.schema`, which keeps the result; its message has places and what the schema asks there, never a value.
Where there is no usable schema of the name, the tool does not run: `schema.missing`, `schema.invalid`.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import cache, partial
from itertools import islice
from typing import TYPE_CHECKING

from noetl.host.confined_files import FileRefused, inside, read_file
from noetl.ports import ToolCall
from noetl_ir.expr import Json
from noetl_ir.outcome import Outcome, error
from noetl_ir.patterns import LatePattern

if TYPE_CHECKING:
    from jsonschema.exceptions import SchemaError, ValidationError
    from referencing import Resource

KNOB = "schema_hint"
FOLDER = "schemas"
MOST_BYTES = 4 * 1024 * 1024
MOST_TOLD = 3

_NAME = LatePattern(r"[A-Za-z0-9_\-]+([./][A-Za-z0-9_\-]+)*")

OutcomeCheck = Callable[[Outcome], Outcome]


def checked_by(call: ToolCall, root: str) -> OutcomeCheck | Outcome | None:
    """The check that a task's outcome has to go through; the error that there is no such schema; None where it names
    none.
    """
    name = call.knobs.get(KNOB)
    if name is None:
        return None
    if not isinstance(name, str) or _NAME.fullmatch(name) is None:
        return error("schema.invalid", f"{KNOB} is the name of a schema, as in orders/v1")
    try:
        return _check(name, root)
    except FileRefused as problem:
        return error("schema.missing", f"there is no schema {name!r}: {problem}")
    except _Unusable as problem:
        return error("schema.invalid", f"the schema {name!r} cannot be used: {problem}")


class _Unusable(Exception):
    """A schema that is none; the text says why."""


def _check(name: str, root: str) -> OutcomeCheck:
    """Holds an outcome against a schema. Raises FileRefused, _Unusable."""
    # Imported here: the import is slow, and most playbooks name no schema.
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import SchemaError
    from referencing import Registry
    from referencing.exceptions import Unresolvable

    schema = _read(name, root)
    try:
        Draft202012Validator.check_schema(schema)
    except SchemaError as problem:
        raise _Unusable(f"at {_place(problem)}: {problem.validator} is not as it has to be") from None
    # Asked for each value that is held against a reference, and the file is the same for all of them.
    resource = cache(partial(_resource, root=root))
    registry: Registry[Json] = Registry(retrieve=resource)  # type: ignore[call-arg]
    validator = Draft202012Validator(schema, registry=registry)  # type: ignore[arg-type]

    def conforming(outcome: Outcome) -> Outcome:
        # An error has its own shape, and a rule is to see why the tool failed and not that a failure is no order.
        if outcome.status != "ok":
            return outcome
        try:
            # A list of a million wrong rows has a million errors. One more than is told shows that there are more.
            found = list(islice(validator.iter_errors(outcome.result), MOST_TOLD + 1))
        except Unresolvable:
            return error("schema.invalid", f"the schema {name!r} refers to one that is not there")
        except RecursionError:
            return error("schema.invalid", f"the schema {name!r} refers to itself without an end")
        if not found:
            return outcome._replace(extras={**outcome.extras, KNOB: name})
        told = "; ".join(_told(problem) for problem in found[:MOST_TOLD])
        more = "; and more" if len(found) > MOST_TOLD else ""
        message = f"the result is not what the schema {name!r} says: {told}{more}"
        return error("result.schema", message, result=outcome.result)._replace(extras=outcome.extras)

    return conforming


def _read(name: str, root: str) -> bool | dict[str, Json]:
    """A schema of the registry. Raises FileRefused, _Unusable."""
    from noetl.clients.content import json_of

    data = read_file(inside(root, f"{FOLDER}/{name}.json"), MOST_BYTES)
    try:
        found = json_of(data)
    except ValueError as problem:
        raise _Unusable(str(problem)) from None
    if not isinstance(found, bool | dict):
        raise _Unusable("a schema is a mapping")
    return found


def _resource(uri: str, root: str) -> Resource[Json]:
    """The schema that another one refers to by its name."""
    from referencing.exceptions import NoSuchResource
    from referencing.jsonschema import DRAFT202012

    # Only a name of the registry is followed: a schema from a repository must not make the worker fetch an address,
    # or a file outside of its folder.
    name = uri.lstrip("/")
    if _NAME.fullmatch(name) is not None:
        with suppress(FileRefused, _Unusable):
            return DRAFT202012.create_resource(_read(name, root))
    raise NoSuchResource(ref=uri)  # type: ignore[call-arg]


_BOUNDS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength", "maxLength")
_COUNTS = ("minItems", "maxItems", "minProperties", "maxProperties")
_ASKED = frozenset(("type", "enum", "const", "required", "pattern", "format", *_BOUNDS, *_COUNTS))
"""Keywords whose own value says what they ask."""


def _told(problem: ValidationError) -> str:
    """The fault of a value, without the value that is: where, and what the schema asks there."""
    if problem.validator in _ASKED:
        if lacking := _lacking(problem):
            return f"at {_place(problem)}, the key `{lacking[:200]}` is missing"
        return f"at {_place(problem)}, {problem.validator} must be {str(problem.validator_value)[:200]}"
    return f"at {_place(problem)}, {problem.validator} does not hold"


def _lacking(problem: ValidationError) -> str:
    """The first key that is required and not there, "" where the schema asks something else."""
    wanted, there = problem.validator_value, problem.instance
    if problem.validator != "required" or not isinstance(wanted, list) or not isinstance(there, dict):
        return ""
    return next((str(key) for key in wanted if key not in there), "")


def _place(problem: ValidationError | SchemaError) -> str:
    return "/".join(map(str, problem.absolute_path)) or "the top"
