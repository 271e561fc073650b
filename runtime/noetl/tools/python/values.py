"""From a Python value to a result: what JSON can hold, or the path of what it cannot (LANGUAGE §7)."""

import math

from noetl_ir.expr import Json

MOST_DEPTH = 150
MOST_BITS = 14_000
"""What Python still turns into decimal digits, which is how a larger integer than 64 bits is written."""
_AS_THEY_ARE = frozenset({str, int, bool, type(None)})


class UnfitResult(Exception):
    """A value that no result can hold; the text names its path and its type."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self._reason = reason
        self._trail: list[str] = []

    def inside(self, step: str) -> "UnfitResult":
        """The problem seen from one level further out."""
        self._trail.append(step)
        return self

    def __str__(self) -> str:
        path = "result" + "".join(reversed(self._trail))
        return f"{path if len(path) < 200 else path[:200] + '…'} {self._reason}"


def plain(value: object, depth: int = 0) -> Json:
    """The value as a result: tuples are lists, dates and times ISO text. Raises Unfit."""
    if type(value) is int and value.bit_length() > MOST_BITS:
        raise UnfitResult("is an integer with too many digits")
    if type(value) in _AS_THEY_ARE:
        return value  # type: ignore[return-value]
    if depth > MOST_DEPTH:
        raise UnfitResult("is nested too deeply, or holds itself")
    match value:
        case float():
            if not math.isfinite(value):
                raise UnfitResult(f"is {value}, which no result can hold")
            return float(value)
        case dict():
            return _mapping(value, depth + 1)
        case list() | tuple():
            return _list(value, depth + 1)
        case str():
            return str(value)
        case int():
            return plain(int(value), depth)
    if type(value).__module__ == "datetime" and hasattr(value, "isoformat"):
        return str(value.isoformat())
    raise UnfitResult(f"is of type {_name(value)}, which no result can hold")


def _mapping(value: dict[object, object], depth: int) -> dict[str, Json]:
    found: dict[str, Json] = {}
    for key, entry in value.items():
        text = key if type(key) is str else _key(key)
        if text in found:
            raise UnfitResult(f"has two keys that are both written {text!r}")
        try:
            found[text] = plain(entry, depth)
        except UnfitResult as problem:
            raise problem.inside(f".{text}") from None
    return found


def _key(key: object) -> str:
    """A key as JSON writes it: numbers, booleans and null are text there."""
    match key:
        case str():
            return str(key)
        case None:
            return "null"
        case bool():
            return "true" if key else "false"
        case int() if int(key).bit_length() <= MOST_BITS:
            return int.__repr__(key)
        case float() if math.isfinite(key):
            return float.__repr__(key)
    raise UnfitResult(f"has a key that no result can hold, of type {_name(key)}")


def _list(value: "list[object] | tuple[object, ...]", depth: int) -> list[Json]:
    found: list[Json] = []
    for index, entry in enumerate(value):
        try:
            found.append(plain(entry, depth))
        except UnfitResult as problem:
            raise problem.inside(f"[{index}]") from None
    return found


def _name(value: object) -> str:
    kind = type(value)
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
