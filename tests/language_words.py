"""The words of the language: which there are, by the JSON Schema that is generated from the tables of its readers, and
which a playbook has.

A word is `place.key`, as `loop_policy.rest`; one of the values that a key may have, as `loop_policy.rest=swallow`; a
form in which a key may be written, as `step_policy.lock:list`, of the keys in `FORMS`; or a name that expressions read,
as `{{action_id}}`, of those in `NAMES`. Places are those of the schema; the fields of a kind stand under its name.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from yaml12 import Loader

SCHEMA: Any = json.loads(
    (Path(__file__).resolve().parents[1] / "schema" / "json" / "playbook.schema.json").read_text("utf-8")
)
FORMS = {
    "executor_spec.compensate_on": ("text", "list"),
    "step_policy.compensate": ("text", "mapping"),
    "step_policy.lock": ("text", "list", "mapping"),
    "step_policy.cancels": ("text", "list"),
    "loop_policy.enough": ("number", "text"),
    "wait.timers": ("duration", "at"),
}
NAMES = (
    "outcome.http.retry_after", "action_id", "event.ok", "event.failed", "event.done", "event.total",
    "event.error.event", "args.status", "args.error", "args.step", "args.result", "args.args", "args.iter",
    "args.index",
)  # fmt: skip
SHAPES = {str: "text", int: "number", float: "number", list: "list", dict: "mapping"}


def words_of_schema() -> set[str]:
    """Every word that there is, fields of all kinds included; names that expressions read are not told by a schema."""
    found = {f"{key}:{form}" for key, forms in FORMS.items() for form in forms}
    found.update(_declared(SCHEMA, "document"))
    for name, schema in SCHEMA["$defs"].items():
        found.update(_declared(schema, _place(name)))
    return found


def words_of(text: str) -> set[str]:
    """The words that a playbook has, of each of its documents."""
    found: set[str] = set()
    for document in yaml.load_all(text, Loader):
        found.update(_written(document, SCHEMA, "document"))
        found.update(
            f"{{{{{name}}}}}" for name in NAMES if re.search(rf"(?<![\w.]){re.escape(name)}(?!\w)", str(document))
        )
    return found


def _place(name: str) -> str:
    kind = name.removeprefix("task_")
    return kind if kind in SCHEMA["$defs"]["task"]["properties"]["kind"]["enum"] else name


def _declared(schema: Any, place: str) -> Iterator[str]:
    if not isinstance(schema, dict):
        return
    for key, inner in schema.get("properties", {}).items():
        yield f"{place}.{key}"
        yield from _declared(inner, f"{place}.{key}")
    yield from (f"{place}={value}" for value in schema.get("enum", ()))
    for part in (
        *schema.get("anyOf", ()),
        *(schema.get(key) for key in ("items", "additionalProperties", "then", "else")),
    ):
        yield from _declared(part, place)


def _written(data: Any, schema: Any, place: str) -> Iterator[str]:
    if not isinstance(schema, dict):
        return
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        yield from _written(data, SCHEMA["$defs"][name], _place(name))
    if "if" in schema:
        yield from _written(data, schema.get("then" if _fits(data, schema["if"]) else "else"), place)
    for part in (*schema.get("allOf", ()), *schema.get("anyOf", ())):
        yield from _written(data, part, place)
    if isinstance(data, dict):
        properties, others = schema.get("properties", {}), schema.get("additionalProperties")
        for key, value in data.items():
            if key in properties:
                yield f"{place}.{key}"
                yield from _forms(f"{place}.{key}", value)
                yield from _written(value, properties[key], f"{place}.{key}")
            elif isinstance(others, dict):
                yield from _written(value, others, place)
    elif isinstance(data, list):
        for item in data:
            yield from _written(item, schema.get("items"), place)
    elif data in schema.get("enum", ()):
        yield f"{place}={data}"


def _fits(data: Any, condition: Any) -> bool:
    """Whether data meet a condition, of the sorts that the schema has."""
    types = {"array": list, "object": dict, "string": str, "null": type(None)}
    fits = "type" not in condition or isinstance(data, types[condition["type"]])
    keys = data if isinstance(data, dict) else {}
    fits = fits and all(key in keys for key in condition.get("required", ()))
    for key, inner in condition.get("properties", {}).items():
        fits = fits and (key not in keys or "const" not in inner or keys[key] == inner["const"])
    if "maxProperties" in condition:
        fits = fits and len(keys) == condition["maxProperties"]
    return fits and ("not" not in condition or not _fits(data, condition["not"]))


def _forms(key: str, value: Any) -> Iterator[str]:
    if key == "wait.timers":
        yield from (f"{key}:{'at' if isinstance(each, dict) else 'duration'}" for each in value.values())
    elif key in FORMS:
        yield f"{key}:{SHAPES[type(value)]}"
        if isinstance(value, list):
            yield from (f"{key}:{SHAPES[type(each)]}" for each in value if isinstance(each, dict))
