"""Waits as hearers of signals (LANGUAGE §7, `wait`): the oldest that listens for a name takes the next signal of it.

Law: a signal that comes before its wait is not lost, but to a wait that is transient: that hears only what comes once
its token stands before it.
"""

from collections.abc import Iterator
from functools import lru_cache

from noetl.engine.evolve_tasks import WAIT
from noetl.engine.execution import Execution, KeptSignal
from noetl.engine.listening import ListenedNames, Listener, ListenerKind
from noetl.engine.program import Program
from noetl.engine.turn import Turn
from noetl_ir.expr import Json, Literal, Template, entries_of
from noetl_ir.outcome import ok
from noetl_ir.records import NamedTuple


class _Plan(NamedTuple):
    """The waits of a plan: what they may listen for, and the tasks that are transient or may be, with their names
    (None: computed).
    """

    names: ListenedNames
    transient: dict[int, frozenset[str] | None]


@lru_cache(maxsize=16)
def _of_plan(program: Program) -> _Plan:
    plan = program.plan
    kept, any_kept = set[str](), False
    transient: dict[int, frozenset[str] | None] = {}
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
    found = [*transient.values()]
    passing = None if None in found else frozenset[str]().union(*(names for names in found if names is not None))
    # Plans without a transient wait keep every signal, as they always did.
    return _Plan(ListenedNames(frozenset(kept), any_kept, passing, bool(transient)), transient)


def _literal_events(template: Template | None) -> frozenset[str] | None:
    """The names that a wait's fields give; None where they are computed."""
    part = _part(template, "events")
    if not isinstance(part, Literal):
        return None
    value = part.value
    return frozenset(map(str, value if isinstance(value, list) else [] if value is None else [value]))


def _part(template: Template | None, name: str) -> Template | None:
    """A field of a wait; null where it is not given, None where all of them are computed."""
    parts = {} if template is None else entries_of(template)
    return None if parts is None else parts.get(name, Literal(None))


def _listening(program: Program, execution: Execution) -> Iterator[Listener]:
    for key, names in execution.waits.items():
        # One that came before a transient wait was next is nothing to it, though it may be kept for another one.
        yield Listener(key, names, execution.transient.get(key, -1), execution.mail.listed.get(key, ""))


def _expected(program: Program, execution: Execution) -> Iterator[Listener]:
    """A transient wait hears from the moment that its token stands before it, also while no worker has begun it yet."""
    transient = _of_plan(program).transient
    if not transient:
        return
    for key, region in execution.regions.items():
        if region.task in transient and region.phase in ("at", "run", "parked") and region.pending is None:
            names = transient[region.task]
            yield Listener(key, ANY if names is None else names, region.came_at)


class _Any(frozenset[str]):
    """Names that are computed: it could be any."""

    def __contains__(self, name: object) -> bool:
        return True


ANY = _Any()
"""The names of a listener that computes them."""


def _hear(turn: Turn, listener: Listener, signal: KeptSignal) -> None:
    outcome = ok({"name": signal.name, "data": signal.data}).as_json()
    data: dict[str, Json] = {"signal": signal.name, "outcome": outcome}
    if signal.wait:
        data["row"] = signal.row
    turn.emit("token.claimed", step=turn.execution.regions[listener.key].step, run=listener.key, data=data)


WAITS = ListenerKind(_listening, lambda program: _of_plan(program).names, _hear, _expected)
