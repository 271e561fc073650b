"""The part of `verify` that holds the net against the tables: it is the one that they give, to the last arc.

An event names a transition by its role and its row in a table, and the engine asks the net for the transitions of each
rule, arc and loop level. A net in which one is missing, or leads elsewhere, would end a run in its middle. So the net
is put together anew (`noetl_ir.assembly`), with what the tables leave open taken from the plan's own: guards, the arcs
that a failed run is asked, the dead tokens of `taken` joins, and whether a task of a kind that is not installed parks.
"""

from collections.abc import Iterator
from functools import cache
from typing import TypeAlias

from noetl_ir.assembly import NetTables, Way, Ways, assemble
from noetl_ir.assembly.making import Arcs
from noetl_ir.kinds import Kind
from noetl_ir.net import Arc, Net, Place, PlaceClass, Transition, Trigger
from noetl_ir.plan import ENTRY, Plan, Step, Task, entries_of, later_entries
from noetl_ir.registry import MissingPart, load
from noetl_ir.span import Span

_Found: TypeAlias = Iterator[tuple[str, str]]

_new = tuple.__new__  # as in `making`: a third of what the constructor of a named tuple costs


def fit_problems(plan: Plan) -> _Found:
    """(element id, what is wrong with it) for a plan whose tables and net are each sound."""
    seen = _Seen(plan)
    odd = False
    for number, (step, sources) in enumerate(zip(plan.steps, _sources(plan), strict=True)):
        if step.join.sources != sources:
            odd = True
            yield f"step {step.name}", "has a join over other sources than the steps that lead to it"
        if step.gated != (seen.admits.get(number, -1) >= 0) or (step.waits and not step.gated):
            odd = True
            yield f"step {step.name}", "has another gate than its row says"
    # Assembling over a wrong join would report every place of it. The cause is enough.
    if odd:
        return
    comparing = _Comparing(plan.net)
    try:
        assemble(_tables(plan, seen), seen.ways(), comparing)
        comparing.check_rest()
    except _Other as difference:
        yield difference.at, difference.message


def _tables(plan: Plan, seen: "_Seen") -> NetTables:
    ending = frozenset(step for step, _ in plan.terminates)
    limited = frozenset(limit.step for limit in plan.iteration_limits)
    later = frozenset(later_entries(plan))
    return NetTables(
        plan.templates,
        plan.steps,
        plan.tasks,
        plan.arcs,
        seen.parks,
        ending,
        limited,
        later,
        plan.loop_ends,
        plan.loop_signals,
        plan.interrupts,
    )


def _sources(plan: Plan) -> list[tuple[str, ...]]:
    """The sources of each step's join, as its arcs say: the entry token first, then steps in the order of the table."""
    found: list[dict[str, None]] = [{} for _ in plan.steps]
    for entry in entries_of(plan):
        found[entry][ENTRY] = None
    for step in plan.steps:
        for row in step.arcs:
            target = plan.arcs[row].target
            if target >= 0:
                found[target][step.name] = None
    return [tuple(sources) for sources in found]


class _Other(Exception):
    """The first element of the net that is not the one of the tables: those behind it may only be moved."""

    def __init__(self, at: str, message: str) -> None:
        super().__init__(at, message)
        self.at = at
        self.message = message


class _Comparing:
    """Takes the elements that the tables give, and compares each with the net's next one. Raises `_Other`."""

    def __init__(self, net: Net) -> None:
        self._places = iter(net.places)
        self._transitions = iter(net.transitions)
        self._count = 0

    def place(
        self,
        id: str,
        role: str,
        step: int,
        *,
        span: Span,
        task: int = -1,
        level: int = -1,
        kind: PlaceClass = PlaceClass.CONTROL,
        tokens: int = 0,
    ) -> Arcs:
        """The arc to the net's next place."""
        found = next(self._places, None)
        # Everything but span and maker: those say where a thing was written, and change nothing that runs.
        if found is None or found[:6] != (id, kind, role, step, task, level):
            raise _other(found, id)
        index, self._count = self._count, self._count + 1
        return (_new(Arc, (index, 1)),)

    def transition(
        self,
        id: str,
        role: str,
        inputs: Arcs,
        outputs: Arcs,
        *,
        step: int,
        span: Span,
        trigger: Trigger = Trigger.NOW,
        guard: int = -1,
        fault: bool = False,
        task: int = -1,
        level: int = -1,
        arc: int = -1,
        outcome: str = "",
    ) -> None:
        """The net's next transition."""
        found = next(self._transitions, None)
        expected = (id, trigger, role, inputs, outputs, guard, fault, step, task, level, arc, outcome)
        if found is None or found[:12] != expected:
            raise _other(found, id)

    def check_rest(self) -> None:
        """Nothing is left."""
        for rest in (self._places, self._transitions):
            for element in rest:
                raise _Other(element.id, "is nothing that the tables ask for")


def _other(found: Place | Transition | None, due: str) -> _Other:
    if found is None:
        return _Other(due, "is missing: the tables ask for it")
    return _Other(found.id, f"is not what the tables give here, which is `{due}`")


class _Seen:
    """The parts of a net that its tables leave open (`Ways`), as the net itself has them."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._parking: set[tuple[int, str]] = set()
        self._guards: dict[int, int] = {}
        self._on_failure: set[int] = set()
        self._dead: dict[int, tuple[tuple[int, str], ...]] = {}
        self.admits: dict[int, int] = {}
        for t in plan.net.transitions:
            role = t[2]
            if role == "take":
                self._guards[t.arc] = t.guard
                name = plan.steps[t.step].name
                # The tables do not say whether an arc is asked when its run has failed. The transition's id does.
                if t.id.startswith((f"take {name} ko ", f"take+ {name} ko ")):
                    self._on_failure.add(t.arc)
            elif role == "pass":
                if len(t.outputs) > 1 and t.arc not in self._dead:
                    self._dead[t.arc] = tuple(self._marked(t))
            elif role == "admit":
                self.admits[t.step] = t.guard
            elif role == "park" and t.task >= 0:
                self._parking.add((t.step, plan.tasks[t.task].name))

    def _marked(self, t: Transition) -> Iterator[tuple[int, str]]:
        """The `taken` joins that get a dead token from a transition, each with the source that the token stands for."""
        for place, _ in t.outputs:
            id, _, role, number, *_ = self._plan.net.places[place]
            join = self._plan.steps[number]
            source = id.removeprefix(f"dead {join.name} ")
            if role == "dead" and join.join.mode == "taken" and source in join.join.sources:
                yield number, source

    def parks(self, task: Task) -> bool:
        """Whether a task ends by another's report or signal: its kind knows, and the net where that is unknown here."""
        kind = _kind(task.kind)
        return (task.step, task.name) in self._parking if kind is None else kind.parks

    def ways(self) -> list[Ways]:
        """The choices that the net has of each step beyond its row."""
        return [Ways(self.admits.get(number, -1), self._arcs(step)) for number, step in enumerate(self._plan.steps)]

    def _arcs(self, step: Step) -> tuple[Way, ...]:
        guards, dead = self._guards, self._dead
        return tuple([Way(guards.get(row, -1), row in self._on_failure, dead.get(row, ())) for row in step.arcs])


@cache
def _kind(name: str) -> Kind | None:
    try:
        return load("noetl_ir.kinds", name, "KIND", Kind)
    except MissingPart:
        return None
