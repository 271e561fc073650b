"""decide: what follows from the state, to a fixpoint (NET.md; the net's `now` and `ctx` transitions).

Law: the agenda holds every place that got a token since it was last looked at, in log order. Each entry is handed
to the decision for its place's role, which fires what the net enables there and guards choose, or leaves it.
Nothing else decides, and nothing is decided twice: a transition that fired has taken its tokens. The guards and
templates of one fixpoint share a budget of work, which grows with the events decided: they are the same at a replay.
"""

from collections.abc import Callable

from noetl.engine.arrivals import arrive, decide_gate, merge
from noetl.engine.ending import end_if_over
from noetl.engine.locking import follow_sections
from noetl.engine.looping import (
    attend_loop,
    begin_iteration,
    begin_loop,
    close,
    end_inner_loop,
    end_pipeline,
    free_slot,
    stop_where_it_stands,
)
from noetl.engine.routing import route
from noetl.engine.settling import settle
from noetl.engine.signals import deliver_signals
from noetl.engine.turn import Turn
from noetl_ir.evaluate.work import apart, share, share_more


def decide(turn: Turn) -> None:
    """Decide all that can be decided now, to a fixpoint; ends the execution when nothing is left to move. While the
    execution is paused nothing is decided.
    """
    share()
    try:
        _decide(turn)
    finally:
        apart()


def _decide(turn: Turn) -> None:
    while _settle(turn):
        pass


def _settle(turn: Turn) -> bool:
    """Decide all that follows in the current phase. Returns whether there is more to decide: another phase has begun,
    or a signal has given a loop something to do.
    """
    execution = turn.execution
    agenda, tokens = execution.agenda, execution.marking.tokens
    roles = turn.columns.places.roles
    while agenda and not execution.stands_still and not execution.cancelled and not execution.terminated:
        number, key = agenda.popleft()
        keys = tokens.get(number)
        if not keys or key not in keys:
            continue
        decision = _DECISIONS.get(roles[number])
        if decision is not None:
            before = len(turn.events)
            decision(turn, number, key)
            if execution.sections and len(turn.events) > before:
                follow_sections(turn)
            share_more(len(turn.events) - before)
    is_ending = execution.is_over or execution.terminated or execution.cancelled
    if execution.signals and not execution.stands_still and not is_ending:
        deliver_signals(turn)
        if agenda:
            return True
    if (
        turn.program.settled
        and not execution.stands_still
        and not is_ending
        and not turn.is_winding_down
        and settle(turn)
    ):
        return True
    return end_if_over(turn)


def _end(turn: Turn, number: int, key: str) -> None:
    """A run is over, or the loop inside an iteration."""
    (end_inner_loop if turn.columns.places.levels[number] > 0 else route)(turn, number, key)


_DECISIONS: dict[str, Callable[[Turn, int, str], None]] = {
    "in": arrive,
    "dead": arrive,
    "merge": merge,
    "gate": decide_gate,
    "ready": begin_loop,
    "todo": begin_iteration,
    "slot": free_slot,
    "run": stop_where_it_stands,
    "at": stop_where_it_stands,
    "due": stop_where_it_stands,
    "parked": stop_where_it_stands,
    "out": end_pipeline,
    "bad": end_pipeline,
    "loop": attend_loop,
    "closing": attend_loop,
    "fin": close,
    "done": _end,
    "failed": route,
}
