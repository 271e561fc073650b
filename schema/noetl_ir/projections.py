"""The part of a large result that stays in the log, for the server's expressions, which cannot fetch (v10 §10).

A worker takes it of each result that it puts outside, by what the server reads of the step in its plan. Under another
plan that reads more of it, that part would lack what is there: it is to be taken anew, or the log is none of that plan.
"""

from collections.abc import Sequence

from noetl_ir.expr import Json
from noetl_ir.outcome import is_reference
from noetl_ir.plan import Step

PROJECTED = "projected"
"""The key of a reference under which that part stands."""

WHOLE = frozenset({"data", "result", "results"})
"""Keys of a result that may mean all of it (LANGUAGE §2)."""


def projection(step: Step, value: Json) -> tuple[Json, bool]:
    """The part of a result of a step that the server reads, and whether that is all of it."""
    paths = [_meant(path, value) for path in step.reads or ()]
    # The entries of a loop stand in one list, of which no path leads to a part.
    whole = (step.loops and any(path[:1] != ("stats",) for path in paths)) or () in paths
    return (value, True) if whole else (_part(value, paths), False)


def reads_more(step: Step, other: Step) -> bool:
    """Whether the server may read of a result what it does not read of that of the other step."""
    known = other.reads or ()
    return any(not any(path[: len(before)] == before for before in known) for path in step.reads or ())


def without_projections(value: Json) -> Json:
    """A value whose references hold nothing but the reference."""
    if isinstance(value, dict):
        bare = is_reference(value)
        return {key: without_projections(part) for key, part in value.items() if not (bare and key == PROJECTED)}
    if isinstance(value, list):
        return [without_projections(part) for part in value]
    return value


def _meant(path: tuple[str, ...], value: Json) -> tuple[str, ...]:
    """The path that a read takes into a result: `data` and the like mean the whole where there is no such key."""
    while path and path[0] in WHOLE and not (isinstance(value, dict) and path[0] in value):
        path = path[1:]
    return path


def _part(value: Json, paths: Sequence[tuple[str, ...]]) -> Json:
    """The part of a mapping that the paths reach."""
    projected: dict[str, Json] = {}
    for path in paths:
        there, here = value, projected
        for position, key in enumerate(path):
            if not isinstance(there, dict) or key not in there:
                break
            there = there[key]
            if position == len(path) - 1:
                here[key] = there
            else:
                deeper = here.setdefault(key, {})
                if not isinstance(deeper, dict):
                    break
                here = deeper
    return projected
