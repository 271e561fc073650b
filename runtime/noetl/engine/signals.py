"""The dispatcher of signals: who gets one, and what becomes of those that nobody hears (EXTENSIONS §6).

Law: signals are taken in the order in which they came. Each goes to the first that hears it, by the order of `KINDS`,
among equals to the oldest; one of the mailbox to its wait alone, or it goes back there. What nobody hears is kept for
those who take older ones, else recorded as missed. One that came while the execution was paused does not pass a timer
that was due before it, or when it came.
"""

from functools import lru_cache

from noetl.engine.execution import Execution, KeptSignal
from noetl.engine.interrupting import INTERRUPTS
from noetl.engine.letters import return_letter
from noetl.engine.listening import ListenedNames, Listener, ListenerKind
from noetl.engine.outside import ADDS, CLOSES, COMPLETES
from noetl.engine.program import Program
from noetl.engine.turn import Turn
from noetl.engine.waits import WAITS
from noetl_ir.expr import Json
from noetl_ir.nearest import nearest

KINDS: tuple[ListenerKind, ...] = (INTERRUPTS, COMPLETES, CLOSES, ADDS, WAITS)
"""The kinds that hear signals, in the order in which they are asked: interrupt, complete, close, more, wait."""


@lru_cache(maxsize=16)
def _names_of(program: Program) -> tuple[ListenedNames, ...]:
    """Names of each kind that its listeners may ever listen for; asked after each event while a signal is kept."""
    return tuple([kind.names(program) for kind in KINDS])


def unheard(program: Program, name: str) -> str:
    """The message about a signal that nothing in the plan listens for; empty where something does, or may."""
    # A name that is computed could be any: nothing is said rather than something wrong.
    if any(names.any_kept or names.passing is None for names in _names_of(program)):
        return ""
    known = heard_names(program)
    if name in known:
        return ""
    near = nearest(name, known)
    asked = f"; did you mean `{near}`?" if near else ""
    waited = f" (waited for: {', '.join(f'`{one}`' for one in known)})" if known else ""
    return f"nothing in the playbook waits for a signal `{name}`{asked}{waited}"


def heard_names(program: Program) -> tuple[str, ...]:
    """The names of signals that something in the plan listens for, as far as they are written in it."""
    known: dict[str, None] = {}
    for names in _names_of(program):
        known.update(dict.fromkeys(sorted(names.kept | (names.passing or frozenset()))))
    return tuple(known)


def deliver_signals(turn: Turn) -> None:
    """Hand every kept signal to the first that hears it, as far as there is one; others may be missed."""
    execution = turn.execution
    position = 0
    while position < len(execution.signals):
        signal = execution.signals[position]
        # Those behind it came later, and do not pass it either.
        if _overdue(execution, signal) is not None:
            return
        heard = _first(turn, signal)
        if heard is None:
            if signal.wait and signal.wait not in execution.mail.listed.values():
                return_letter(turn, signal.row)
            else:  # kept for one that may come later
                position += 1
        else:
            kind, listener = heard
            kind.hear(turn, listener, signal)
            # What it has ended listens no more: that is decided before the next one is handed out.
            if execution.agenda:
                return
    if execution.signals:
        miss_signals(turn)


def overdue(execution: Execution) -> str | None:
    """The timer that has to fire before a kept signal is heard: it was due before that came; None without one."""
    if execution.is_over or execution.stands_still:
        return None
    found = (_overdue(execution, signal) for signal in execution.signals)
    return next((name for name in found if name is not None), None)


def is_listening(program: Program, execution: Execution) -> bool:
    """Whether a signal would move something besides a task that waits for it."""
    return any(True for kind in KINDS if kind is not WAITS for _ in kind.listening(program, execution))


def _overdue(execution: Execution, signal: KeptSignal) -> str | None:
    if signal.came is None:
        return None
    due = [(timer.due, name) for name, timer in execution.timers.items() if timer.due <= signal.came]
    return min(due)[1] if due else None


def _first(turn: Turn, signal: KeptSignal) -> tuple[ListenerKind, Listener] | None:
    for kind in KINDS:
        for listener in kind.listening(turn.program, turn.execution):
            if listener.hears(signal):
                return kind, listener
    return None


def miss_signals(turn: Turn) -> None:
    """Record each signal that is kept for nothing: nobody takes it later, and none that hears it is next."""
    program, execution = turn.program, turn.execution
    names = _names_of(program)
    if not any(each.misses for each in names) or any(each.any_kept for each in names):
        return
    direct = [signal for signal in execution.signals if not signal.wait]
    left = [signal for signal in direct if not any(signal.name in each.kept for each in names)]
    if not left:
        return
    expected = [listener for kind in KINDS for listener in kind.expected(program, execution)]
    for signal in left:
        if not any(listener.hears(signal) for listener in expected):
            data: dict[str, Json] = {"name": signal.name}
            turn.emit("signal.missed", data=data)
