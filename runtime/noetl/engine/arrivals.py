"""Tokens that reach a step: joins and the gate (NET.md, JOIN and GATE).

Joins match by order: the k-th token of every source belongs to wave k, whatever it carries.
"""

from noetl.engine.scope import admit_scope
from noetl.engine.turn import Turn
from noetl_ir.evaluate import Fault
from noetl_ir.events import Firing
from noetl_ir.expr import Json
from noetl_ir.kinds import seconds_of


def arrive(turn: Turn, place: int, key: str) -> None:
    """A token lies in an entrance of a step: whichever transition of the join it enables now fires."""
    if turn.is_winding_down:
        return
    net = turn.program.plan.net
    for number in turn.program.choices[place]:
        transition = net.transitions[number]
        if transition.role == "enter":
            _gate(turn, transition.step, key, (Firing(number, key, key),))
            return
        if transition.role in ("meet", "meet_none"):
            keys = _enabled(turn, number)
            if keys is not None:
                _meet(turn, number, keys, place, key)
                return
        if transition.role == "arrive" and _enabled(turn, number) is not None:
            _count(turn, number, key)
            return


def decide_gate(turn: Turn, place: int, key: str) -> None:
    """A token lies at a gate."""
    if not turn.is_winding_down and turn.execution.marking.count(place, key):
        _gate(turn, turn.program.plan.net.places[place].step, key, ())


def _enabled(turn: Turn, number: int) -> tuple[str, ...] | None:
    """The oldest token of every input place, or None while one is missing."""
    marking = turn.execution.marking
    keys: list[str] = []
    for arc in turn.program.plan.net.transitions[number].inputs:
        weight = arc.weight if isinstance(arc.weight, int) else 0
        found = next((key for key in marking.keys(arc.place) if marking.count(arc.place, key) >= weight), None)
        if found is None:
            return None
        keys.append(found)
    return tuple(keys)


def _meet(turn: Turn, number: int, keys: tuple[str, ...], place: int, key: str) -> None:
    """All sources have delivered: one token with the key of the one that completed the wave goes on."""
    transition = turn.program.plan.net.transitions[number]
    live = [k for k in keys if k in turn.execution.arrivals]
    completing = max(live, key=int, default=key) if key not in live else key
    data: dict[str, Json] = {"tokens": list(live)}
    if transition.role == "meet_none":
        turn.emit("token.ended", step=transition.step, fired=(Firing(number, keys, ""),), data={"reason": "no branch taken"})
        return
    turn.emit("token.joined", step=transition.step, run=completing, fired=(Firing(number, keys, completing),), data=data)


def _count(turn: Turn, number: int, key: str) -> None:
    """Join n: the n-th token of a wave starts the step, the rest are swallowed (NET.md, JOIN n)."""
    program, net = turn.program, turn.program.plan.net
    transition = net.transitions[number]
    step = transition.step
    arrive_firing = Firing(number, (key, ""), (key, ""))
    meet = program.transition("meet", step)
    needed, idle = net.transitions[meet].inputs
    marking = turn.execution.marking
    if not marking.count(idle.place, ""):
        turn.emit("token.swallowed", step=step, run=key, fired=(arrive_firing,))
    elif marking.count(needed.place, "") + 1 < int(needed.weight):
        turn.emit("token.enqueued", step=step, run=key, fired=(arrive_firing,))
    else:
        held = _held(turn, step)
        tokens: list[Json] = [k for p in held for k in marking.keys(p)]
        tokens.append(key)
        fired = (arrive_firing, Firing(meet, "", (key, "")))
        turn.emit("token.joined", step=step, run=key, fired=fired, data={"tokens": tokens})
    rearm = program.transition("rearm", step)
    keys = _enabled(turn, rearm)
    if keys is not None:
        turn.emit("token.enqueued", step=step, fired=(Firing(rearm, keys, ""),), data={"wave": "complete"})
        for entrance in program.entrances(step):
            turn.execution.agenda.extend((entrance, k) for k in marking.keys(entrance))


def _held(turn: Turn, step: int) -> list[int]:
    net = turn.program.plan.net
    rearm = net.transitions[turn.program.transition("rearm", step)]
    return [arc.place for arc in rearm.inputs if net.places[arc.place].role == "held"]


def _gate(turn: Turn, step: int, key: str, entering: tuple[Firing, ...]) -> None:
    """Ask the admission; the token starts a run, ends, or waits for `ctx` to change."""
    program = turn.program
    row = program.plan.steps[step]
    admit = program.transition("admit", step)
    guard = program.plan.net.transitions[admit].guard
    scope = admit_scope(turn, key)
    try:
        admitted = guard < 0 or program.guard(guard)(scope)
        data: dict[str, Json] = {}
        if admitted and row.timeout >= 0:
            limit = seconds_of(program.value(row.timeout)(scope))
            if limit is None:
                raise Fault("step.timeout", f"`lifecycle.timeout_s` of step `{row.name}` is no duration")
            data["timeout"] = round(limit * 1_000_000)
    except Fault as fault:
        failing = Firing(program.transition("admit_fault", step), key, key)
        error: dict[str, Json] = {"code": fault.code, "message": fault.message, "step": row.name, "where": "admission"}
        turn.emit("step.failed", step=step, run=key, fired=(*entering, failing), data={"error": error})
        return
    if admitted:
        turn.emit("step.scheduled", step=step, run=key, fired=(*entering, Firing(admit, key, key)), data=data)
    elif row.waits:
        if key not in turn.execution.waiting:
            turn.emit("token.waiting", step=step, run=key, fired=entering)
    else:
        deny = Firing(program.transition("deny", step), key, key)
        reason: Json = "no admission rule allowed it"
        turn.emit("token.rejected", step=step, run=key, fired=(*entering, deny), data={"reason": reason})

