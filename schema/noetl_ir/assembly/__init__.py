"""The net of a plan, put together from its tables (NET.md).

    start: {tool: t, next: {arcs: [{step: end}]}}   →   (in start @entry) [enter] (gate start) [admit]
    (ready start)
        [begin] (at start t) [start] (run start t) [ok … continue] (out start) [out] (done start) [take] ∅

The compiler makes the net here. `verify` makes it once more from the tables of a plan that was read, and compares: a
net that does not follow from its tables would have transitions that no event can name, or lack some that events do
name. Two things are not in the tables: choices that only the compiler knows (`Ways`), and places in the author's file
(`Marks`), which mean nothing to a run. Linear in the size of the tables.
"""

from collections.abc import Callable, Mapping, Sequence

from noetl_ir.assembly.joining import Arrivals, arrivals_of, build_join
from noetl_ir.assembly.looping import Ends, build_gate, build_loops, ends_of
from noetl_ir.assembly.making import NOTHING, SIGNAL, TIME, Arcs, Maker
from noetl_ir.assembly.pipeline import build_body, build_stops, build_ways_out, stations_of
from noetl_ir.assembly.routing import ChainLink, build_chains, targets_of
from noetl_ir.expr import Template
from noetl_ir.plan import CANCEL, MORE, Arc, Interrupt, LoopEnd, LoopSignal, Step, Task
from noetl_ir.records import NamedTuple
from noetl_ir.span import NOWHERE, Span


class Way(NamedTuple):
    """The part of the net about one arc of a router that is not in the tables.

    `guard` is a pool index, -1 for none; `on_failure` says whether the arc is asked when the run has failed. `dead`
    names the places that get a dead token when the arc is not taken: the index of a `taken` join, and the source of
    that join that the token stands for.
    """

    guard: int = -1
    on_failure: bool = False
    dead: tuple[tuple[int, str], ...] = ()


class Ways(NamedTuple):
    """The part of the net about a step that is not in the tables: `admit`, the guard of its gate (a pool index, -1 for
    none), and a `Way` for each of its arcs.
    """

    admit: int
    arcs: tuple[Way, ...]


class Marks(NamedTuple):
    """Where the author wrote the parts of a step; `arrivals` by source, `tasks` and `delays` by position."""

    name: Span
    join: Span
    admit: Span
    lifecycle: Span
    interrupt: Span
    router: Span
    arrivals: Mapping[str, Span]
    tasks: tuple[Span, ...]
    delays: tuple[Span, ...]


class NetTables(NamedTuple):
    """The tables of a plan that give its net. `parks` says whether a task ends by another's report or signal,
    `terminates` are the steps whose success ends the execution, `limited` those whose iterations have a time limit,
    `later` those that phases behind main begin at; `loop_ends` say which loops may end before their items are over, and
    `loop_signals` what they listen for; `interrupts` say which runs are stopped from outside.
    """

    templates: Sequence[Template]
    steps: Sequence[Step]
    tasks: Sequence[Task]
    arcs: Sequence[Arc]
    parks: Callable[[Task], bool]
    terminates: frozenset[int] = frozenset()
    limited: frozenset[int] = frozenset()
    later: frozenset[int] = frozenset()
    loop_ends: Sequence[LoopEnd] = ()
    loop_signals: Sequence[LoopSignal] = ()
    interrupts: Sequence[Interrupt] = ()


def assemble(tables: NetTables, ways: Sequence[Ways], maker: Maker, marks: Sequence[Marks] | None = None) -> None:
    """Give a maker the elements of the net of some tables, whose indices must all name something.

    Without `marks` every part is nowhere in a file.
    """
    if marks is None:
        marks = [_unmarked(step) for step in tables.steps]
    _Assembly(tables, ways, maker, marks).build()


def _unmarked(step: Step) -> Marks:
    tasks, arcs = (NOWHERE,) * len(step.tasks), (NOWHERE,) * len(step.arcs)
    return Marks(*(NOWHERE,) * 6, dict.fromkeys(step.join.sources, NOWHERE), tasks, arcs)


class _Assembly:
    def __init__(self, tables: NetTables, ways: Sequence[Ways], maker: Maker, marks: Sequence[Marks]) -> None:
        self._tables = tables
        self._ways = ways
        self._marks = marks
        self._maker = maker
        self._early: dict[int, dict[int, LoopEnd]] = {}
        for end in tables.loop_ends:
            self._early.setdefault(end.step, {})[end.level] = end
        self._interrupts = {row.step: row for row in tables.interrupts}
        self._growing: dict[int, set[int]] = {}
        for row in tables.loop_signals:
            if row.verb == MORE:
                self._growing.setdefault(row.step, set()).add(row.level)

    def build(self) -> None:
        steps = self._tables.steps
        # Arrivals of all steps first: a router's arcs lead to places of steps that come later in the file.
        arrivals = [
            arrivals_of(self._maker, step, index, mark.arrivals, is_main=index not in self._tables.later)
            for index, (step, mark) in enumerate(zip(steps, self._marks, strict=True))
        ]
        for index, step in enumerate(steps):
            ends = self._build_region(step, index, arrivals[index])
            self._build_router(step, index, ends=ends, arrivals=arrivals)

    def _build_region(self, step: Step, index: int, arrivals: Arrivals) -> Ends:
        maker, marks, templates = self._maker, self._marks[index], self._tables.templates
        span = marks.name
        gate = maker.place(f"gate {step.name}", "gate", index, span=span)
        build_join(maker, step, index, arrivals=arrivals, gate=gate, span=marks.join)
        ends = ends_of(maker, step, index, 0, span)
        interrupt = self._interrupts.get(index)
        asked = (step.timeout, -1 if interrupt is None else interrupt.timers)
        bounds = [templates[each] for each in asked if each >= 0]
        admit = self._ways[index].admit
        build_gate(maker, step, index, gate=gate, ends=ends, guard=admit, bounds=bounds, span=marks.admit)
        tasks = [self._tables.tasks[row] for row in step.tasks]
        stations = stations_of(maker, step, index, tasks=tasks, parks=self._tables.parks, spans=marks.tasks)
        out = maker.place(f"out {step.name}", "out", index, span=span)
        bad = maker.place(f"bad {step.name}", "bad", index, span=span)
        body = Ends(stations[0].at, out, bad)
        early, grows = self._early.get(index, {}), self._growing.get(index, set())
        level = build_loops(maker, step, index, outer=ends, body=body, early=early, grows=grows, span=span)
        build_body(maker, step, index, tasks=tasks, stations=stations, ends=body, spans=marks.tasks)
        # Only in a loop can one pipeline end because another failed.
        if level is not None:
            cancels = any(end.rest == CANCEL for end in early.values())
            build_stops(
                maker, step, index, tasks=tasks, stations=stations, level=level, spans=marks.tasks, cancels=cancels
            )
        parts = (tasks, stations, bad)
        if step.timeout >= 0 or index in self._tables.limited:
            build_ways_out(maker, step, index, *parts, role="expire", trigger=TIME, span=marks.lifecycle)
        if interrupt is not None:
            build_ways_out(maker, step, index, *parts, role="interrupt", trigger=SIGNAL, span=marks.interrupt)
        return ends

    def _build_router(self, step: Step, index: int, *, ends: Ends, arrivals: list[Arrivals]) -> None:
        marks, rows = self._marks[index], [self._tables.arcs[row] for row in step.arcs]
        into = [arrivals[row.target].live[step.name] if row.target >= 0 else NOTHING for row in rows]
        targets = targets_of(self._maker, step, index, arcs=rows, into=into, spans=marks.delays)
        links = []
        for number, (way, row, target) in enumerate(zip(self._ways[index].arcs, rows, targets, strict=True)):
            # Args and delays are expressions too and may fail as guards do: a chain that asks anything needs a way
            # for its fault.
            asks = way.guard >= 0 or row.args >= 0 or row.delay >= 0
            dead: Arcs = sum((arrivals[join].dead[source] for join, source in way.dead), NOTHING)
            link = ChainLink(number, step.arcs[number], way.guard, target, dead, row.span, asks, way.on_failure)
            links.append(link)
        ending = index in self._tables.terminates
        build_chains(self._maker, step, index, links=links, ends=ends, span=marks.router, terminates=ending)
