"""Places under a key (EXTENSIONS.md §2, `concurrency`): an execution asks for one before it begins, and waits.

Law: the answer comes from outside, from the store that all executions share, and is an event: `playbook.placed` lets it
begin, `playbook.queued` says that it waits, and `playbook.refused` ends it. A child that its caller waits for runs
under the caller's place: what its request says it runs under it never asks for.
"""

from noetl.engine.phases import finish
from noetl.engine.scope import workload_scope
from noetl.engine.time_limits import time_limit
from noetl.engine.turn import Turn
from noetl.engine.whole import PLACE, KeyedFault, about, error_of, limit_key
from noetl_ir.evaluate import Fault
from noetl_ir.expr import Json

REFUSED = "concurrency.refused"
"""The code of an execution that gets no place, and of the call that it was for."""


def wanted(turn: Turn, workload: dict[str, Json]) -> dict[str, Json] | None:
    """The place that an execution asks for; None where it asks for none. Raises Fault."""
    plan = turn.program.plan
    if plan.concurrency is None:
        return None
    try:
        key = turn.program.value(plan.concurrency.key)(workload_scope(turn, workload, None))
    except Fault as fault:
        raise about(PLACE, fault) from None
    if isinstance(key, int | float) and not isinstance(key, bool):
        key = str(key)  # a number is text too, as in names
    if not isinstance(key, str) or not key:
        raise KeyedFault("concurrency.key", f"`{PLACE}` is no text, or an empty one", key=PLACE)
    if len(key) > LONGEST:
        raise KeyedFault("concurrency.key", f"`{PLACE}` has more than {LONGEST} characters", key=PLACE)
    return {"key": key, "limit": plan.concurrency.limit, "on_conflict": plan.concurrency.on_conflict}


LONGEST = 1_000
"""Characters of a key."""


def record_decision(turn: Turn, decision: dict[str, Json]) -> bool:
    """Record what the store said of the place that an execution asks for; False where nothing is asked any more."""
    execution = turn.execution
    if execution.place.asked is None or execution.is_over or execution.cancelled:
        return False
    key, holders = execution.place.asked["key"], decision.get("holders", [])
    match decision.get("verdict"):
        case "placed":
            turn.emit("playbook.placed", data={"key": key})
            if execution.next_key == 1:  # a rerun that has begun goes on
                begin_main(turn)
        case "queued":
            turn.emit("playbook.queued", data={**execution.place.asked, "holders": holders})
        case "refused":
            why = str(decision.get("why"))
            turn.emit("playbook.refused", data={"key": key, "why": why, "holders": holders})
            _refuse(turn, why)
        case _:
            return False
    return True


def _refuse(turn: Turn, why: str) -> None:
    """End an execution that gets no place; it has no phases."""
    key = (turn.execution.place.asked or {}).get("key")
    told = {
        "fail": f"there is no place under `{key}`",
        "circle": f"a wait for a place under `{key}` would never end: those who hold it wait for this execution",
    }
    if why in told:
        finish(turn, {"status": "failed", "error": {"code": REFUSED, "message": told[why], "key": PLACE}})
    else:
        finish(turn, {"status": "cancelled", "reason": "concurrency"})


def begin_main(turn: Turn) -> None:
    """Put the entry token; a limit with a fault fails the execution."""
    plan, workload = turn.program.plan, turn.execution.workload
    data: dict[str, Json] = {}
    for key, name, index in (("timeout", "timeout_s", plan.timeout), ("after", "after_s", plan.after)):
        if index < 0:
            continue
        where = limit_key(name)
        try:
            scope = workload_scope(turn, workload, None)
            data[key] = time_limit(turn.program, index, scope, code="executor.timeout", what="it")
        except Fault as fault:
            finish(turn, {"status": "failed", "error": error_of(about(where, fault))})
            return
    turn.emit("workflow.started", step=plan.entry, run="1", data=data)
