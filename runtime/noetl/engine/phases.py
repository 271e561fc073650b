"""The phases of an execution: main, and what the playbook has behind it (EXTENSIONS.md §1).

Law: phases only go forward, and each begins once, with no token, lock or timer of the one before. What ends main fixes
the status; what becomes of a later phase is recorded beside it. Compensation undoes one run of main after the other,
the newest first, each time in a region that begins with one token.
"""

from noetl.engine.evolve_compensation import memories
from noetl.engine.execution import JsonObject, limit_of
from noetl.engine.letters import return_letters
from noetl.engine.turn import Turn
from noetl_ir.expr import Json
from noetl_ir.plan import Phase
from noetl_ir.words import COMPENSATION, FINALLY, MAIN, ON_FAILURE

_CAUSES: dict[str, frozenset[str]] = {ON_FAILURE: frozenset({"failed", "blocked"})}
"""The statuses of main that a phase follows; one that is not here follows all."""


def end_phase(turn: Turn, status: str, data: dict[str, Json], *, faulty_result: bool = False) -> bool:
    """End main, or the phase behind it that runs, and begin the next one, else end the execution. Whether one began.

    A completed main whose result is faulty is followed by `finally` alone.
    """
    execution = turn.execution
    if execution.phase == COMPENSATION:
        return _end_compensation(turn, status, data)
    is_main = execution.phase == MAIN
    main: JsonObject = {"status": status, **data} if is_main else execution.main
    # One that ends before it has begun has no phases.
    skipped = execution.place.asked is not None or (not is_main and execution.cancelled)
    following = None if skipped else _following(turn, str(main["status"]), faulty_result=faulty_result)
    # Nothing new begins while it is paused, unless it was cancelled: who cancels wants it to end.
    if following is not None and execution.paused and not execution.cancelled:
        return False
    if not is_main or execution.leaving:
        ended: dict[str, Json] = {"phase": execution.phase, "status": status, **data}
        if faulty_result:
            ended["faulty_result"] = True
        turn.emit("phase.ended", data=ended)
    if execution.closing:  # children go through phases of their own; what follows waits for them
        return False
    return _go_on(turn, following, main, first=is_main)


def go_on_after_children(turn: Turn) -> bool:
    """Begin what follows a phase that waited for children once they are over. Whether a phase began."""
    execution = turn.execution
    if execution.leaving:
        return False
    last = execution.after[-1] if execution.after else None
    ended = last if isinstance(last, dict) and last["phase"] == execution.phase else None
    if execution.phase == COMPENSATION and ended is None:
        return _compensate_next(turn)
    status, faulty = str(execution.main["status"]), execution.main.get("faulty_result") is True
    # Who cancels by hand skips the rest: now, or the phase that is over.
    skipped = execution.cancelled or (ended is not None and ended["status"] == "cancelled")
    following = None if skipped else _following(turn, status, faulty_result=faulty)
    if following is not None and execution.paused:
        return False
    main = {key: value for key, value in execution.main.items() if key != "faulty_result"}
    return _go_on(turn, following, main, first=execution.phase == MAIN)


def _go_on(turn: Turn, following: Phase | None, main: JsonObject, *, first: bool) -> bool:
    plan = turn.program.plan
    if following is None:
        return_letters(turn)
        has_any = (plan.phases or plan.compensations) and turn.execution.place.asked is None
        finish(turn, main, turn.execution.after if has_any else None)
        return False
    told = main if first else {"status": main["status"]}
    data: dict[str, Json] = {"phase": following.name, **told, "error": main.get("error")}
    if following.name == COMPENSATION:
        turn.emit("phase.started", data=data)
        return _compensate_next(turn)
    turn.emit("phase.started", step=following.step, run=str(turn.execution.next_key), data=data)
    return True


def finish(turn: Turn, main: JsonObject, after: list[Json] | None = None) -> None:
    """End the execution as main ended; `after` is what became of the phases behind it, None where it has none."""
    turn.emit("workflow.finished", data=main if after is None else {**main, "after": list(after)})
    turn.emit("playbook.processed")


def _following(turn: Turn, status: str, *, faulty_result: bool) -> Phase | None:
    """The next phase of an execution whose main ended with a status."""
    execution, plan = turn.execution, turn.program.plan
    names = [phase.name for phase in plan.phases]
    may_undo = execution.phase == MAIN and status in plan.compensate_on and not faulty_result
    if may_undo and memories(turn.program, execution):
        return Phase(COMPENSATION, -1)
    left = plan.phases[names.index(execution.phase) + 1 :] if execution.phase in names else plan.phases
    for phase in left:
        causes = _CAUSES.get(phase.name)
        if (causes is None or status in causes) and not (faulty_result and phase.name != FINALLY):
            return phase
    return None


def _compensate_next(turn: Turn) -> bool:
    """Undo the newest run that is remembered, or end the phase. Whether anything began."""
    execution = turn.execution
    # A cancel by hand that came while children ended is one of the phase.
    if execution.remembered and not execution.cancelled:
        if execution.paused:
            return False
        last = execution.remembered[-1]
        how = turn.program.compensations[last.step]  # nothing else is remembered
        data: dict[str, Json] = {"run": last.key, "step": turn.program.plan.steps[last.step].name}
        turn.emit("compensation.started", step=how.target, run=str(execution.next_key), data=data)
        return True
    told: JsonObject = execution.undone or {"status": "completed"}
    if execution.cancelled and told["status"] != "cancelled":
        told = {"status": "cancelled", "reason": "cancelled on request", "left": len(execution.remembered)}
    is_skipped, main = told["status"] == "cancelled", execution.main
    following = None if is_skipped else _following(turn, str(main["status"]), faulty_result=False)
    if following is not None and execution.paused:
        return False
    turn.emit("phase.ended", data={"phase": COMPENSATION, **told})
    return _go_on(turn, following, main, first=False)


def _end_compensation(turn: Turn, status: str, data: dict[str, Json]) -> bool:
    """End the compensation of a run; those that are left follow, unless the time of the phase is over."""
    execution = turn.execution
    over = execution.cancelled or (execution.after_limit is not None and limit_of(execution) not in execution.timers)
    if execution.remembered and execution.paused and not over:
        return False
    told: dict[str, Json] = {"run": execution.compensating, "status": status, **data}
    if over:
        told["left"] = len(execution.remembered)
    turn.emit("compensation.done", data=told)
    if execution.closing:
        return False
    return _compensate_next(turn)
