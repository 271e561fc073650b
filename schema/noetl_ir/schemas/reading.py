"""Whether something is a JSON Schema that can be used: each keyword with a value of its kind, within limits.

A keyword that nobody knows is a mistake and no remark: `minimun: 3` would let everything through. So is `default`,
which fills in nothing.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import TypeAlias

from noetl_ir.expr import Json
from noetl_ir.nearest import nearest
from noetl_ir.records import NamedTuple
from noetl_ir.schemas.formats import FORMATS
from noetl_ir.schemas.patterns import BadPattern, pattern_of

MAX_DEPTH = 32
MAX_PARTS = 5_000
"""Values in a schema."""
MAX_TEXT = 100_000
"""Characters of all texts of a schema."""

TYPES = ("string", "integer", "number", "boolean", "object", "array", "null")

_Path: TypeAlias = tuple[str, ...]


class SchemaFault(NamedTuple):
    """A fault of a schema: where in it, what, and what to write instead. `word` is what `fix` would be written for."""

    path: _Path
    message: str
    help: str = ""
    fix: str = ""


def misuses(schema: Json) -> tuple[SchemaFault, ...]:
    """All that is wrong with a schema; a schema without a fault can be used with `faults`."""
    too_much = _too_much(schema)
    if too_much is not None:
        return (too_much,)
    # Circles are looked for in a schema that is one: `resolved` and the walk below rely on the shapes of keywords.
    found = tuple(_of_schema(schema, ()))
    return found or tuple(_circles(schema))


def is_text(schema: Json, path: tuple[str, ...] = ()) -> bool:
    """Whether a schema says `string` of a value, of the one at `path` inside it."""
    here = schema
    for key in path:
        inner = here.get("properties") if isinstance(here, dict) else None
        if not isinstance(inner, dict) or key not in inner:
            inner = {key: here.get("additionalProperties")} if isinstance(here, dict) else {}
        here = inner.get(key)
    return isinstance(here, dict) and here.get("type") == "string"


def _too_much(schema: Json) -> SchemaFault | None:
    """The limit that a schema is over."""
    # A list and no recursion: this is what keeps a deep schema from the recursive readers below.
    waiting: list[tuple[Json, int]] = [(schema, 1)]
    parts = characters = 0
    while waiting:
        here, depth = waiting.pop()
        parts += 1
        if depth > MAX_DEPTH:
            return SchemaFault((), f"it is nested deeper than {MAX_DEPTH} levels")
        if isinstance(here, dict):
            characters += sum(map(len, here))
            waiting += [(value, depth + 1) for value in here.values()]
        elif isinstance(here, list):
            waiting += [(value, depth + 1) for value in here]
        elif isinstance(here, str):
            characters += len(here)
        # What waits counts, so that a list of a million values is refused before they are looked at.
        if parts + len(waiting) > MAX_PARTS or characters > MAX_TEXT:
            return SchemaFault((), f"it is larger than {MAX_PARTS:,} values or {MAX_TEXT:,} characters")
    return None


_Found: TypeAlias = Iterator[SchemaFault]
_Asked: TypeAlias = Callable[[Json, _Path], _Found]


def _of_schema(schema: Json, path: _Path) -> _Found:
    if isinstance(schema, bool):
        return
    if not isinstance(schema, dict):
        help = ""
        if isinstance(schema, str):
            near = schema if schema in TYPES else nearest(schema, TYPES)
            help = f"write `{{type: {near or 'string'}}}`"
        yield SchemaFault(path, "a schema is a mapping", help, help[7:-1] if help else "")
        return
    for key, value in schema.items():
        asked = _KEYWORDS.get(key)
        if asked is not None:
            yield from asked(value, (*path, key))
        elif key in _REFUSED:
            yield SchemaFault((*path, key), f"`{key}` is not supported", _REFUSED[key])
        else:
            near = nearest(key, _TOLD)
            help = f"did you mean `{near}`?" if near else ""
            yield SchemaFault((*path, key), f"unknown keyword `{key}`", help, near)


def _anything(value: Json, path: _Path) -> _Found:
    yield from ()


def _schemas(value: Json, path: _Path) -> _Found:
    """A mapping of schemas."""
    if not isinstance(value, dict):
        yield SchemaFault(path, f"`{path[-1]}` is a mapping of schemas")
        return
    for key, inner in value.items():
        yield from _of_schema(inner, (*path, key))


def _patterned(value: Json, path: _Path) -> _Found:
    yield from _schemas(value, path)
    for key in value if isinstance(value, dict) else ():
        yield from _pattern(key, (*path, key))


def _listed(value: Json, path: _Path) -> _Found:
    """A list of schemas."""
    if not isinstance(value, list) or not value:
        yield SchemaFault(path, f"`{path[-1]}` is a list of schemas")
        return
    for at, inner in enumerate(value):
        yield from _of_schema(inner, (*path, str(at)))


def _type(value: Json, path: _Path) -> _Found:
    names = value if isinstance(value, list) else [value]
    for name in names:
        if name not in TYPES:
            near = _MEANT.get(name) or nearest(name, TYPES) if isinstance(name, str) else ""
            help = f"did you mean `{near}`?" if near else f"one of {', '.join(TYPES)}"
            fix = near if near and names is not value else ""
            yield SchemaFault(path, f"`{str(name)[:40]}` is no type", help, fix)
    if not names:
        yield SchemaFault(path, "`type` names no type")


_MEANT = {
    **dict.fromkeys(("text", "str", "varchar", "date", "datetime"), "string"),
    **dict.fromkeys(("int", "long", "whole"), "integer"),
    **dict.fromkeys(("float", "double", "decimal"), "number"),
    **dict.fromkeys(("bool", "flag"), "boolean"),
    **dict.fromkeys(("map", "mapping", "dict", "json", "struct"), "object"),
    **dict.fromkeys(("list", "tuple", "set"), "array"),
    **dict.fromkeys(("none", "nil"), "null"),
}
"""What other languages call the types."""


def _number(value: Json, path: _Path) -> _Found:
    if not _is_number(value):
        yield SchemaFault(path, f"`{path[-1]}` is a number")


def _positive(value: Json, path: _Path) -> _Found:
    # By its digits: a whole number that is too large for a float is infinite so, and would be an error otherwise.
    if not _is_number(value) or float(str(value)) <= 0:
        yield SchemaFault(path, f"`{path[-1]}` is a number above 0")


def _count(value: Json, path: _Path) -> _Found:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        yield SchemaFault(path, f"`{path[-1]}` is a whole number from 0")


def _is_number(value: Json) -> bool:
    # YAML has infinities, which JSON does not.
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < float("inf")


def _flag(value: Json, path: _Path) -> _Found:
    if not isinstance(value, bool):
        yield SchemaFault(path, f"`{path[-1]}` is true or false")


def _text(value: Json, path: _Path) -> _Found:
    if not isinstance(value, str):
        yield SchemaFault(path, f"`{path[-1]}` is a text")


def _texts(value: Json, path: _Path) -> _Found:
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        yield SchemaFault(path, f"`{path[-1]}` is a list of keys")


def _enum(value: Json, path: _Path) -> _Found:
    if not isinstance(value, list) or not value:
        yield SchemaFault(path, "`enum` is a list of the values that there may be")


def _pattern(value: Json, path: _Path) -> _Found:
    try:
        if isinstance(value, str):
            pattern_of(value)
        else:
            yield SchemaFault(path, "`pattern` is a text")
    except BadPattern as problem:
        yield SchemaFault(path, f"the pattern cannot be used: {problem}")


def _format(value: Json, path: _Path) -> _Found:
    if not isinstance(value, str) or value not in FORMATS:
        near = nearest(value, tuple(FORMATS)) if isinstance(value, str) else ""
        help = f"did you mean `{near}`?" if near else f"known are {', '.join(FORMATS)}; say others by `pattern`"
        yield SchemaFault(path, f"`{str(value)[:40]}` is no format", help, near)


def _reference(value: Json, path: _Path) -> _Found:
    if not isinstance(value, str) or not value.startswith("#"):
        help = "write the schema under `$defs` here, and `$ref: '#/$defs/NAME'`"
        yield SchemaFault(path, "`$ref` leads into this schema only: nothing is fetched", help)


def _needed(value: Json, path: _Path) -> _Found:
    if not isinstance(value, dict):
        yield SchemaFault(path, f"`{path[-1]}` is a mapping of keys to lists of keys")
        return
    for key, inner in value.items():
        yield from _texts(inner, (*path, key))


_KEYWORDS: Mapping[str, _Asked] = {
    "type": _type, "enum": _enum, "const": _anything,
    **dict.fromkeys(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"), _number),
    "multipleOf": _positive,
    **dict.fromkeys(("minLength", "maxLength", "minItems", "maxItems", "minContains", "maxContains"), _count),
    **dict.fromkeys(("minProperties", "maxProperties"), _count),
    "pattern": _pattern, "format": _format, "uniqueItems": _flag,
    **dict.fromkeys(("items", "contains", "additionalProperties", "propertyNames", "not", "if", "then", "else"),
                    _of_schema),
    **dict.fromkeys(("prefixItems", "allOf", "anyOf", "oneOf"), _listed),
    **dict.fromkeys(("properties", "dependentSchemas", "$defs"), _schemas),
    "patternProperties": _patterned, "required": _texts, "dependentRequired": _needed, "$ref": _reference,
    **dict.fromkeys(("title", "description", "$comment"), _text),
    # Remarks: the draft has them hold of nothing, so any value may stand there.
    **dict.fromkeys(("examples", "deprecated", "readOnly", "writeOnly", "contentMediaType", "contentEncoding"),
                    _anything),
}  # fmt: skip

_TOLD = tuple(_KEYWORDS)

_REFUSED = {
    "default": "a schema fills in nothing: write the default under `workload`",
    "unevaluatedProperties": "write `additionalProperties`",
    "unevaluatedItems": "write `items` behind `prefixItems`",
    "$dynamicRef": "write `$ref`",
    "$id": "a `$ref` here begins with `#`",
    "$anchor": "a `$ref` here is a path, as in `#/$defs/NAME`",
    "$schema": "all schemas here are of draft 2020-12",
    "definitions": "write `$defs`",
    "additionalItems": "write `items` behind `prefixItems`",
    "dependencies": "write `dependentRequired` or `dependentSchemas`",
}
"""Keywords of JSON Schema that are not known here, each with what to write."""

_IN_PLACE = ("allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas", "$ref")
"""Keywords whose schemas are held against the value itself and not against a part of it."""


def resolved(root: Json, reference: str) -> Json:
    """The schema of a reference into `root`; None where there is none. A bool or mapping is one."""
    here: Json = root
    for word in reference[1:].split("/")[1:] if reference.startswith("#/") else ():
        key = word.replace("~1", "/").replace("~0", "~")
        if isinstance(here, dict) and key in here:
            here = here[key]
        # RFC 6901: an index has no leading zeros. More than nine digits are more than any list here has.
        elif isinstance(here, list) and key.isdecimal() and key == str(int(key[:9])) and int(key) < len(here):
            here = here[int(key)]
        else:
            return None
    fits = reference == "#" or reference.startswith("#/")
    return here if fits and isinstance(here, bool | dict) else None


def _circles(root: Json) -> _Found:
    """References that lead to nothing, or back to themselves without a step into the value."""
    state: dict[int, bool] = {}
    # Only what was read as a schema is one: the same words under `const` or `examples` are data.
    schemas = [*_all_schemas(root)]
    known = {id(schema) for schema, _ in schemas}
    for schema, path in schemas:
        reference = schema.get("$ref")
        if isinstance(reference, str):
            target = resolved(root, reference)
            if not isinstance(target, bool) and id(target) not in known:
                yield SchemaFault((*path, "$ref"), f"`{reference[:80]}` leads to no schema")
                return
    for schema, path in schemas:
        if _comes_back(root, schema, state):
            yield SchemaFault(path, "it refers to itself without an end")
            return


def _comes_back(root: Json, schema: dict[str, Json], state: dict[int, bool]) -> bool:
    """Whether the schemas that are held against the same value form a circle; `state` is True while one is open."""
    waiting: list[tuple[dict[str, Json], bool]] = [(schema, False)]
    while waiting:
        here, left = waiting.pop()
        if left:
            state[id(here)] = False
        # Met again before it was left: the circle goes through it. One that was left is fine, however many refer to it.
        elif state.get(id(here)):
            return True
        elif id(here) not in state:
            state[id(here)] = True
            waiting.append((here, True))
            waiting += [(inner, False) for inner in _in_place(root, here)]
    return False


def _in_place(root: Json, schema: dict[str, Json]) -> Iterator[dict[str, Json]]:
    for key in _IN_PLACE:
        value = schema.get(key)
        if key == "$ref" and isinstance(value, str):
            value = resolved(root, value)
        inner: list[Json] = []
        if key in ("allOf", "anyOf", "oneOf"):
            inner = value if isinstance(value, list) else []
        elif key == "dependentSchemas":
            inner = [*value.values()] if isinstance(value, dict) else []
        else:
            inner = [value]
        yield from (one for one in inner if isinstance(one, dict))


def _all_schemas(root: Json) -> Iterator[tuple[dict[str, Json], _Path]]:
    """Every schema in a schema."""
    waiting: list[tuple[Json, _Path]] = [(root, ())]
    while waiting:
        here, path = waiting.pop()
        if not isinstance(here, dict):
            continue
        yield here, path
        for key, value in here.items():
            asked = _KEYWORDS.get(key)
            if asked is _of_schema:
                waiting.append((value, (*path, key)))
            elif asked is _listed and isinstance(value, list):
                waiting += [(one, (*path, key, str(at))) for at, one in enumerate(value)]
            elif asked in (_schemas, _patterned) and isinstance(value, dict):
                waiting += [(one, (*path, key, name)) for name, one in value.items()]
