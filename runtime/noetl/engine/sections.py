"""Who holds a lock, and at which steps. The lock of a section (`through`) is held as long as any token is in the
section, whichever run took the lock.
"""

from collections.abc import Collection

from noetl.engine.execution import Execution, LockHolder
from noetl.engine.program import NO_LOCKS, Program


def is_occupied(program: Program, execution: Execution, name: str, less: Collection[int] = ()) -> bool:
    """Whether a token holds the lock of a section; tokens at the steps in `less` do not count."""
    marking, places = execution.marking, program.columns.places
    holder = execution.sections.get(name)
    for step, test in program.sections[name].items():
        if step in less:
            continue
        takes = name in program.locks.get(step, NO_LOCKS)
        for place in marking.marked(test):
            # A run that was admitted, and whose `lock.taken` is not in the log yet, is the next holder, not this one.
            fresh = holder is None or not marking.count(place, holder.run)
            if not (takes and fresh and places.roles[place] == "ready"):
                return True
    return False


def holder_of(program: Program, execution: Execution, name: str) -> LockHolder | None:
    """The run that took a lock, and its step; None where it is free."""
    runs = (LockHolder(run, step) for run, step in execution.holding.items() if name in program.run_locks[step])
    return execution.sections.get(name) or next(runs, None)


def steps_in(program: Program, execution: Execution, name: str) -> list[int]:
    """The steps at which tokens hold the lock of a section; empty for a lock that belongs to a single step."""
    tests = program.sections.get(name, {})
    return [step for step, test in tests.items() if next(execution.marking.marked(test), None) is not None]


def lock_text(program: Program, execution: Execution, name: str) -> str:
    """A lock in words, with who holds it, as in "`x`, which `a` holds, now at `b`"."""
    holder, steps = holder_of(program, execution, name), program.plan.steps
    if holder is None:
        return f"`{name}`"
    at = [steps[step].name for step in steps_in(program, execution, name) if step != holder.step]
    where = f", now at {', '.join(f'`{each}`' for each in at)}" if at else ""
    return f"`{name}`, which `{steps[holder.step].name}` holds{where}"
