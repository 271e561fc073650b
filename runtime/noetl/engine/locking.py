"""Locks of steps: a run holds those of its step from its admission until it has ended, and those of sections until
nothing is left in them (EXTENSIONS.md §3, `lock`).

All locks of a step are taken at once. Who waits for one stands at its gate, before the run: no timeout counts that. A
token never overtakes one that came before it and needs a lock that both do, unless that one's rules deny it: whose
locks are free, and nobody before it is to have them, was denied if it waits all the same.

A token in a section can so wait behind one that waits for the section. Where nothing else can move it overtakes: the
analysis, which knows no order, proves that there is an end then, and the run must have it.
"""

from noetl.engine.execution import Execution
from noetl.engine.program import Program
from noetl.engine.sections import is_occupied
from noetl.engine.turn import Turn
from noetl_ir.events import step_run_of
from noetl_ir.expr import Json


def are_free(turn: Turn, step: int, key: str) -> bool:
    """Whether the token at the gate of a step may take its locks now."""
    program, execution = turn.program, turn.execution
    wanted = program.locks.get(step)
    if wanted is None:
        return True
    if wanted & locks_in_use(program, execution, step):
        return False
    if turn.unhindered == execution.position:
        return True
    # Nearly always nobody waits before it. Else all who do are asked, in their order.
    if all(next(iter(execution.queues.get(name, ())), key) == key for name in wanted):
        return True
    return wanted.isdisjoint(_claimed(turn, key))


def _claimed(turn: Turn, key: str) -> set[str]:
    """The locks that those are to have first who came before a token, and cannot take theirs yet or are to be asked."""
    program, execution, rows = turn.program, turn.execution, turn.columns.places.steps
    asked = {other for _, other in execution.agenda}
    claimed: set[str] = set()
    for other, place in execution.waiting.items():
        if other == key:
            break
        theirs = program.locks.get(rows[place])
        if theirs and (other in asked or theirs & (claimed | locks_in_use(program, execution, rows[place]))):
            claimed |= theirs
    return claimed


def let_overtake(turn: Turn) -> bool:
    """Have all who wait for locks that are free asked, in their order and whoever is before them, as nothing at all can
    move; whether there are any who were not asked so since the last event.
    """
    program, execution, rows = turn.program, turn.execution, turn.columns.places.steps
    if turn.unhindered == execution.position:
        return False
    turn.unhindered = execution.position
    used = {
        step: locks_in_use(program, execution, step) for step in {rows[place] for place in execution.waiting.values()}
    }
    free = [
        (place, key)
        for key, place in execution.waiting.items()
        if (wanted := program.locks.get(rows[place])) and not wanted & used[rows[place]]
    ]
    execution.agenda.extend(free)
    return bool(free)


def ask_behind(turn: Turn, step: int, key: str) -> None:
    """A token whose locks are free was denied by its rules: who waits next for one of them is asked."""
    if turn.unhindered == turn.execution.position:  # all are asked
        return
    queues, places = turn.execution.queues, turn.execution.waiting
    found: dict[int, str] = {}
    for name in turn.program.locks.get(step, ()):
        queue = iter(queues.get(name, {}).items())
        if any(other == key for other, _ in queue) and (following := next(queue, None)) is not None:
            found[following[1]] = following[0]
    turn.execution.agenda.extend((places[found[since]], found[since]) for since in sorted(found))


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
    names: list[Json] = [*sorted(turn.program.run_locks[step])]
    turn.emit("lock.given", step=step, run=run, data={"locks": names})


def follow_sections(turn: Turn) -> None:
    """Record which sections nothing is left in, and have those asked who cancel what is left in one."""
    program, execution = turn.program, turn.execution
    for name, holder in list(execution.sections.items()):
        if not is_occupied(program, execution, name):
            turn.emit("lock.given", step=holder.step, run=holder.run, data={"locks": [name]})
        elif program.cancels:
            rows = turn.columns.places.steps
            for key in execution.queues.get(name, ()):
                place = execution.waiting[key]
                if program.cancels.get(rows[place]) and are_free(turn, rows[place], key):
                    execution.agenda.append((place, key))


def locks_in_use(program: Program, execution: Execution, step: int) -> set[str]:
    """The locks that are taken, but for those that only what the start of a step would cancel holds."""
    cancelled = program.cancels.get(step, ())
    used: set[str] = set()
    for holder in execution.holding.values():
        if holder not in cancelled:
            used |= program.run_locks[holder]
    for name in execution.sections:
        if not cancelled or is_occupied(program, execution, name, cancelled):
            used.add(name)
    return used


def _is_there(turn: Turn, run: str, step: int) -> bool:
    """Whether a token of a run holds its locks."""
    tokens = turn.execution.marking.tokens
    return any(step_run_of(key) == run for place in turn.program.lock_places[step] for key in tokens.get(place, ()))
