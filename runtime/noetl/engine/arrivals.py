"""Tokens that reach a step: joins and the gate (NET.md, JOIN and GATE).

Joins match by order: the k-th token of every source belongs to wave k, whatever it carries.
"""

from itertools import islice

from noetl.engine.cancelling import NOTHING, cancelled_by, withdraw
from noetl.engine.interrupting import due_interrupts
from noetl.engine.locking import are_free, ask_behind, take
from noetl.engine.scope import admit_scope
from noetl.engine.time_limits import time_limit
from noetl.engine.turn import Turn
from noetl_ir.evaluate import Fault
from noetl_ir.events import Firing, firing_of
from noetl_ir.expr import Json
from noetl_ir.net import Arc


def arrive(turn: Turn, place: int, key: str) -> None:
    """A token, or the dead one of a branch not taken, lies in an entrance of a step: the join takes it if it can."""
    # After an unhandled failure nothing new begins (LANGUAGE §3): the token stays where it lies, so that the end can
    # say what was left.
    if turn.is_winding_down:
        return
    rows = turn.columns.transitions
    for number in turn.program.choices(place):
        role = rows.roles[number]
        # A step with a single source, or `join: any`, has one transition per entrance and no wave to keep: the token
        # goes through the entrance and the gate in one event, which halves the events of a chain.
        if role == "enter":
            _gate(turn, rows.steps[number], key, (firing_of((number, key, key)),))
            return
        # The agenda names one entrance; the join's transition needs all. Until the last source has delivered this is
        # no fault.
        if _enabled(turn, number) is None:
            continue
        mode = turn.program.plan.steps[rows.steps[number]].join.mode
        if mode in ("tokens", "settled"):
            made = _keys(turn, turn.program.plan.net.transitions[number].outputs, key) if mode == "settled" else key
            turn.emit("token.enqueued", step=rows.steps[number], run=key, fired=(Firing(number, key, made),))
        elif role == "meet":
            _meet(turn, number, key)
        else:
            _take_into_wave(turn, number, key)
        return


def merge(turn: Turn, place: int, key: str) -> None:
    """A token lies where a join counts tokens: the oldest that are enough go on as one (EXTENSIONS.md §3)."""
    step = turn.columns.places.steps[place]
    needed = turn.program.plan.steps[step].join.n
    keys = tuple(islice(turn.execution.marking.keys(place), needed))
    if turn.is_winding_down or len(keys) < needed:
        return
    firing = Firing(turn.program.transition("meet", step), keys if needed > 1 else keys[0], keys[-1])
    turn.emit("token.joined", step=step, run=keys[-1], fired=(firing,), data={"tokens": list(keys)})


def decide_gate(turn: Turn, place: int, key: str) -> None:
    """A token lies at a gate."""
    if not turn.is_winding_down:
        _gate(turn, turn.columns.places.steps[place], key, ())


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


def _take_into_wave(turn: Turn, number: int, key: str) -> None:
    """Joins that keep a wave: take the token in, meet when the wave is ready, and begin the next when it is whole."""
    program, marking = turn.program, turn.execution.marking
    transition = program.plan.net.transitions[number]
    step = transition.step
    firing = Firing(number, _keys(turn, transition.inputs, key), _keys(turn, transition.outputs, key))
    idle = program.idle_place(step)
    # The idle token lies there from `rearm` to `meet`: without it the wave has met already, and who comes now was not
    # needed.
    late = idle >= 0 and not marking.count(idle, "")
    turn.emit("token.swallowed" if late else "token.enqueued", step=step, run=key, fired=(firing,))
    # `meet` stands first: a wave with a live token goes on. `meet_none` is enabled only when all that came are dead.
    for role in ("meet", "meet_none"):
        meeting = program.find(role, step)
        if meeting >= 0 and _enabled(turn, meeting) is not None:
            _meet(turn, meeting, key)
            break
    rearm = program.find("rearm", step)
    keys = _enabled(turn, rearm) if rearm >= 0 else None
    # The wave is whole: every source has delivered, so the join may count the next one.
    if keys is not None:
        turn.emit("token.enqueued", step=step, fired=(Firing(rearm, keys, ""),), data={"wave": "complete"})
    # Tokens of the next wave may have come while this one was open. Nothing else puts them on the agenda again.
    for entrance in program.entrances(step):
        turn.execution.agenda.extend((entrance, waiting) for waiting in marking.keys(entrance))


def _keys(turn: Turn, arcs: tuple[Arc, ...], key: str) -> tuple[str, ...]:
    """The token's key where tokens lie by key, the empty one where the join counts."""
    roles = turn.columns.places.roles
    return tuple(key if roles[arc.place] in _KEYED else "" for arc in arcs)


_KEYED = frozenset({"in", "dead", "held", "gate"})


def _meet(turn: Turn, number: int, key: str) -> None:
    """A wave is ready: one token goes on with the key of the live one that came last; it may be that none is live."""
    transition = turn.program.plan.net.transitions[number]
    roles = turn.columns.places.roles
    took: list[str] = []
    tokens: list[str] = []
    for arc, oldest in zip(transition.inputs, _enabled(turn, number) or (), strict=True):
        took.append(key if roles[arc.place] == "in" and turn.execution.marking.count(arc.place, key) else oldest)
        if roles[arc.place] in _KEYED and took[-1]:
            tokens.append(took[-1])
    # A counting join takes numbers from its counter, not the tokens: those lie in the `held` places until `rearm`.
    if not tokens and transition.role == "meet":
        tokens = _held(turn, transition.step)
    # Where the deciding token is a dead one, the last live one that arrived gives its event: guards behind the join
    # must never see that of a branch that was not taken.
    last = key if key in tokens else next((k for k in reversed(turn.execution.arrivals) if k in tokens), "")
    firing = Firing(number, tuple(took), _keys(turn, transition.outputs, last))
    if transition.role == "meet":
        turn.emit("token.joined", step=transition.step, run=last, fired=(firing,), data={"tokens": list(tokens)})
    else:
        turn.emit("token.ended", step=transition.step, fired=(firing,), data={"reason": "no branch was taken"})


def _held(turn: Turn, step: int) -> list[str]:
    """The tokens of the wave that a counting join holds, in file order of their sources."""
    program = turn.program
    arcs = program.plan.net.transitions[program.transition("rearm", step)].inputs
    held = (arc.place for arc in arcs if program.columns.places.roles[arc.place] == "held")
    return [key for place in held for key in turn.execution.marking.keys(place)]


def _holds(turn: Turn, step: int, guard: int, key: str) -> bool:
    try:
        return turn.program.guard(guard)(admit_scope(turn, step, key))
    except Fault as fault:
        fault.under("spec", "policy", "admit")
        raise


def _gate(turn: Turn, step: int, key: str, entering: tuple[Firing, ...]) -> None:
    """Ask the admission; the token starts a run, ends, or waits for `ctx` to change."""
    program = turn.program
    row = program.plan.steps[step]
    if step in program.locks and not are_free(turn, step, key):
        # Rules are asked when the locks are free; that answer counts.
        if key not in turn.execution.waiting:
            names: list[Json] = [*sorted(program.locks[step])]
            turn.emit("token.waiting", step=step, run=key, fired=entering, data={"locks": names})
        return
    admit = program.transition("admit", step)
    guard = turn.columns.transitions.guards[admit]
    try:
        # The guard is asked before the timeout is read: a token that is refused must not fail by a timeout that it
        # would never have had.
        admitted = guard < 0 or _holds(turn, step, guard, key)
        data: dict[str, Json] = {}
        if admitted and row.timeout >= 0:
            what = f"`lifecycle.timeout_s` of step `{row.name}`"
            scope = admit_scope(turn, step, key)
            data["timeout"] = time_limit(program, row.timeout, scope, code="step.timeout", what=what)
        if admitted and step in program.interrupts:
            timers = due_interrupts(turn, step, admit_scope(turn, step, key))
            data.update({"timers": timers} if timers else {})
    except Fault as fault:
        failing = Firing(program.transition("admit_fault", step), key, key)
        where: dict[str, Json] = {"step": row.name, "where": "admission", **fault.place()}
        error: dict[str, Json] = {"code": fault.code, "message": fault.message, **where}
        turn.emit("step.failed", step=step, run=key, fired=(*entering, failing), data={"error": error})
        return
    if admitted:
        reached = cancelled_by(turn, admit, key) if program.resets else NOTHING
        turn.emit("step.scheduled", step=step, run=key, fired=(*entering, firing_of((admit, key, key))), data=data)
        withdraw(turn, reached, key)
        take(turn, step, key)
    elif row.waits:
        # A gate is asked again at each change of `ctx`. Only the first refusal is an event, or a busy ctx would fill
        # the log.
        if key not in turn.execution.waiting:
            turn.emit("token.waiting", step=step, run=key, fired=entering)
        if step in program.locks:
            ask_behind(turn, step, key)
    else:
        deny = Firing(program.transition("deny", step), key, key)
        reason: Json = "no admission rule allowed it"
        turn.emit("token.rejected", step=step, run=key, fired=(*entering, deny), data={"reason": reason})
