"""Routing: the walk along a router's chain of choices once a step run has ended (NET.md, ROUTING).

All guards, args and delays of the walk are evaluated first; then one event fires it whole, or nothing of it does.
"""

from noetl.engine.execution import Execution
from noetl.engine.locking import give
from noetl.engine.scope import arc_scope
from noetl.engine.turn import Turn
from noetl_ir.evaluate import Fault, Scope
from noetl_ir.events import Firing, firing_of
from noetl_ir.expr import Json
from noetl_ir.kinds import seconds_of
from noetl_ir.plan import Step

_CHAIN = ("c", "n", "s")
_KINDS = {list: "a list", str: "a text", bool: "a truth value", int: "a number", float: "a number"}


class _Walk:
    """A walk along the chain of one run, and what it has gathered.

    Firings, arcs taken, guards asked, the arc being asked, the next free token key. The names that expressions see
    are put together once one is asked.
    """

    __slots__ = ("_scope", "arc", "arcs", "asked", "fired", "key", "next_key", "turn")

    def __init__(self, turn: Turn, key: str) -> None:
        self.turn = turn
        self.key = key
        self.next_key = turn.execution.next_key
        self.fired: list[Firing] = []
        self.arcs: list[Json] = []
        self.asked: list[Json] = []
        self.arc = -1
        self._scope: Scope | None = None

    @property
    def scope(self) -> Scope:
        """The names that guards, args and delays see."""
        if self._scope is None:
            self._scope = arc_scope(self.turn, self.key)
        return self._scope


def route(turn: Turn, place: int, key: str) -> None:
    """Fire the router of the run with this key, or end its token with the reason."""
    program, places = turn.program, turn.columns.places
    step = places.steps[place]
    if turn.execution.holding:
        give(turn, key)
    if program.plan.terminates and places.roles[place] == "done":
        status = dict(program.plan.terminates).get(step)
        if status is not None:
            _terminate(turn, step, key, status)
            return
    walk = _Walk(turn, key)
    try:
        _walk(walk, place)
    except Fault as fault:
        _end_by_fault(walk, step, place, fault)
        return
    if walk.arcs and (over := _over(walk)) is not None:
        # Nothing fires, for the net has no alternative for it: the token stays, and the execution ends with the reason.
        error: Json = {"code": over.code, "message": over.message, "step": program.plan.steps[step].name}
        ended: dict[str, Json] = {"reason": "a bound of the execution", "unhandled": True, "error": error}
        turn.emit("token.ended", step=step, run=key, data=ended)
    elif walk.arcs:
        turn.emit("next.selected", step=step, run=key, fired=tuple(walk.fired), data={"arcs": walk.arcs})
    elif places.roles[place] == "failed":
        failure = turn.execution.runs[key].error
        data: dict[str, Json] = {"reason": "no arc takes the failure", "unhandled": True, "error": failure}
        turn.emit("token.ended", step=step, run=key, fired=tuple(walk.fired), data=data)
    else:
        leaf = not program.plan.steps[step].arcs
        data = {"reason": "the step is a leaf" if leaf else "no arc matched"}
        if not leaf:
            data["asked"] = walk.asked
        turn.emit("token.ended", step=step, run=key, fired=tuple(walk.fired), data=data)


def _terminate(turn: Turn, step: int, key: str, status: str) -> None:
    """The step's success ends the execution: no arc is asked, and all that is on its way ends with it."""
    firing = Firing(turn.program.transition("terminate", step), key, key)
    data: dict[str, Json] = {"reason": "the step ends the execution", "ends": status}
    if status == "failed":
        name = turn.program.plan.steps[step].name
        data["error"] = {"code": "terminated", "message": f"step `{name}` ended the execution as failed", "step": name}
    turn.emit("token.ended", step=step, run=key, fired=(firing,), data=data)


def _over(walk: _Walk) -> Fault | None:
    """The bound that the tokens of a walk come to; None for none."""
    limits = walk.turn.program.plan.limits
    runs, tokens = walk.next_key - 1, walk.turn.execution.marking.control + len(walk.arcs) - 1
    if runs > limits.max_step_runs:
        message = f"{runs:,} step runs in this execution; `limits.max_step_runs` is {limits.max_step_runs:,}"
        return Fault("limit.step_runs", message)
    # Counting exactly walks over the loops. That is done only when the rough number, which is never too small, is
    # over the limit.
    if tokens > limits.max_tokens:
        tokens -= _not_in_flight(walk.turn.execution)
    if tokens > limits.max_tokens:
        message = f"{tokens:,} tokens in flight at once; `limits.max_tokens` is {limits.max_tokens:,}"
        return Fault("limit.tokens", message)
    return None


def _not_in_flight(execution: Execution) -> int:
    """The tokens that are no step or iteration in flight: items that wait for their turn, and loops with others that do
    not, which count for them.
    """
    waiting = [(loop.open, len(loop.items) - loop.next_index) for loop in execution.loops.values()]
    return sum(items + (unfinished > items) for unfinished, items in waiting)


def _walk(walk: _Walk, place: int) -> None:
    columns, key = walk.turn.columns, walk.key
    here: int | None = place
    while here is not None:
        number = _choose(walk, here)
        here = None
        made: list[str] = []
        # The key that the next arc's token would get; it is used up only if the arc is taken.
        token = str(walk.next_key)
        for goal in columns.targets(number):
            role = columns.places.roles[goal]
            if role in _CHAIN:
                here = goal
                made.append(key)
            else:
                made.append(token if role in ("in", "fly") else "")
        if columns.transitions.roles[number] == "take":
            walk.arcs.append(_taken(walk, columns.transitions.arcs[number], token))
            walk.next_key += 1
        if len(made) == 1:
            walk.fired.append(firing_of((number, key, made[0])))
        # One text for all arcs is how firings are written where the keys are equal: it makes events smaller and the
        # fast path of the marking possible.
        elif made.count(key) == len(made):
            walk.fired.append(Firing(number, key, key))
        else:
            walk.fired.append(Firing(number, key, tuple(made)))


def _choose(walk: _Walk, place: int) -> int:
    program = walk.turn.program
    rows = walk.turn.columns.transitions
    for number in program.choices(place):
        # The fault's alternative has no guard. It is fired by name, when an expression of the walk has failed.
        if rows.faults[number]:
            continue
        guard = rows.guards[number]
        if guard < 0:
            return number
        walk.arc = rows.arcs[number]
        if _holds(walk, guard):
            return number
        # Guards that were asked and were false stand in the event: whoever reads why nothing matched at night sees
        # which were asked.
        walk.asked.append({"target": _target(walk.turn, walk.arc), "when": program.text(guard)})
    raise Fault("net.choice", f"no alternative at place `{program.plan.net.places[place].id}`")


def _holds(walk: _Walk, guard: int) -> bool:
    try:
        return walk.turn.program.guard(guard)(walk.scope)
    except Fault as fault:
        fault.under("when")
        raise


def _value(walk: _Walk, index: int, *keys: str) -> Json:
    """The value of a template that stands under these keys of its arc."""
    try:
        return walk.turn.program.value(index)(walk.scope)
    except Fault as fault:
        fault.under(*keys)
        raise


def _taken(walk: _Walk, number: int, token: str) -> dict[str, Json]:
    """The row of an event about an arc that is taken."""
    program = walk.turn.program
    arc = program.plan.arcs[number]
    walk.arc = number
    row: dict[str, Json] = {"arc": number, "key": token}
    if arc.target < 0:
        row["ends"] = True
    if arc.args >= 0:
        args = _value(walk, arc.args, "args")
        if args is not None and not isinstance(args, dict):
            kind = _KINDS.get(type(args), "no data")
            why = f"the args are {kind}, and have to be a mapping: write `args: {{name: …}}`"
            raise Fault("arc.args", why).under("args")
        row["args"] = args or {}
    if arc.delay >= 0:
        value = _value(walk, arc.delay, "spec", "delay")
        delay = seconds_of(value)
        if delay is None:
            raise Fault("arc.delay", f"the delay is no duration: {repr(value)[:60]}").under("spec", "delay")
        row["due"] = walk.turn.now + round(delay * 1_000_000)
    return row


def _end_by_fault(walk: _Walk, step: int, place: int, fault: Fault) -> None:
    turn, key = walk.turn, walk.key
    program = turn.program
    row = program.plan.steps[step]
    fault_firing = next(n for n in program.choices(place) if program.columns.transitions.faults[n])
    error: dict[str, Json] = {"code": fault.code, "message": fault.message, "step": row.name, **fault.place()}
    if walk.arc >= 0:
        number = row.arcs.index(walk.arc)
        error["arc"] = number
        error["target"] = _target(turn, walk.arc)
        error["message"] = (
            f"{fault.message}{_unsent(walk, row, fault)} (arc {number} of step `{row.name}`, to `{error['target']}`)"
        )
    run = turn.execution.runs[key]
    if run.error is not None:
        error["cause"] = run.error
    data: dict[str, Json] = {"reason": "an arc could not be evaluated", "unhandled": True, "error": error}
    turn.emit("token.ended", step=step, run=key, fired=(Firing(fault_firing, key, key),), data=data)


def _unsent(walk: _Walk, row: Step, fault: Fault) -> str:
    """The reason why data of a signal are undefined; "" for all else."""
    result = walk.turn.execution.runs[walk.key].result
    waits = any(walk.turn.program.plan.tasks[task].kind == "wait" for task in row.tasks)
    if not waits or not isinstance(result, dict) or result.get("data", result) is not None:
        return ""
    reads = fault.path.startswith((f"{row.name}.data", f"{row.name}.result.data", "event.result.data"))
    return f": signal `{result.get('name')}` came without data" if reads else ""


def _target(turn: Turn, arc: int) -> str:
    """The name of the step that an arc leads to."""
    plan = turn.program.plan
    target = plan.arcs[arc].target
    return plan.steps[target].name if target >= 0 else "end"
