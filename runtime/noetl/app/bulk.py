"""Requests to many executions at once: of which something can be asked at all, and what keeps one from it."""

from __future__ import annotations

from noetl.app.reruns import RerunWish
from noetl.ports import ExecutionRow, Store, Wanted
from noetl.ports.idempotency import StartKey, start_key
from noetl.ports.queries import Condition, Junction, Negation, QueryTerm, all_of

VERBS = ("cancel", "pause", "resume", "signal", "rerun")
_OF = {
    "pause": (("status", "running"),),
    "resume": (("status", "paused"),),
    "rerun": (("is", "over"), ("is", "top")),
}
_OPEN = (("is", "open"),)
_RERUNS = QueryTerm("is", "=", "rerun")


def condition_to_ask(verb: str, condition: Condition | None) -> Condition | None:
    """A condition, and that an execution stands so that something can be asked of it at all."""
    parts: list[Condition] = [QueryTerm(field, "=", value) for field, value in _OF.get(verb, _OPEN)]
    # Asked a second time, a query would begin again what came of its own reruns.
    if verb == "rerun" and not (condition is not None and _names_reruns(condition)):
        parts.append(Negation(_RERUNS))
    return all_of(parts if condition is None else [condition, *parts])


def _names_reruns(condition: Condition) -> bool:
    """Whether a condition says something of reruns itself."""
    match condition:
        case Junction(parts=parts):
            return any(map(_names_reruns, parts))
        case Negation(inner=inner):
            return _names_reruns(inner)
    return condition == _RERUNS or condition.field in ("rerun_of", "id")


def hindrance(store: Store, verb: str, row: ExecutionRow) -> str:
    """Why something is not asked of an execution, in words; empty where it is."""
    if verb == "rerun":
        return _no_rerun(store, row)
    if row.ended is not None:
        return f"it is over ({row.status})"
    if verb == "pause" and row.status == "paused":
        return "it is paused already"
    if verb == "resume" and row.status != "paused":
        return f"it is not paused, but {row.status}"
    return ""


# Who asks for many a second time, as the first try was cut off, wants those that are left.
def _no_rerun(store: Store, row: ExecutionRow) -> str:
    if row.ended is None:
        return f"it is not over, but {row.status}"
    if row.parent_execution_id is not None:
        return f"{row.parent_execution_id} called it: rerun that one"
    there = store.executions(Wanted(rerun_of=row.execution_id, limit=1))
    return f"it has a rerun already: {there[0].execution_id}" if there else ""


def rerun_key(row: ExecutionRow, wish: RerunWish) -> StartKey:
    """The key of a rerun that is one of many: each execution has one such, however often it is asked for."""
    return start_key(f"rerun of {row.execution_id}", {"of": row.execution_id, "from": wish.step})


def left_behind(store: Store, wanted: Wanted) -> int:
    """How many executions fit, and stand behind those of a list."""
    return sum(count for _, count in store.tally(wanted, "status"))
