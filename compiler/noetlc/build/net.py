"""Entry of the build: a canonical playbook becomes a plan.

Input: a playbook without findings of severity error, of `refusals_of` among others. Output: a plan for which
`verify` finds nothing. The work is linear in the playbook.

    start: {tool: t, next: {arcs: [{step: end}]}}   →   (in start @entry) [enter] (gate start) [admit]
    (ready start)
        [begin] (at start t) [start] (run start t) [ok … continue] (out start) [out] (done start) [take] ∅
"""

from noetl_ir.plan import Arc, Child, Plan, Step, Task
from noetlc.ast import playbook as ast
from noetlc.ast.workbook import inline_workbook
from noetlc.ast.workload import workload_order
from noetlc.build.admit import build_gate, guard_of
from noetlc.build.body import build_body, build_expiry, build_stops, stations_of
from noetlc.build.forks import dead_places
from noetlc.build.join import Arrivals, arrivals_of, build_join
from noetlc.build.loop import Ends, build_loops, ends_of
from noetlc.build.making import NOTHING, Arcs, NetMaker
from noetlc.build.pool import Pool
from noetlc.build.reads import reads_of
from noetlc.build.routing import Link, arcs_of, build_chains, targets_of
from noetlc.build.sources import arrival_spans, entry_of, sources_of, with_tasks
from noetlc.build.statements import keep_statements
from noetlc.build.tables import arc_rows, executor_of, join_of, keychain_rows, limits_of, loop_rows, task_rows
from noetlc.expr.calling import called_with


def build_plan(playbook: ast.Playbook, source: str = "", children: tuple[Child, ...] = ()) -> Plan:
    """The plan of a playbook from the file named `source`, with the plans of its children."""
    return _Build(keep_statements(with_tasks(inline_workbook(playbook, called_with)))).plan(source, children)


class _Build:
    """One build: the tables first, then the net, which refers to them."""

    def __init__(self, playbook: ast.Playbook) -> None:
        self._playbook = playbook
        self._pool = Pool()
        self._maker = NetMaker()
        self._numbers = {step.name: index for index, step in enumerate(playbook.steps)}
        self._sources = sources_of(playbook)
        self._reads = reads_of(playbook, self._sources)
        self._admits: list[int] = []
        self._steps: list[Step] = []
        self._tasks: list[Task] = []
        self._arcs: list[Arc] = []

    def plan(self, source: str, children: tuple[Child, ...]) -> Plan:
        playbook, pool = self._playbook, self._pool
        workload = pool.mapping(playbook.workload, playbook.span)
        keychain = keychain_rows(playbook, pool)
        for index, step in enumerate(playbook.steps):
            self._steps.append(self._tabulate(step, index))
        self._build_net()
        return Plan(
            name=playbook.name,
            path=playbook.path,
            version=playbook.version,
            source=source,
            net=self._maker.net(),
            templates=tuple(pool.templates),
            template_spans=tuple(pool.spans),
            steps=tuple(self._steps),
            tasks=tuple(self._tasks),
            arcs=tuple(self._arcs),
            entry=self._numbers[entry_of(playbook)],
            workload=workload,
            workload_order=workload_order(playbook),
            keychain=keychain,
            executor=executor_of(playbook.executor),
            limits=limits_of(playbook.executor),
            best_effort=playbook.executor.failure_mode == "best_effort",
            kinds=tuple(sorted({task.kind for task in self._tasks})),
            children=children,
            aliases=playbook.legacy,
        )

    def _tabulate(self, step: ast.Step, index: int) -> Step:
        pool, reads, name = self._pool, self._reads, step.name
        guard = guard_of(step.spec.admit, pool)
        self._admits.append(guard)
        loops = loop_rows(step.loop, pool)
        tasks = task_rows(self._playbook, step, index, first=len(self._tasks), pool=pool)
        arcs = arc_rows(step, index, self._numbers, pool)
        row = Step(
            name=name,
            join=join_of(step, self._sources[name]),
            gated=guard >= 0,
            waits=guard >= 0 and step.spec.admit is not None and step.spec.admit.waits,
            loops=loops,
            tasks=tuple(range(len(self._tasks), len(self._tasks) + len(tasks))),
            arcs=tuple(range(len(self._arcs), len(self._arcs) + len(arcs))),
            inclusive=step.router is not None and step.router.mode == "inclusive",
            timeout=pool.value(step.spec.lifecycle_timeout),
            best_effort=step.spec.failure_mode == "best_effort",
            pool=step.spec.pool or self._playbook.executor.pool or "",
            reads=reads.server.get(name),
            needs=reads.needs.get(name, ()),
            kept=name in reads.kept,
            span=step.span,
        )
        self._tasks += tasks
        self._arcs += arcs
        return row

    def _build_net(self) -> None:
        steps = self._playbook.steps
        spans = arrival_spans(self._playbook)
        arrivals = [arrivals_of(self._maker, row, index, spans[row.name]) for index, row in enumerate(self._steps)]
        dead = dead_places(self._playbook, arrivals)
        for index, step in enumerate(steps):
            ends = self._build_region(step, index, arrivals[index])
            self._build_router(step, index, ends=ends, arrivals=arrivals, dead=dead)

    def _build_region(self, step: ast.Step, index: int, arrivals: Arrivals) -> Ends:
        maker, row = self._maker, self._steps[index]
        gate = maker.place(f"gate {step.name}", "gate", index, span=step.name_span)
        build_join(maker, row, index, arrivals=arrivals, gate=gate, span=step.spec.join_span or step.name_span)
        ends = ends_of(maker, step, index, 0)
        build_gate(maker, step, index, gate=gate, ends=ends, guard=self._admits[index])
        first = row.tasks[0]
        stations = stations_of(maker, step, index, first)
        out = maker.place(f"out {step.name}", "out", index, span=step.name_span)
        bad = maker.place(f"bad {step.name}", "bad", index, span=step.name_span)
        body = Ends(stations[0].at, out, bad)
        level = build_loops(maker, step, index, loops=row.loops, outer=ends, body=body)
        build_body(maker, step, index, first=first, stations=stations, ends=body)
        if level is not None:
            build_stops(maker, step, index, first=first, stations=stations, level=level)
        if row.timeout >= 0:
            build_expiry(maker, step, index, first=first, stations=stations, bad=bad)
        return ends

    def _build_router(
        self,
        step: ast.Step,
        index: int,
        *,
        ends: Ends,
        arrivals: list[Arrivals],
        dead: dict[tuple[str, int], Arcs],
    ) -> None:
        rows = self._steps[index].arcs
        into = [self._arrival(self._arcs[row].target, step.name, arrivals) for row in rows]
        targets = targets_of(self._maker, step, index, first=rows[0] if rows else 0, into=into)
        links = []
        for number, (arc, row, target) in enumerate(zip(arcs_of(step), rows, targets, strict=True)):
            guard = self._pool.guard(arc.when)
            asks = guard >= 0 or arc.args is not None or arc.delay is not None
            lost = dead.get((step.name, number), NOTHING)
            links.append(Link(number, row, guard, target, lost, arc.span, asks))
        build_chains(self._maker, step, index, links=links, ends=ends)

    def _arrival(self, target: int, source: str, arrivals: list[Arrivals]) -> Arcs:
        return arrivals[target].live[source] if target >= 0 else NOTHING
