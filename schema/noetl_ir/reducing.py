"""Reducers: how what is contributed to a key of `ctx` becomes its value (EXTENSIONS §4).

`sum min max count` give the same value in whatever order contributions come. `append union merge` do not, which is
why those of a parallel loop are applied by index when it is over.
"""

from math import isfinite
from typing import Final, TypeAlias

from noetl_ir.expr import Json
from noetl_ir.number_keys import number_key

REDUCERS: Final = ("sum", "min", "max", "append", "union", "merge", "count")

ORDERED: Final = frozenset({"append", "union", "merge"})
"""Those whose value depends on the order of what is contributed."""

CODE: Final = "reduce.type"
"""The code of the fault of a contribution that does not fit."""

_STARTS: Final = {"sum": 0, "count": 0, "min": None, "max": None}
_WANTED: Final = {
    "sum": "a number", "min": "a number or a text", "max": "a number or a text",
    "union": "a list", "merge": "a mapping",
}  # fmt: skip
_BITS: Final = 14_000
"""Bits of an integer: what Python still turns into decimal digits."""

_Key: TypeAlias = tuple[str, object]


class Unfit(ValueError):
    """Why a contribution does not go with its reducer, or with what is there."""


def start_of(reducer: str) -> Json:
    """The value of a key to which nothing was contributed."""
    if reducer in _STARTS:
        return _STARTS[reducer]
    return {} if reducer == "merge" else []


def start_fault(reducer: str, value: Json) -> str:
    """Why a value cannot be the initial one, "" where it can: it has the shape of what the reducer gives."""
    shapes = {"min": "null, a number or a text", "max": "null, a number or a text", "merge": "a mapping"}
    wanted = shapes.get(reducer, "a list" if reducer in ORDERED else "a number")
    if reducer in ("min", "max"):
        fits = value is None or _is_number(value) or isinstance(value, str)
    elif reducer in ORDERED:
        fits = isinstance(value, dict if reducer == "merge" else list)
    else:
        fits = _is_number(value)
    return "" if fits else f"the initial value of `{reducer}` is {wanted}, not {_named(value)}"


def fault_of(reducer: str, value: Json) -> str:
    """Why a value cannot be contributed, "" where it can."""
    if reducer in ("append", "count"):
        return ""
    if reducer in ("min", "max"):
        fits = _is_number(value) or isinstance(value, str)
    elif reducer == "sum":
        fits = _is_number(value)
    else:
        fits = isinstance(value, list if reducer == "union" else dict)
    return "" if fits else f"`{reducer}` takes {_WANTED[reducer]}, not {_named(value)}"


def reduced_value(reducer: str, value: Json, contributed: Json) -> Json:
    """The value with one contribution more, as a new one; raises Unfit."""
    if why := fault_of(reducer, contributed):
        raise Unfit(why)
    match reducer, value, contributed:
        case "count", int() | float(), _:
            return value + 1
        case "sum", int() | float(), int() | float():
            return _sum(value, contributed)
        # Null is where it starts: an order has no smallest text and no largest number to begin with.
        case "min" | "max", None, _:
            return contributed
        case "min" | "max", str(), str():
            return min(value, contributed) if reducer == "min" else max(value, contributed)
        case "min" | "max", int() | float(), int() | float():
            return min(value, contributed) if reducer == "min" else max(value, contributed)
        case "append", list(), _:
            return [*value, contributed]
        case "union", list(), list():
            return _union(value, contributed)
        case "merge", dict(), dict():
            return {**value, **contributed}
    raise Unfit(f"`{reducer}` cannot put {_named(contributed)} to {_named(value)}")


def _sum(value: float, contributed: float) -> float:
    try:
        found = value + contributed
    except OverflowError:
        found = float("inf")
    # Neither is data that a log or a message could hold.
    if (isinstance(found, float) and not isfinite(found)) or (isinstance(found, int) and found.bit_length() > _BITS):
        raise Unfit("the sum is too large for a number")
    return found


def _union(value: list[Json], contributed: list[Json]) -> list[Json]:
    # A set of keys: each contribution would else be compared with all that is there.
    seen = {_key(item) for item in value}
    found = list(value)
    for item in contributed:
        key = _key(item)
        if key not in seen:
            seen.add(key)
            found.append(item)
    return found


def _key(value: Json) -> _Key:
    """A value such that equal JSON gives equal ones: 1 is 1.0, and true is neither."""
    match value:
        case None | bool() | str():
            return type(value).__name__, value
        case int() | float():
            return "number", number_key(value)
        case list():
            return "list", tuple([_key(item) for item in value])
        case dict():
            return "mapping", frozenset([(name, _key(item)) for name, item in value.items()])


def _is_number(value: Json) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _named(value: Json) -> str:
    """The kind of a value, for messages; never its content."""
    match value:
        case bool():
            return "a truth value"
        case int() | float():
            return "a number"
        case str():
            return "a text"
        case list():
            return "a list"
        case dict():
            return "a mapping"
    return "null"
