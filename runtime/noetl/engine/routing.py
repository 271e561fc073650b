"""Routing: the walk along a router's chain of choices once a step run has ended (NET.md, ROUTING).

All guards, args and delays of the walk are evaluated first; then one event fires it whole, or nothing of it does.
"""

from noetl.engine.scope import arc_scope
from noetl.engine.turn import Turn
from noetl_ir.evaluate import Fault, Scope
from noetl_ir.events import Firing
from noetl_ir.expr import Json
from noetl_ir.kinds import seconds_of
from noetl_ir.net import Transition

_CHAIN = ("c", "n", "s")


class _Walk:
    """What a walk has gathered: firings, arcs taken, guards asked, the arc being asked, the next free token key."""

    __slots__ = ("arc", "arcs", "asked", "fired", "next_key")

    def __init__(self, next_key: int) -> None:
        self.next_key = next_key
        self.fired: list[Firing] = []
        self.arcs: list[Json] = []
        self.asked: list[Json] = []
        self.arc = -1


def route(turn: Turn, place: int, key: str) -> None:
    """Fire the router of the run with this key, or end its token with the reason."""
    program, net = turn.program, turn.program.plan.net
    step = net.places[place].step
    failed = net.places[place].role == "failed"
    scope = arc_scope(turn, key)
    walk = _Walk(turn.execution.next_key)
    try:
        _walk(turn, walk, place, key, scope)
    except Fault as fault:
        _end_by_fault(turn, walk, step, place, key, fault)
        return
    if walk.arcs:
        turn.emit("next.selected", step=step, run=key, fired=tuple(walk.fired), data={"arcs": walk.arcs})
    elif failed:
        error = turn.execution.runs[key].error
        data: dict[str, Json] = {"reason": "no arc takes the failure", "unhandled": True, "error": error}
        turn.emit("token.ended", step=step, run=key, fired=tuple(walk.fired), data=data)
    else:
        leaf = not program.plan.steps[step].arcs
        data = {"reason": "the step is a leaf" if leaf else "no arc matched"}
        if not leaf:
            data["asked"] = walk.asked
        turn.emit("token.ended", step=step, run=key, fired=tuple(walk.fired), data=data)


def _walk(turn: Turn, walk: _Walk, place: int, key: str, scope: Scope) -> None:
    net = turn.program.plan.net
    here: int | None = place
    while here is not None:
        number, chosen = _choose(turn, walk, here, scope)
        here = None
        made: list[str] = []
        token = str(walk.next_key)
        for arc in chosen.outputs:
            role = net.places[arc.place].role
            if role in _CHAIN:
                here = arc.place
            made.append(key if role in _CHAIN else token if role in ("in", "fly") else "")
        if chosen.role == "take":
            walk.arcs.append(_taken(turn, walk, chosen, token, scope))
            walk.next_key += 1
        if made and any(k != key for k in made):
            walk.fired.append(Firing(number, key, made[0] if len(made) == 1 else tuple(made)))
        else:
            walk.fired.append(Firing(number, key, key))


def _choose(turn: Turn, walk: _Walk, place: int, scope: Scope) -> tuple[int, Transition]:
    program, net = turn.program, turn.program.plan.net
    for number in program.choices[place]:
        transition = net.transitions[number]
        if transition.fault:
            continue
        if transition.guard < 0:
            return number, transition
        walk.arc = transition.arc
        if program.guard(transition.guard)(scope):
            return number, transition
        walk.asked.append({"target": _target(turn, transition.arc), "when": program.text(transition.guard)})
    raise Fault("net.choice", f"no alternative at place `{net.places[place].id}`")


def _taken(turn: Turn, walk: _Walk, transition: Transition, token: str, scope: Scope) -> dict[str, Json]:
    program = turn.program
    arc = program.plan.arcs[transition.arc]
    walk.arc = transition.arc
    row: dict[str, Json] = {"arc": transition.arc, "key": token}
    if arc.target < 0:
        row["ends"] = True
    if arc.args >= 0:
        row["args"] = program.value(arc.args)(scope)
    if arc.delay >= 0:
        value = program.value(arc.delay)(scope)
        delay = seconds_of(value)
        if delay is None:
            raise Fault("arc.delay", f"the delay is no duration: {value!r}")
        row["due"] = turn.now + round(delay * 1_000_000)
    return row


def _end_by_fault(turn: Turn, walk: _Walk, step: int, place: int, key: str, fault: Fault) -> None:
    program = turn.program
    row = program.plan.steps[step]
    fault_firing = next(n for n in program.choices[place] if program.plan.net.transitions[n].fault)
    error: dict[str, Json] = {"code": fault.code, "message": fault.message, "step": row.name}
    if walk.arc >= 0:
        number = row.arcs.index(walk.arc)
        error["arc"] = number
        error["target"] = _target(turn, walk.arc)
        error["message"] = f"{fault.message} (arc {number} of step `{row.name}`, to `{error['target']}`)"
    run = turn.execution.runs[key]
    if run.error is not None:
        error["cause"] = run.error
    data: dict[str, Json] = {"reason": "an arc could not be evaluated", "unhandled": True, "error": error}
    turn.emit("token.ended", step=step, run=key, fired=(Firing(fault_firing, key, key),), data=data)


def _target(turn: Turn, arc: int) -> str:
    """The name of the step that an arc leads to."""
    plan = turn.program.plan
    target = plan.arcs[arc].target
    return plan.steps[target].name if target >= 0 else "end"
