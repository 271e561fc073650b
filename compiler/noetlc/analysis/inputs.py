"""Values for the inputs that a start has to bring: some that are tried against their schemas, the first that fits."""

import json
from collections.abc import Iterator

from noetl_ir.expr import Json
from noetl_ir.plan import Plan
from noetl_ir.schemas import faults

_PLAIN: tuple[Json, ...] = (
    "a", 1, True, [], {}, 0, "", "2026-01-31", "2026-01-31T12:00:00Z", "12:00:00Z", "P1D", "ann@example.org",
    "https://example.org/", "example.org", "192.0.2.1", "2001:db8::1", "0", "aaaaaaaa",
    "00000000-0000-4000-8000-000000000000", None,
)  # fmt: skip
"""A text, a number and so on, then texts of the formats that schemas have names for."""


def brought(plan: Plan) -> dict[str, Json]:
    """A payload of the inputs that are required; one for which no value was found is not in it."""
    found: dict[str, Json] = {}
    for each in plan.inputs or ():
        if each.required:
            for value in _tried(each.schema):
                if not faults(each.schema, value, each.name):
                    found[each.name] = value
                    break
    return found


def _tried(schema: Json) -> Iterator[Json]:
    """Values that may fit a schema, the likeliest first."""
    if not isinstance(schema, dict):
        yield from _PLAIN
        return
    if "const" in schema:
        yield schema["const"]
    for name in ("examples", "enum"):
        rows = schema.get(name)
        yield from rows if isinstance(rows, list) else ()
    for name in ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"):
        limit = schema.get(name)
        if isinstance(limit, int | float):
            yield from (limit, limit + 1, limit - 1)
    shortest = schema.get("minLength")
    if isinstance(shortest, int) and shortest <= _LONGEST:
        yield "a" * shortest
    yield from _PLAIN
    named, required = schema.get("properties"), schema.get("required")
    if isinstance(named, dict) and isinstance(required, list):
        # A member fits or not by itself, most often: the whole is looked at once more by whoever asks.
        yield {name: _member(named.get(name, True)) for name in required if isinstance(name, str)}
    fewest, items = schema.get("minItems"), schema.get("items", True)
    if isinstance(fewest, int) and 0 < fewest <= _LONGEST:
        yield [_member(items)] * fewest


def _member(schema: Json) -> Json:
    # A reference leads from the whole schema, which is not here.
    whole = True if '"$ref"' in json.dumps(schema) else schema
    return next((value for value in _tried(whole) if not faults(whole, value, "")), None)


_LONGEST = 100
"""The longest text or list that is made."""
