"""Whether values are the same, as JSON has it: `1` and `1.0` are one number, and `true` is none."""

from __future__ import annotations

from noetl_ir.expr import Json


def difference(expected: Json, actual: Json, *, partly: bool = False) -> tuple[str, Json, Json] | None:
    """The first place where a value is another one than expected: its path (`.rows[2].id`, empty for the whole), what
    was expected there and what is there; None where there is none. What is missing is `...`.

    With `partly` mappings may have more keys than expected, at any depth.
    """
    waiting: list[tuple[str, Json, Json]] = [("", expected, actual)]
    while waiting:
        path, one, other = waiting.pop()
        if isinstance(one, dict) and isinstance(other, dict):
            for key in one:
                if key not in other:
                    return f"{path}.{key}", one[key], MISSING
            more = [key for key in other if key not in one]
            if more and not partly:
                return f"{path}.{more[0]}", MISSING, other[more[0]]
            waiting += [(f"{path}.{key}", one[key], other[key]) for key in reversed(one)]
        elif isinstance(one, list) and isinstance(other, list):
            # The first items come first, also where one list is shorter.
            if len(one) != len(other):
                at = min(len(one), len(other))
                sides = [side[at] if at < len(side) else MISSING for side in (one, other)]
                waiting.append((f"{path}[{at}]", sides[0], sides[1]))
            pairs = list(enumerate(zip(one, other, strict=False)))
            waiting += [(f"{path}[{number}]", *pair) for number, pair in reversed(pairs)]
        elif not _is_same(one, other):
            return path, one, other
    return None


MISSING = "\0missing"
"""Stands for what is not there; no YAML text holds this character."""


def _is_same(one: Json, other: Json) -> bool:
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, int | float) and isinstance(other, int | float):
        return one == other
    return type(one) is type(other) and one == other
