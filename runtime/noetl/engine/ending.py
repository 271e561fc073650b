"""How an execution ends: no run stays `running` when nothing can move (LANGUAGE §3, Endings)."""

from noetl.engine.execution import Execution, Region, limit_of
from noetl.engine.locking import are_free, let_overtake
from noetl.engine.phases import end_phase, go_on_after_children
from noetl.engine.scope import result_scope
from noetl.engine.sections import lock_text
from noetl.engine.settling import force
from noetl.engine.signals import is_listening
from noetl.engine.turn import Turn
from noetl.engine.whole import RESULT, about, error_of
from noetl_ir.evaluate import Fault
from noetl_ir.words import MAIN


def end_if_over(turn: Turn) -> bool:
    """End the current phase if it is over; of several ends the first of cancelled, failed, blocked, completed counts.

    Returns whether there is more to decide instead: another phase has begun, a token may overtake at a lock, or a
    settled join starts that nothing else let start.
    """
    execution = turn.execution
    if execution.status != "running":
        return False
    if execution.closing:
        return go_on_after_children(turn)
    if execution.cancelled:
        newer = execution.replaced_by
        by = f"by {newer}, a newer execution under its `concurrency` key" if newer else "on request"
        return end_phase(turn, "cancelled", {"reason": f"cancelled {by}"})
    if execution.place.asked is not None:  # it waits for a place, and has not begun
        return False
    if execution.terminated:
        # What failed before, and no arc took, is what happened: an end that was asked for later does not hide it.
        if execution.failure is not None:
            return _fail(turn)
        if execution.terminated == "completed":
            return _complete(turn)
        return end_phase(turn, execution.terminated, {})
    if turn.is_winding_down:
        # Tasks that run are waited for: their effect is out, and their report is the only record of it.
        return not any(region.phase == "run" for region in execution.regions.values()) and _fail(turn)
    # No token left in a control place means that nothing is on its way. A counting join keeps its wave in other
    # places, so it is asked apart.
    if not execution.marking.control and not _starved(turn):
        return _fail(turn) if execution.failure is not None else _complete(turn)
    # Tokens are left and nothing will move them. A paused execution is never over for that reason: what it holds back
    # may move.
    if not execution.paused and not _can_move(turn):
        if turn.program.locks and let_overtake(turn):
            return True
        if turn.program.settled and force(turn):
            return True
        return _fail(turn) if execution.failure is not None else end_phase(turn, "blocked", {"reason": _reason(turn)})
    return False


def _fail(turn: Turn) -> bool:
    return end_phase(turn, "failed", {"error": turn.execution.failure})


def _complete(turn: Turn) -> bool:
    """Ask for the result that the playbook declares; a fault in it fails the execution (EXTENSIONS.md §2)."""
    plan = turn.program.plan
    # A later phase has none.
    if plan.result < 0 or turn.execution.phase != MAIN:
        return end_phase(turn, "completed", {})
    try:
        value = turn.program.value(plan.result)(result_scope(turn))
    except Fault as fault:
        return end_phase(turn, "failed", {"error": error_of(about(RESULT, fault))}, faulty_result=True)
    return end_phase(turn, "completed", {"result": value})


def _can_move(turn: Turn) -> bool:
    """Whether a report, timer or signal is outstanding."""
    execution = turn.execution
    # The limit of all moves nothing: it ends what is left.
    if len(execution.timers) > (limit_of(execution) in execution.timers):
        return True
    # From the newest: the first to begin are the first to be over, and what a table lost at its head is walked over.
    for key, region in reversed(execution.regions.items()):  # asked after every event
        if _is_alive(execution, key, region):
            return True
    return is_listening(turn.program, execution)


def _is_alive(execution: Execution, key: str, region: Region) -> bool:
    """Whether anything may still move a pipeline. Nothing can move a `wait` that no signal reaches and no timer
    ends.
    """
    if region.phase == "parked" and region.pending is None:
        return bool(execution.waits.get(key, True))
    return region.phase != "over" and region.task >= 0


def _starved(turn: Turn) -> list[int]:
    """Steps whose counting join holds part of a wave that nothing will complete."""
    program, marking = turn.program, turn.execution.marking
    starved = []
    for step in program.counting:
        needed, idle = program.plan.net.transitions[program.transition("meet", step)].inputs
        if marking.count(idle.place, "") and marking.count(needed.place, ""):
            starved.append(step)
    return starved


def _reason(turn: Turn) -> str:
    """The reason of a blocked end: tokens that are left and what they wait for."""
    program, marking = turn.program, turn.execution.marking
    parts = []
    for number, tokens in marking.tokens.items():
        place = program.plan.net.places[number]
        if place.step < 0 or not tokens:
            continue
        name = program.plan.steps[place.step].name
        if place.role == "in":
            missing = [s for s in program.plan.steps[place.step].join.sources if not _delivered(turn, place.step, s)]
            parts.append(
                f"the join of step `{name}` still waits for {', '.join(f'`{s}`' for s in missing) or 'tokens'}"
            )
        elif place.role == "merge":
            needed = program.plan.steps[place.step].join.n
            parts.append(f"the join of step `{name}` needs {needed} tokens and has {len(tokens)}")
        elif place.role == "gate" and not are_free(turn, place.step, next(iter(tokens))):
            locks = [lock_text(program, turn.execution, lock) for lock in sorted(program.locks[place.step])]
            parts.append(f"a token waits at the gate of step `{name}` for the lock {' and '.join(locks)}")
        elif place.role == "gate":
            parts.append(f"a token waits at the gate of step `{name}` for an admission rule to allow it")
    for key, names in turn.execution.waits.items():
        if not names:
            step = turn.execution.regions[key].step
            parts.append(f"a `wait` of step `{program.plan.steps[step].name}` names no signal and no timer")
    for step in _starved(turn):
        row = program.plan.steps[step]
        parts.append(f"the join of step `{row.name}` needs {row.join.n} tokens of a wave and did not get them")
    return "; ".join(dict.fromkeys(parts)) or "tokens are left that nothing can move"


def _delivered(turn: Turn, step: int, source: str) -> bool:
    for number in turn.program.entrances(step):
        place = turn.program.plan.net.places[number]
        # Entrances are named by the source that they belong to (NET.md, JOIN).
        if place.id.endswith(f" {source}") and next(turn.execution.marking.keys(number), None) is not None:
            return True
    return False
