"""Folding locks: who holds which, and who waits for them at gates (EXTENSIONS.md §3, `lock`)."""

from collections.abc import Iterable

from noetl.engine.event_data import texts_of
from noetl.engine.execution import Execution, LockHolder
from noetl.engine.marking import IllegalFiring
from noetl.engine.program import NO_LOCKS, Program
from noetl.engine.sections import is_occupied
from noetl_ir.events import Event


def lock_taken(program: Program, execution: Execution, event: Event) -> None:
    """A run has all locks of its step: those of a run, and those of sections."""
    names = program.locks.get(event.step, NO_LOCKS)
    own = program.run_locks.get(event.step, NO_LOCKS)
    if not names or names != {*texts_of(event.data["locks"])} or event.run in execution.holding:
        raise IllegalFiring(f"run `{event.run}` takes no such locks here")
    if own:
        execution.holding[event.run] = event.step
    for name in sorted(names - own):
        if name in execution.sections:
            raise IllegalFiring(f"lock `{name}` is taken, and nobody gave it back")
        execution.sections[name] = LockHolder(event.run, event.step)
    for name in sorted(names) if program.cancels else ():
        # Who cancels the holder need not wait for it.
        rows = program.columns.places.steps
        for key in execution.queues.get(name, ()):
            place = execution.waiting[key]
            if event.step in program.cancels.get(rows[place], ()):
                execution.agenda.append((place, key))


def lock_freed(program: Program, execution: Execution, event: Event) -> None:
    """Locks are free: who waits longest for one of them is asked again."""
    names = {*texts_of(event.data["locks"])}
    step = execution.holding.get(event.run)
    if step is not None and names == program.run_locks[step]:
        del execution.holding[event.run]
    else:
        for name in names:
            holder = execution.sections.get(name)
            if holder is None or holder.run != event.run or is_occupied(program, execution, name):
                raise IllegalFiring(f"run `{event.run}` does not give lock `{name}` back here")
        for name in names:
            del execution.sections[name]
    ask_longest(execution, names)


def ask_longest(execution: Execution, names: Iterable[str]) -> None:
    """Have those asked again who wait longest for some locks, in their order. Who waits behind one that may take them
    has to go on waiting, and behind one that its rules deny is asked then (`locking.ask_behind`).
    """
    heads = [next(iter(execution.queues[name].items())) for name in names if name in execution.queues]
    for key, _ in sorted({*heads}, key=lambda head: head[1]):
        execution.agenda.append((execution.waiting[key], key))


def begin_waiting(program: Program, execution: Execution, key: str, place: int) -> None:
    """A token stays at a gate, and behind all who wait there for one of its locks."""
    execution.waiting[key] = place
    for name in program.locks.get(program.columns.places.steps[place], NO_LOCKS):
        execution.queues.setdefault(name, {})[key] = execution.position


def leave_gate(program: Program, execution: Execution, key: str) -> frozenset[str]:
    """A token has gone from the gate where it waited, if it did; the locks that it waited for."""
    place = execution.waiting.pop(key, -1)
    names = program.locks.get(program.columns.places.steps[place], NO_LOCKS) if place >= 0 else NO_LOCKS
    for name in names:
        queue = execution.queues[name]
        del queue[key]
        if not queue:
            del execution.queues[name]
    return names
