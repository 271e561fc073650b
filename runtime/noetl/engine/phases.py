"""The phases of an execution: main, and what the playbook has behind it (EXTENSIONS.md §1).

Law: phases only go forward, and each begins once, with no token, lock or timer of the one before. What ends main fixes
the status; what becomes of a later phase is recorded beside it.
"""

from noetl.engine.execution import MAIN, Mapping
from noetl.engine.turn import Turn
from noetl_ir.expr import Json
from noetl_ir.plan import Phase
from noetl_ir.words import FINALLY, ON_FAILURE

_CAUSES: dict[str, frozenset[str]] = {ON_FAILURE: frozenset({"failed", "blocked"})}
"""The statuses of main that a phase follows; one that is not here follows all."""


def end_phase(turn: Turn, status: str, data: dict[str, Json], *, faulty_result: bool = False) -> bool:
    """End main, or the phase behind it that runs, and begin the next one, else end the execution. Whether one began.

    A completed main whose result is faulty is followed by `finally` alone.
    """
    execution = turn.execution
    is_main = execution.phase == MAIN
    main: Mapping = {"status": status, **data} if is_main else execution.main
    skipped = not is_main and execution.cancelled
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
    status, faulty = str(execution.main["status"]), execution.main.get("faulty_result") is True
    # Who cancels by hand skips the rest: now, or the phase that is over.
    last = execution.after[-1] if execution.after else None
    skipped = execution.cancelled or (isinstance(last, dict) and last["status"] == "cancelled")
    following = None if skipped else _following(turn, status, faulty_result=faulty)
    if following is not None and execution.paused:
        return False
    main = {key: value for key, value in execution.main.items() if key != "faulty_result"}
    return _go_on(turn, following, main, first=execution.phase == MAIN)


def _go_on(turn: Turn, following: Phase | None, main: Mapping, *, first: bool) -> bool:
    if following is not None:
        _begin(turn, following, main if first else {"status": main["status"]}, main)
        return True
    finish(turn, main, turn.execution.after if turn.program.plan.phases else None)
    return False


def finish(turn: Turn, main: Mapping, after: list[Json] | None = None) -> None:
    """End the execution as main ended; `after` is what became of the phases behind it, None where it has none."""
    turn.emit("workflow.finished", data=main if after is None else {**main, "after": list(after)})
    turn.emit("playbook.processed")


def _following(turn: Turn, status: str, *, faulty_result: bool) -> Phase | None:
    """The next phase of an execution whose main ended with a status."""
    execution, phases = turn.execution, turn.program.plan.phases
    names = [phase.name for phase in phases]
    left = phases if execution.phase == MAIN else phases[names.index(execution.phase) + 1 :]
    for phase in left:
        causes = _CAUSES.get(phase.name)
        if (causes is None or status in causes) and not (faulty_result and phase.name != FINALLY):
            return phase
    return None


def _begin(turn: Turn, phase: Phase, told: Mapping, main: Mapping) -> None:
    data: dict[str, Json] = {"phase": phase.name, **told, "error": main.get("error")}
    turn.emit("phase.started", step=phase.step, run=str(turn.execution.next_key), data=data)
