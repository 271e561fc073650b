"""The keys and values that may stand at a place, read from the JSON Schema of playbooks, made of the readers' tables.

The schema is walked along the keys that lead to the place. Of alternatives those that do not fit what stands there are
left out: the fields of a task are those of its kind.
"""

from collections.abc import Iterable, Iterator
from functools import cache

from noetl_ir.records import NamedTuple
from noetlc.emit.schema import Schema, playbook_schema
from noetlc.lsp.cursor import MARK
from noetlc.source.nodes import Mapping as MappingNode
from noetlc.source.nodes import Node, Scalar, Sequence


class Allowed(NamedTuple):
    """A key that may stand in a place: what it means, and whether it must."""

    key: str
    sentence: str
    required: bool


class FittingSchemas(NamedTuple):
    """The schemas that fit a place, and the names of their definitions: `step`, `task_http`, `then`, …"""

    schemas: tuple[Schema, ...]
    scopes: tuple[str, ...]

    def allowed(self) -> list[Allowed]:
        """The keys of the mapping here, each once, in the order of the schema."""
        found: dict[str, Allowed] = {}
        for schema in self.schemas:
            required = _listed(schema.get("required"))
            for key, shape in _mapping(schema.get("properties")).items():
                sentence = str(shape.get("description", "")) if isinstance(shape, dict) else ""
                # Several alternatives may have a key; the first sentence that there is counts, and nothing is offered
                # twice.
                old = found.get(key)
                if old is None or (sentence and not old.sentence):
                    found[key] = Allowed(key, sentence, key in required)
        return list(found.values())

    def values(self) -> list[str]:
        """The words that the value here may be."""
        found: list[str] = []
        for schema in self.schemas:
            words = [*_listed(schema.get("enum")), *_listed(schema.get("examples"))]
            words += [schema["const"]] if "const" in schema else []
            if _types(schema) == ["boolean"] and not words:
                # A boolean has no words of its own in the schema, and an author has to write one of two.
                words = [True, False]
            found += [str(word).lower() if isinstance(word, bool) else str(word) for word in words if word is not None]
        return list(dict.fromkeys(found))

    def sentence(self) -> str:
        """The meaning of the key that leads here."""
        return next((str(one["description"]) for one in self.schemas if one.get("description")), "")


@cache
def _schema() -> Schema:
    return playbook_schema()


def place_of(way: Iterable[tuple[Node, "str | int | None"]]) -> FittingSchemas:
    """The place behind a way from the root of a document: each mapping or list on it with the key or number that is
    taken, None where a key is only about to be written.
    """
    schemas: list[tuple[Schema, str]] = [(_schema(), "document")]
    for node, key in way:
        fitting = [found for schema, scope in schemas for found in _fitting(schema, scope, node)]
        if key is None:
            return _place(fitting)
        schemas = [below for schema, _ in fitting for below in _below(schema, key)]
    last = [found for schema, scope in schemas for found in _fitting(schema, scope, None)]
    return _place(last)


def _place(found: list[tuple[Schema, str]]) -> FittingSchemas:
    return FittingSchemas(
        tuple(schema for schema, _ in found), tuple(dict.fromkeys(scope for _, scope in found if scope))
    )


def _below(schema: Schema, key: "str | int") -> Iterator[tuple[Schema, str]]:
    """The schemas of the value under a key, or of an item."""
    if isinstance(key, int):
        if isinstance(schema.get("items"), dict):
            yield schema["items"], ""  # type: ignore[misc]
        return
    properties = _mapping(schema.get("properties"))
    below = properties[key] if key in properties else schema.get("additionalProperties")
    if isinstance(below, dict):
        yield below, ""


def _fitting(schema: Schema, scope: str, node: Node | None) -> Iterator[tuple[Schema, str]]:
    """A schema with those that it refers to, less the alternatives that a node does not fit; None is any node."""
    waiting = [(schema, scope)]
    while waiting:
        here, name = waiting.pop(0)
        if node is not None and not _is_of_type(here, node):
            continue
        yield here, name
        # All definitions of our own schema stand in one mapping (`#/$defs/NAME`).
        if "$ref" in here:
            below = str(here["$ref"]).rpartition("/")[2]
            waiting.append((_mapping(_mapping(_schema()["$defs"])[below]), below))
        waiting += [
            (one, name) for word in ("anyOf", "allOf") for one in _listed(here.get(word)) if isinstance(one, dict)
        ]
        if "if" in here:
            # The cases of a task go by its `kind`: with the mapping at hand only the fields of that kind are offered.
            taken = "then" if node is None or _holds(_mapping(here["if"]), node) else "else"
            # Without a node it is not known which case it is: all of them may be.
            chosen = [taken] if node is not None else ["then", "else"]
            waiting += [(_mapping(here[word]), name) for word in chosen if word in here]
            if taken == "else":
                yield from _offered(here)


def _offered(schema: Schema) -> Iterator[tuple[Schema, str]]:
    """The key on which a case that was not taken depends: writing it would take it."""
    words = _listed(_mapping(schema["if"]).get("required"))
    target = _mapping(_mapping(schema["then"]).get("properties"))
    if "$ref" in _mapping(schema["then"]):
        below = str(_mapping(schema["then"])["$ref"]).rpartition("/")[2]
        target = _mapping(_mapping(_mapping(_schema()["$defs"])[below]).get("properties"))
    found: Schema = {str(word): target[str(word)] for word in words if str(word) in target}
    if found:
        yield {"properties": found}, ""


def _holds(condition: Schema, node: Node) -> bool:
    """Whether a node fits the condition of a case, of the keywords that our schemas have."""
    if not _is_of_type(condition, node):
        return False
    if not isinstance(node, MappingNode):
        return "required" not in condition and "properties" not in condition
    # The key that is about to be written is none yet, and may become any.
    if "maxProperties" in condition and any(MARK in key.text for key, _ in node.entries):
        return False
    size = len(node.entries)
    if any(node.get(str(key)) is None for key in _listed(condition.get("required"))):
        return False
    if size < _count(condition.get("minProperties"), 0) or size > _count(condition.get("maxProperties"), size):
        return False
    if "not" in condition and _holds(_mapping(condition["not"]), node):
        return False
    for key, shape in _mapping(condition.get("properties")).items():
        value = node.get(key)
        wanted = shape.get("const") if isinstance(shape, dict) else None
        if value is not None and wanted is not None and (not isinstance(value, Scalar) or value.text != wanted):
            return False
    return True


def _is_of_type(schema: Schema, node: Node) -> bool:
    types = _types(schema)
    if not types:
        return True
    if isinstance(node, MappingNode):
        return "object" in types
    if isinstance(node, Sequence):
        return "array" in types
    # A scalar that is typed may become anything.
    return True


def _types(schema: Schema) -> list[object]:
    found = schema.get("type")
    return list(found) if isinstance(found, list) else [found] if found is not None else []


def _listed(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def _mapping(value: object) -> Schema:
    return value if isinstance(value, dict) else {}


def _count(value: object, left_out: int) -> int:
    return value if isinstance(value, int) else left_out
