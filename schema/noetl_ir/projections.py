"""The part of a large result that stays in the log, for the server's expressions, which cannot fetch (v10 §10).

A worker takes it of each result that it puts outside, by what the server reads of the step in its plan. Under another
plan that reads more of it, that part would lack what is there: it is to be taken anew, or the log is none of that plan.
"""

from collections.abc import Callable, Sequence
from typing import TypeAlias

from noetl_ir.expr import Json
from noetl_ir.outcome import REFERENCE_KEY, LoopValue, is_reference
from noetl_ir.plan import Step

GetValue: TypeAlias = Callable[[dict[str, Json]], Json]
"""Gives the value of a reference, or what is at hand of it."""

_ENTRIES, _LEVELS = "entries", "levels"

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


def told(result: object) -> Json:
    """A result as data for another run. Where entries of a loop lie outside of the log it is one reference to all of
    them, so that nobody takes for references what an entry or a list of an author's own only looks like.
    """
    if not isinstance(result, LoopValue):
        return result  # type: ignore[return-value]
    if not holds_references(result.entries, result.levels):
        return result.entries
    return {REFERENCE_KEY: True, _ENTRIES: result.entries, _LEVELS: result.levels}


def told_value(reference: dict[str, Json], fetch: GetValue) -> Json:
    """The value of a reference, also of one that `told` has made."""
    entries, levels = reference.get(_ENTRIES), reference.get(_LEVELS)
    if levels == 0 and _ENTRIES in reference:
        return entries
    if isinstance(entries, list) and isinstance(levels, int):
        return entries_of(entries, levels, fetch)
    return fetch(reference)


def as_data(value: object) -> object:
    """A value that nobody made a reference of, told to others: one that looks like a reference is followed by none."""
    return {REFERENCE_KEY: True, _ENTRIES: value, _LEVELS: 0} if is_reference(value) else value


def data_of(value: object) -> object:
    """The value of which `as_data` made this one; any other as it is."""
    is_data = isinstance(value, dict) and is_reference(value) and _ENTRIES in value and value.get(_LEVELS) == 0
    return value[_ENTRIES] if isinstance(value, dict) and is_data else value


def is_told(value: object) -> bool:
    """Whether a value is a reference that tells of a result: one that an author asks for has nothing beside it."""
    return is_reference(value) and isinstance(value, dict) and (PROJECTED in value or _ENTRIES in value)


def entries_of(entries: list[Json], levels: int, fetch: GetValue) -> list[Json]:
    """The entries of loops inside each other, with the values of those that lie outside of the log."""
    if levels > 1:
        return [entries_of(entry, levels - 1, fetch) if isinstance(entry, list) else entry for entry in entries]
    return [fetch(entry) if is_reference(entry) and isinstance(entry, dict) else entry for entry in entries]


def holds_references(entries: list[Json], levels: int) -> bool:
    """Whether any of the entries of loops inside each other lies outside of the log."""
    if levels > 1:
        return any(holds_references(entry, levels - 1) for entry in entries if isinstance(entry, list))
    return any(map(is_reference, entries))


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
