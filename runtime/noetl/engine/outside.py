"""Signals and timers of a loop that runs (EXTENSIONS.md §5): they add an item, close it, or complete it.

Law: an item is added to the oldest loop that listens for its signal, also one that came before the loop; `close` and
`complete` hear only what stands in the log behind `loop.started`. One that is closed, stopped or has enough hears none.
"""

from collections.abc import Callable, Iterator

from noetl.engine.execution import Execution, KeptSignal, LoopRun
from noetl.engine.listening import ListenedNames, Listener, ListenerKind
from noetl.engine.program import Program
from noetl.engine.scope import items_scope
from noetl.engine.time_limits import due_times
from noetl.engine.turn import Turn
from noetl_ir.events import Firing
from noetl_ir.expr import Json
from noetl_ir.plan import CLOSE, COMPLETE, MORE

TIMERS = frozenset({CLOSE, COMPLETE})
"""The kinds of timers that a loop sets."""


def due_timers(turn: Turn, step: int, level: int, key: str) -> dict[str, Json]:
    """When the timers of a loop that begins now are due, by what they do and their names. Raises Fault."""
    program, found = turn.program, dict[str, Json]()
    for verb, row in program.loop_signals(step, level).items():
        if row.timers >= 0:
            of = f"`{verb}` of the loop of step `{program.plan.steps[step].name}`"
            found[verb] = due_times(turn, row.timers, items_scope(turn, step, level, key), code="loop.timer", of=of)
    return found


def end_intake(turn: Turn, key: str, data: dict[str, Json]) -> None:
    """No item comes any more; `data` says why, and whether the loop is to end."""
    loop = turn.execution.loops[key]
    shut = () if loop.closed else (Firing(turn.program.transition("shut", loop.step, level=loop.level), key, key),)
    turn.emit("loop.closed", step=loop.step, run=key, fired=shut, data={"level": loop.level, **data})


def by_timer(turn: Turn, verb: str, key: str, name: str) -> None:
    """A timer of a loop has fired, which closes or completes it."""
    end_intake(turn, key, {"by": "timer", "name": name, **_completing(verb)})


def _completing(verb: str) -> dict[str, Json]:
    return {"complete": True} if verb == COMPLETE else {}


def _listening(verb: str) -> Callable[[Program, Execution], Iterator[Listener]]:
    def listening(program: Program, execution: Execution) -> Iterator[Listener]:
        if not program.plan.loop_signals:
            return
        for key, loop in execution.loops.items():
            row = loop.signals.get(verb)
            if row is not None and row.events and _hears(loop, verb):
                yield Listener(key, frozenset(row.events), -1 if verb == MORE else loop.since)

    return listening


def _hears(loop: LoopRun, verb: str) -> bool:
    """Whether a loop that may listen does so now."""
    return not (loop.stopping or loop.satisfied or loop.left or (loop.closed and verb != COMPLETE))


def _names(verb: str) -> Callable[[Program], ListenedNames]:
    def names(program: Program) -> ListenedNames:
        rows = [row for row in program.plan.loop_signals if row.verb == verb]
        events = frozenset(name for row in rows for name in row.events)
        # What closes or completes a loop is nothing to one that begins later, and is not kept for it.
        return ListenedNames(kept=events) if verb == MORE else ListenedNames(passing=events, misses=bool(events))

    return names


def _add(turn: Turn, listener: Listener, signal: KeptSignal) -> None:
    loop, key = turn.execution.loops[listener.key], listener.key
    number = turn.program.transition("add", loop.step, level=loop.level)
    data: dict[str, Json] = {
        "signal": signal.name, "index": len(loop.items), "item": signal.data, "level": loop.level,
    }  # fmt: skip
    turn.emit("loop.item.added", step=loop.step, run=key, fired=(Firing(number, key, key),), data=data)


def _end(verb: str) -> Callable[[Turn, Listener, KeptSignal], None]:
    def hear(turn: Turn, listener: Listener, signal: KeptSignal) -> None:
        data: dict[str, Json] = {"by": "signal", "name": signal.name, "data": signal.data, **_completing(verb)}
        end_intake(turn, listener.key, data)

    return hear


COMPLETES = ListenerKind(_listening(COMPLETE), _names(COMPLETE), _end(COMPLETE))
CLOSES = ListenerKind(_listening(CLOSE), _names(CLOSE), _end(CLOSE))
ADDS = ListenerKind(_listening(MORE), _names(MORE), _add)
