"""Settled joins: a step starts with what has come once nothing can still come (EXTENSIONS.md §3, `join: settled`).

Settled joins are looked at only when nothing else follows by itself. Where two of them may start then, neither waits
for the other, so their order does not matter. Guards are not evaluated: whatever the arcs allow can still come.
"""

from noetl.engine.turn import Turn
from noetl_ir.events import Firing
from noetl_ir.expr import Json
from noetl_ir.settling import Settled


def settle(turn: Turn) -> bool:
    """Start the first settled join that has tokens and that no further token can reach. Returns whether one started."""
    program, marking = turn.program, turn.execution.marking
    for join in program.settled:
        if join.got in marking.tokens and next(marking.marked(program.tests[join.settle]), None) is None:
            _meet(turn, join, join.settle, {})
            return True
    return False


def force(turn: Turn) -> bool:
    """Start the settled join with the oldest token, where nothing at all can move: two settled joins may wait for each
    other. Returns whether one started.
    """
    places = {place: join for join in turn.program.settled for place, _, _ in join.sources}
    tokens = turn.execution.marking.tokens
    waiting = {key: places[place] for place in tokens if place in places for key in tokens[place]}
    join = next((waiting[key] for key in turn.execution.arrivals if key in waiting), None)
    if join is None:
        return False
    _meet(turn, join, join.force, {"forced": True})
    return True


def _meet(turn: Turn, join: Settled, beginning: int, data: dict[str, Json]) -> None:
    """Take the oldest token of each source that has one; they go on with the key of the one that came last."""
    marking = turn.execution.marking
    keys: list[Json] = []
    fired = [Firing(beginning, "", "")]
    for place, gather, lack in join.sources:
        key = next(marking.keys(place), None)
        if key is None:
            fired.append(Firing(lack, "", ""))
        else:
            keys.append(key)
            fired.append(Firing(gather, ("", key, ""), ""))
    last = next(key for key in reversed(turn.execution.arrivals) if key in keys)
    fired.append(Firing(join.meet, "", (last, "")))
    turn.emit("token.joined", step=join.step, run=last, fired=tuple(fired), data={"tokens": keys, **data})
