"""Whether a value is what a schema says, with a budget of work.

A fault says where in the value, and what the schema asks there, and never the value, which may be a secret.
"""

from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from typing import TypeAlias

from noetl_ir.expr import Json
from noetl_ir.number_keys import number_key
from noetl_ir.schemas.formats import FORMATS
from noetl_ir.schemas.patterns import pattern_of
from noetl_ir.schemas.reading import resolved

MAX_WORK = 2_500_000
"""Units that one value may be: four seconds for the worst, and a list of 100,000 rows needs 1,000,000."""
MAX_FAULTS = 3
MAX_DEPTH = 200
_LONGEST = 120

_Path: TypeAlias = tuple[str | int, ...]
_Found: TypeAlias = Iterator[tuple[_Path, str]]


class TooMuch(Exception):
    """The value is more work than it may be."""


class _Holding:
    """One value that is held against one schema."""

    def __init__(self, root: Json) -> None:
        self.root = root
        self.left = MAX_WORK

    def spend(self, units: int) -> None:
        """Count work. Raises TooMuch."""
        self.left -= units
        if self.left < 0:
            raise TooMuch

    def check(self, schema: Json, value: Json, path: _Path, depth: int) -> _Found:
        """Where the value is not what a schema says."""
        self.spend(1)
        if depth > MAX_DEPTH:
            raise TooMuch
        if isinstance(schema, bool):
            if not schema:
                yield path, "must not be there"
            return
        if not isinstance(schema, dict):
            return
        for keyword, wanted in schema.items():
            # `then`, `else`, `minContains` and the like are read by the keyword that they belong to; remarks hold of
            # nothing.
            check = _CHECKS.get(keyword)
            if check is not None:
                yield from check(self, schema, wanted, value, path, depth + 1)

    def holds(self, schema: Json, value: Json, depth: int) -> bool:
        """Whether a value is what a schema says."""
        # Faults are made lazily: one is enough, and the rest of the value is not looked at.
        return next(self.check(schema, value, (), depth), None) is None


def faults(schema: Json, value: Json, name: str) -> tuple[str, ...]:
    """Where a value that is called `name` is not what a schema without misuse says, a sentence each, the first few."""
    try:
        # The budget is one for the whole value, whichever branch of the schema spends it.
        found = list(islice(_Holding(schema).check(schema, value, (), 0), MAX_FAULTS))
    except TooMuch:
        return (f"`{name}` is more work to check than a value may be",)
    return tuple(dict.fromkeys(f"`{_place(name, path)}` {what}" for path, what in found))


def _place(name: str, path: _Path) -> str:
    parts = (f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
    return (name + "".join(parts))[:_LONGEST]


def type_of(value: Json) -> str:
    """The type of a value in the words of JSON Schema."""
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case int():
            return "integer"
        case float():
            # 1.0 is a whole number to JSON Schema, which knows values and no types of a language.
            return "integer" if value.is_integer() else "number"
        case str():
            return "string"
        case list():
            return "array"
    return "object"


_Check: TypeAlias = Callable[[_Holding, dict[str, Json], Json, Json, _Path, int], _Found]

_WORDS = {
    "string": "a text", "integer": "a whole number", "number": "a number", "boolean": "true or false",
    "object": "a mapping", "array": "a list", "null": "null",
}  # fmt: skip


def _type(h: _Holding, schema: dict[str, Json], wanted: Json, value: Json, path: _Path, depth: int) -> _Found:
    names = wanted if isinstance(wanted, list) else [wanted]
    found = type_of(value)
    if found not in names and not (found == "integer" and "number" in names):
        asked = " or ".join(_WORDS.get(str(name), "") for name in names)
        yield path, f"must be {asked}, and is {_WORDS[found]}"


def _enum(h: _Holding, schema: dict[str, Json], wanted: Json, value: Json, path: _Path, depth: int) -> _Found:
    if isinstance(wanted, list) and not any(_same(h, one, value) for one in wanted):
        yield path, f"must be one of {_told(wanted)}"


def _const(h: _Holding, schema: dict[str, Json], wanted: Json, value: Json, path: _Path, depth: int) -> _Found:
    if not _same(h, wanted, value):
        yield path, f"must be {_told(wanted)}"


def _told(value: Json) -> str:
    import json

    text = json.dumps(value, ensure_ascii=False)
    text = text[1:-1] if isinstance(value, list) else text
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def _number(value: Json) -> int | float | None:
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def _bound(words: str, holds: Callable[[int | float, int | float], bool]) -> _Check:
    def check(h: _Holding, schema: dict[str, Json], wanted: Json, value: Json, path: _Path, depth: int) -> _Found:
        number, bound = _number(value), _number(wanted)
        if number is not None and bound is not None and not holds(number, bound):
            yield path, f"must be {words} {bound}"

    return check


def _multiple(h: _Holding, schema: dict[str, Json], wanted: Json, value: Json, path: _Path, depth: int) -> _Found:
    number, of = _number(value), _number(wanted)
    if number is not None and of is not None:
        from fractions import Fraction  # slow to import, and few ask for it

        # Fractions take time by the length of their numbers, and payloads may bring integers of any length.
        h.spend(20 + (abs(number).bit_length() >> 6 if isinstance(number, int) else 0))
        # By the decimal digits as they are written: 0.3 is a multiple of 0.1.
        exact = Fraction(repr(number)) if isinstance(number, float) else Fraction(number)
        if (exact / Fraction(repr(of))).denominator != 1:
            yield path, f"must be a multiple of {of}"


def _size(kind: type, what: str, least: bool) -> _Check:
    def check(h: _Holding, schema: dict[str, Json], wanted: Json, value: Json, path: _Path, depth: int) -> _Found:
        if not isinstance(value, kind) or not isinstance(wanted, int):
            return
        count = len(value)  # type: ignore[arg-type]
        if count < wanted if least else count > wanted:
            yield path, f"must have at {'least' if least else 'most'} {wanted:,} {what}"

    return check


def _pattern(h: _Holding, schema: dict[str, Json], wanted: Json, value: Json, path: _Path, depth: int) -> _Found:
    if isinstance(value, str) and isinstance(wanted, str) and not pattern_of(wanted).matches(value, h.spend):
        yield path, f"must match {_told(wanted)}"


def _format(h: _Holding, schema: dict[str, Json], wanted: Json, value: Json, path: _Path, depth: int) -> _Found:
    if isinstance(value, str) and isinstance(wanted, str) and wanted in FORMATS and not FORMATS[wanted](value, h.spend):
        yield path, f"must be of the format {wanted}"


def _prefix(h: _Holding, schema: dict[str, Json], wanted: Json, value: Json, path: _Path, depth: int) -> _Found:
    if isinstance(value, list) and isinstance(wanted, list):
        for at, (inner, item) in enumerate(zip(wanted, value, strict=False)):
            yield from h.check(inner, item, (*path, at), depth)


def _items(h: _Holding, schema: dict[str, Json], wanted: Json, value: Json, path: _Path, depth: int) -> _Found:
    if isinstance(value, list):
        prefix = schema.get("prefixItems")
        first = len(prefix) if isinstance(prefix, list) else 0
        for at in range(first, len(value)):
            yield from h.check(wanted, value[at], (*path, at), depth)


def _contains(h: _Holding, schema: dict[str, Json], wanted: Json, value: Json, path: _Path, depth: int) -> _Found:
    if isinstance(value, list):
        found = sum(h.holds(wanted, item, depth) for item in value)
        least, most = schema.get("minContains", 1), schema.get("maxContains")
        if isinstance(least, int) and found < least:
            yield path, f"must have at least {least:,} items that fit `contains`"
        if isinstance(most, int) and found > most:
            yield path, f"must have at most {most:,} items that fit `contains`"


def _unique(h: _Holding, schema: dict[str, Json], wanted: Json, value: Json, path: _Path, depth: int) -> _Found:
    if isinstance(value, list) and wanted is True:
        seen: set[object] = set()
        for at, item in enumerate(value):
            key = _key(h, item, 0)
            if key in seen:
                yield (*path, at), "must not be there twice"
                return
            seen.add(key)


def _properties(h: _Holding, schema: dict[str, Json], wanted: Json, value: Json, path: _Path, depth: int) -> _Found:
    if isinstance(value, dict) and isinstance(wanted, dict):
        for key, inner in wanted.items():
            if key in value:
                yield from h.check(inner, value[key], (*path, key), depth)


def _patterned(h: _Holding, schema: dict[str, Json], wanted: Json, value: Json, path: _Path, depth: int) -> _Found:
    if isinstance(value, dict) and isinstance(wanted, dict):
        for text, inner in wanted.items():
            for key, item in value.items():
                if pattern_of(text).matches(key, h.spend):
                    yield from h.check(inner, item, (*path, key), depth)


def _additional(h: _Holding, schema: dict[str, Json], wanted: Json, value: Json, path: _Path, depth: int) -> _Found:
    if not isinstance(value, dict):
        return
    named, patterned = schema.get("properties"), schema.get("patternProperties")
    for key, item in value.items():
        h.spend(1)
        if isinstance(named, dict) and key in named:
            continue
        if isinstance(patterned, dict) and any(pattern_of(text).matches(key, h.spend) for text in patterned):
            continue
        if wanted is False:
            from noetl_ir.nearest import nearest

            # Looking for a near name takes time that the budget does not count.
            near = nearest(key, tuple(named)) if isinstance(named, dict) and len(named) <= 100 else ""
            yield (*path, key), f"is no key of it{f': did you mean `{near}`?' if near else ''}"
        else:
            yield from h.check(wanted, item, (*path, key), depth)


def _names(h: _Holding, schema: dict[str, Json], wanted: Json, value: Json, path: _Path, depth: int) -> _Found:
    for key in value if isinstance(value, dict) else ():
        for _, what in h.check(wanted, key, path, depth):
            yield (*path, key), f"has a name that {what}"


def _required(h: _Holding, schema: dict[str, Json], wanted: Json, value: Json, path: _Path, depth: int) -> _Found:
    if isinstance(value, dict) and isinstance(wanted, list):
        yield from (((*path, str(key)), "must be given") for key in wanted if str(key) not in value)


def _dependent(h: _Holding, schema: dict[str, Json], wanted: Json, value: Json, path: _Path, depth: int) -> _Found:
    if not isinstance(wanted, dict) or not isinstance(value, dict):
        return
    for key, needed in wanted.items():
        if key in value and isinstance(needed, list):
            for one in needed:
                if str(one) not in value:
                    yield (*path, str(one)), f"must be given where `{key}` is"


def _dependent_schemas(
    h: _Holding, schema: dict[str, Json], wanted: Json, value: Json, path: _Path, depth: int
) -> _Found:
    if not isinstance(wanted, dict) or not isinstance(value, dict):
        return
    for key, inner in wanted.items():
        if key in value:
            yield from h.check(inner, value, path, depth)


def _all(h: _Holding, schema: dict[str, Json], wanted: Json, value: Json, path: _Path, depth: int) -> _Found:
    for inner in wanted if isinstance(wanted, list) else ():
        yield from h.check(inner, value, path, depth)


def _any(h: _Holding, schema: dict[str, Json], wanted: Json, value: Json, path: _Path, depth: int) -> _Found:
    if isinstance(wanted, list) and not any(h.holds(inner, value, depth) for inner in wanted):
        yield path, f"fits none of the {len(wanted)} schemas of `anyOf`"


def _one(h: _Holding, schema: dict[str, Json], wanted: Json, value: Json, path: _Path, depth: int) -> _Found:
    if isinstance(wanted, list) and (found := sum(h.holds(inner, value, depth) for inner in wanted)) != 1:
        yield path, f"must fit one of the {len(wanted)} schemas of `oneOf`, and fits {found or 'none'}"


def _not(h: _Holding, schema: dict[str, Json], wanted: Json, value: Json, path: _Path, depth: int) -> _Found:
    if h.holds(wanted, value, depth):
        yield path, "is what `not` excludes"


def _if(h: _Holding, schema: dict[str, Json], wanted: Json, value: Json, path: _Path, depth: int) -> _Found:
    then = "then" if h.holds(wanted, value, depth) else "else"
    if then in schema:
        yield from h.check(schema[then], value, path, depth)


def _reference(h: _Holding, schema: dict[str, Json], wanted: Json, value: Json, path: _Path, depth: int) -> _Found:
    # Cannot lead to nothing: `misuses` has looked. That it ends, too: each circle goes on into a part of the value, and
    # depth is bounded.
    yield from h.check(resolved(h.root, str(wanted)), value, path, depth)


def _same(h: _Holding, left: Json, right: Json) -> bool:
    return _key(h, left, 0) == _key(h, right, 0)


def _key(h: _Holding, value: Json, depth: int) -> object:
    """A hashable form in which equal values of JSON are equal: 1 and 1.0 are, 1 and true are not."""
    h.spend(1)
    if depth > MAX_DEPTH:
        raise TooMuch
    match value:
        # Before numbers: a bool is an int to Python, and no number to JSON.
        case bool() | None:
            return ("", value)
        case int() | float():
            return number_key(value)
        case str():
            h.spend(len(value) >> 6)
            return ("s", value)
        case list():
            return ("l", *[_key(h, item, depth + 1) for item in value])
        case dict():
            return ("d", frozenset((key, _key(h, item, depth + 1)) for key, item in value.items()))
    return None


_CHECKS: Mapping[str, _Check] = {
    "type": _type, "enum": _enum, "const": _const,
    "minimum": _bound("at least", lambda number, bound: number >= bound),
    "maximum": _bound("at most", lambda number, bound: number <= bound),
    "exclusiveMinimum": _bound("above", lambda number, bound: number > bound),
    "exclusiveMaximum": _bound("below", lambda number, bound: number < bound),
    "multipleOf": _multiple,
    "minLength": _size(str, "characters", least=True), "maxLength": _size(str, "characters", least=False),
    "minItems": _size(list, "items", least=True), "maxItems": _size(list, "items", least=False),
    "minProperties": _size(dict, "keys", least=True), "maxProperties": _size(dict, "keys", least=False),
    "pattern": _pattern, "format": _format,
    "prefixItems": _prefix, "items": _items, "contains": _contains, "uniqueItems": _unique,
    "properties": _properties, "patternProperties": _patterned, "additionalProperties": _additional,
    "propertyNames": _names, "required": _required, "dependentRequired": _dependent,
    "dependentSchemas": _dependent_schemas,
    "allOf": _all, "anyOf": _any, "oneOf": _one, "not": _not, "if": _if, "$ref": _reference,
}  # fmt: skip
