"""Signals and the waits that listen for them (LANGUAGE §7, `wait`; EXTENSIONS §6).

Law: signals are kept in the order they came; each is taken by the oldest wait that listens for its name, and one
that comes before its wait is not lost, but to a wait that is transient: that hears only what comes once its token
stands before it.
"""

from functools import lru_cache

from noetl.engine.evolve_tasks import WAIT
from noetl.engine.execution import Execution, Kept
from noetl.engine.program import Program
from noetl.engine.turn import Turn
from noetl_ir.expr import Json, Literal, MapTemplate, Template
from noetl_ir.nearest import nearest
from noetl_ir.outcome import ok
from noetl_ir.records import NamedTuple


def unheard(program: Program, name: str) -> str:
    """The message about a signal that nothing in the plan waits for; empty where something does, or may."""
    plan = program.plan
    known: dict[str, None] = {}
    for row in plan.tasks:
        template = plan.templates[row.fields] if row.kind == WAIT and row.fields >= 0 else None
        events = _literal_events(template)
        # A name that is computed could be any: nothing is said rather than something wrong.
        if events is None:
            return ""
        known.update(dict.fromkeys(events))
    if name in known:
        return ""
    near = nearest(name, known)
    asked = f"; did you mean `{near}`?" if near else ""
    waited = f" (waited for: {', '.join(f'`{one}`' for one in known)})" if known else ""
    return f"nothing in the playbook waits for a signal `{name}`{asked}{waited}"


def _literal_events(template: Template | None) -> tuple[str, ...] | None:
    """The names that a wait's fields give; None where they are computed."""
    part = _part(template, "events")
    if not isinstance(part, Literal):
        return None
    value = part.value
    return tuple(map(str, value if isinstance(value, list) else [] if value is None else [value]))


class _Listening(NamedTuple):
    """The waits of a plan: the names that waits take which are not transient, whether one of those computes them; the
    rows of the tasks that are transient, or may be, with their names (None: computed).
    """

    kept: frozenset[str]
    any_kept: bool
    transient: dict[int, tuple[str, ...] | None]


@lru_cache(maxsize=16)
def _listening(program: Program) -> _Listening:
    plan = program.plan
    kept, any_kept = set[str](), False
    transient: dict[int, tuple[str, ...] | None] = {}
    for number, row in enumerate(plan.tasks):
        if row.kind != WAIT:
            continue
        template = plan.templates[row.fields] if row.fields >= 0 else None
        names, said = _literal_events(template), _part(template, "transient")
        is_transient = said.value is True if isinstance(said, Literal) else None
        if is_transient is not False:
            transient[number] = names
        if is_transient is not True:
            any_kept = any_kept or names is None
            kept.update(names or ())
    return _Listening(frozenset(kept), any_kept, transient)


def _part(template: Template | None, name: str) -> Template | None:
    """A field of a wait; null where it is not given, None where all of them are computed."""
    if isinstance(template, MapTemplate):
        return dict(template.items).get(name, Literal(None))
    if isinstance(template, Literal) and isinstance(template.value, dict):
        return Literal(template.value.get(name))
    return Literal(None) if template is None else None


def deliver_signals(turn: Turn) -> None:
    """Hand every kept signal to the oldest wait that hears it, as far as there is one; others may be missed."""
    execution = turn.execution
    position = 0
    while position < len(execution.signals):
        signal = execution.signals[position]
        key = next((key for key, names in execution.waits.items() if _hears(execution, key, names, signal)), None)
        # Kept for a wait that may come later.
        if key is None:
            position += 1
            continue
        outcome = ok({"name": signal.name, "data": signal.data}).as_json()
        data: dict[str, Json] = {"signal": signal.name, "outcome": outcome}
        turn.emit("token.claimed", step=execution.regions[key].step, run=key, data=data)
    listening = _listening(turn.program)
    # Plans without a transient wait keep every signal, as they always did.
    if listening.transient and execution.signals:
        _miss(turn, listening)


def _hears(execution: Execution, key: str, names: frozenset[str], signal: Kept) -> bool:
    # One that came before a transient wait was next is nothing to it, though it may be kept for another one.
    return signal.name in names and signal.at > execution.transient.get(key, -1)


def _miss(turn: Turn, listening: _Listening) -> None:
    """Record each signal that is kept for nothing: no wait takes kept ones, and none that is next began before it."""
    execution = turn.execution
    if listening.any_kept:
        return
    kept = [signal for signal in execution.signals if signal.name not in listening.kept]
    if not kept:
        return
    # A transient wait hears from the moment that its token stands before it, also while no worker has begun it yet.
    before = [
        (region.came_at, listening.transient[region.task])
        for region in execution.regions.values()
        if region.task in listening.transient and region.phase in ("at", "run", "parked") and region.pending is None
    ]
    for signal in kept:
        if not any(at < signal.at and (names is None or signal.name in names) for at, names in before):
            turn.emit("signal.missed", data={"name": signal.name})
