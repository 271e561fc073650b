"""The result of a loop and the fields of its event, by how its iterations ended."""

from collections.abc import Mapping
from typing import TypeAlias

from noetl_ir.expr import Json

LoopEnds: TypeAlias = tuple[int | None, ...]
"""For each iteration of a loop the number of the outcome whose result is its entry: -1 where none is, None for one that
failed.
"""

Trees: TypeAlias = Mapping[int, Mapping[str, Json]]
"""The fields of outcomes, by number."""


def result_of(trees: Trees, number: int) -> Json:
    """The result of an outcome, as far as it was chosen."""
    return trees.get(number, {}).get("result")


def entries_of(trees: Trees, ends: LoopEnds) -> list[Json]:
    """The result of a loop: an entry for each iteration, null for one that failed."""
    return [None if number is None else result_of(trees, number) for number in ends]


def event_of_loop(trees: Trees, ends: LoopEnds, error: Mapping[str, Json], *, done: bool) -> dict[str, Json]:
    """The fields of a loop's event beside those of the event of any step (`noetl.engine.views.terminal_event`)."""
    failed = [index for index, number in enumerate(ends) if number is None]
    return {
        "result": entries_of(trees, ends) if done else None,
        "outcome": None,
        "total": len(ends),
        "ok": len(ends) - len(failed),
        "failed": len(failed),
        "skipped": 0,
        "errors": [{"index": index, **error} for index in failed],
    }


def allows(limit: object, size: int) -> bool:
    """Whether a `max_in_flight` lets the iterations of a loop of so many items run at once."""
    return isinstance(limit, int) and not isinstance(limit, bool) and limit >= max(1, size)
