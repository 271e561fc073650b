"""Locks of steps: a run holds those of its step from its admission until it has ended (EXTENSIONS.md §3, `lock`).

All locks of a step are taken at once. Who waits for one stands at its gate, before the run: no timeout counts that. A
token never overtakes one that came before it and waits for a lock that both need; one whose locks are free and which
waits all the same was denied by its rules, and is overtaken.
"""

from noetl.engine.turn import Turn
from noetl_ir.events import step_run_of
from noetl_ir.expr import Json


def are_free(turn: Turn, step: int, key: str) -> bool:
    """Whether the token at the gate of a step may take its locks now."""
    program, execution = turn.program, turn.execution
    wanted = program.locks.get(step)
    if wanted is None:
        return True
    if wanted & _in_use(turn, step):
        return False
    rows = turn.columns.places.steps
    for other, place in execution.waiting.items():
        if other == key:
            return True
        theirs = program.locks.get(rows[place])
        if theirs is not None and theirs & wanted and theirs & _in_use(turn, rows[place]):
            return False
    return True


def take(turn: Turn, step: int, run: str) -> None:
    """Record that a run which was admitted has the locks of its step."""
    names = turn.program.locks.get(step)
    if names is not None:
        told: list[Json] = [*sorted(names)]
        turn.emit("lock.taken", step=step, run=run, data={"locks": told})


def give(turn: Turn, run: str) -> None:
    """Record that a run has given its locks back, if it had some and nothing of it is left."""
    execution = turn.execution
    step = execution.holding.get(run)
    if step is None or _is_there(turn, run, step):
        return
    names: list[Json] = [*sorted(turn.program.locks[step])]
    turn.emit("lock.given", step=step, run=run, data={"locks": names})


def _in_use(turn: Turn, step: int) -> set[str]:
    """The locks that are taken, but for those of runs that the start of a step would cancel."""
    program = turn.program
    cancelled = program.cancels.get(step, ())
    used: set[str] = set()
    for holder in turn.execution.holding.values():
        if holder not in cancelled:
            used |= program.locks[holder]
    return used


def _is_there(turn: Turn, run: str, step: int) -> bool:
    """Whether a token of a run holds its locks."""
    tokens = turn.execution.marking.tokens
    return any(step_run_of(key) == run for place in turn.program.lock_places[step] for key in tokens.get(place, ()))
