"""Entry of the build: a canonical playbook becomes a plan.

Input: a playbook without findings of severity error, of `refusals_of` among others. Output: a plan for which
`verify` finds nothing. The work is linear in the playbook.

The tables are made here, and the net of them by `noetl_ir.assembly`.
"""

from noetl_ir.assembly import Marks, NetTables, Way, Ways, assemble
from noetl_ir.assembly.making import NetMaker
from noetl_ir.expr import Conditional, Const, Expr
from noetl_ir.plan import Arc, Child, Plan, Step, Task, edition_of
from noetl_ir.span import Span
from noetl_ir.words import CAUSES
from noetlc.ast import playbook as ast
from noetlc.ast.defaults import knobs_of, timeout_of, with_policies
from noetlc.ast.graph import END
from noetlc.ast.phases import later_steps
from noetlc.ast.playbook import Admit
from noetlc.ast.truth import takes_part_on_failure
from noetlc.ast.walk import replace_tasks
from noetlc.ast.workbook import inline_workbook
from noetlc.ast.workload import workload_order
from noetlc.codegen.forks import dead_places
from noetlc.codegen.pool import TemplatePool
from noetlc.codegen.reads import reads_of
from noetlc.codegen.sources import arrival_spans, entry_of, sources_of, with_tasks
from noetlc.codegen.statements import keep_statements
from noetlc.codegen.tables import (
    arc_rows,
    cancels_of,
    compensations_of,
    concurrency_of,
    executor_of,
    inputs_of,
    interrupts_of,
    iteration_limits_of,
    join_of,
    keychain_rows,
    labels_of,
    limits_of,
    locks_of,
    loop_ends_of,
    loop_rows,
    loop_signals_of,
    phases_of,
    reducers_of,
    search_of,
    sections_of,
    task_rows,
    terminates_of,
)
from noetlc.expr.calling import called_with, with_own_args
from noetlc.reading.kinds import kind_of


def build_plan(playbook: ast.Playbook, source: str = "", children: tuple[Child, ...] = ()) -> Plan:
    """The plan of a playbook from the file named `source`, with the plans of its children."""
    # Entries first: their fields are then fields of the calling task, and read its args.
    playbook = replace_tasks(with_policies(inline_workbook(playbook, called_with)), with_own_args)
    plan = _Build(keep_statements(_with_specs(with_tasks(playbook)))).plan(source, children)
    return plan._replace(edition=edition_of(plan))


def _with_specs(playbook: ast.Playbook) -> ast.Playbook:
    """The playbook with the effective spec of each task at the task."""
    executor = playbook.executor
    everywhere = bool(executor.knobs or executor.tasks or executor.timeout)

    def changed(step: ast.Step, task: ast.Task) -> ast.Task:
        # Most playbooks set nothing around their tasks.
        if not (everywhere or step.spec.knobs or step.spec.timeout or step.loop):
            return task
        kind = kind_of(task.kind)
        knobs = knobs_of(playbook, step, task, () if kind is None else kind.knobs)
        return task._replace(
            knobs=knobs, timeout=timeout_of(playbook, step, task, parks=kind is not None and kind.parks)
        )

    return replace_tasks(playbook, changed)


class _Build:
    """One build: the tables first, then the net, which refers to them."""

    def __init__(self, playbook: ast.Playbook) -> None:
        self._playbook = playbook
        self._pool = TemplatePool()
        self._numbers = {step.name: index for index, step in enumerate(playbook.steps)}
        self._later = later_steps(playbook)
        # An arc of a later phase to the `end` of main ends its token (EXTENSIONS.md §1).
        self._numbers_later = {name: index for name, index in self._numbers.items() if name != END}
        self._sources = sources_of(playbook)
        self._reads = reads_of(playbook, self._sources)
        self._admits: list[int] = []
        self._steps: list[Step] = []
        self._tasks: list[Task] = []
        self._arcs: list[Arc] = []

    def plan(self, source: str, children: tuple[Child, ...]) -> Plan:
        playbook, pool = self._playbook, self._pool
        workload = pool.mapping(playbook.workload, playbook.span)
        keychain, timeout = keychain_rows(playbook, pool), pool.apart(playbook.executor.lifecycle_timeout)
        for index, step in enumerate(playbook.steps):
            # The tables come first, since transitions refer to their rows by number.
            self._steps.append(self._tabulate(step, index))
        # Behind all others: the numbers of templates are those that there are without it.
        result, after = pool.apart(playbook.executor.result), pool.apart(playbook.executor.after)
        reducers, concurrency = reducers_of(playbook.executor, pool), concurrency_of(playbook.executor, pool)
        ways, spans = self._ways(dead_places(playbook)), arrival_spans(playbook)
        ending, limits = terminates_of(playbook), iteration_limits_of(playbook, pool)
        limited, ends = frozenset(limit.step for limit in limits), frozenset(end.step for end in ending)
        phases, compensations = phases_of(playbook, self._numbers), compensations_of(playbook, self._numbers)
        later = frozenset([*(each.target for each in compensations), *(phase.step for phase in phases)])
        early, heard, search = loop_ends_of(playbook, pool), loop_signals_of(playbook, pool), search_of(playbook, pool)
        rows, interrupts = (pool.templates, self._steps, self._tasks, self._arcs), interrupts_of(playbook, pool)
        tables, maker = NetTables(*rows, _parks, ends, limited, later, early, heard, interrupts), NetMaker()
        assemble(tables, ways, maker, [_marks(step, spans[step.name]) for step in playbook.steps])
        return Plan(
            name=playbook.name,
            path=playbook.path,
            version=playbook.version,
            source=source,
            net=maker.net(),
            templates=pool.ended_by(playbook.workload),
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
            inputs=inputs_of(playbook.executor),
            terminates=ending,
            timeout=timeout,
            iteration_limits=limits,
            result=result,
            phases=phases,
            after=after,
            compensations=compensations,
            compensate_on=CAUSES if playbook.executor.compensate_on is None else playbook.executor.compensate_on,
            reducers=reducers,
            concurrency=concurrency,
            loop_ends=early,
            cancels=cancels_of(playbook, self._numbers),
            loop_signals=heard,
            locks=locks_of(playbook),
            interrupts=interrupts,
            sections=sections_of(playbook, self._numbers),
            labels=labels_of(playbook),
            search=search,
        )

    def _tabulate(self, step: ast.Step, index: int) -> Step:
        pool, reads, name = self._pool, self._reads, step.name
        guard = guard_of(step.spec.admit, pool)
        self._admits.append(guard)
        loops = loop_rows(step.loop, pool)
        tasks = task_rows(step, index, first=len(self._tasks), pool=pool)
        arcs = arc_rows(step, index, self._numbers if name not in self._later else self._numbers_later, pool)
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

    def _ways(self, dead: dict[tuple[str, int], tuple[tuple[int, str], ...]]) -> list[Ways]:
        """The choices that the net has of each step beyond its row."""
        made = []
        for step, admit in zip(self._playbook.steps, self._admits, strict=True):
            ways = [
                Way(self._pool.guard(arc.when), takes_part_on_failure(arc), dead.get((step.name, number), ()))
                for number, arc in enumerate(_arcs_of(step))
            ]
            made.append(Ways(admit, tuple(ways)))
        return made


def _arcs_of(step: ast.Step) -> tuple[ast.Arc, ...]:
    return step.router.arcs if step.router is not None else ()


def _marks(step: ast.Step, arrivals: dict[str, Span]) -> Marks:
    """Where the parts of a step stand in the file: its name for what is not written."""
    name, spec = step.name_span, step.spec
    return Marks(
        name=name,
        join=spec.join_span or name,
        admit=name if spec.admit is None else spec.admit.span,
        lifecycle=name if spec.lifecycle_timeout is None else spec.lifecycle_timeout.span,
        interrupt=name if spec.interrupt is None else spec.interrupt.span,
        router=step.router.span if step.router is not None else name,
        arrivals=arrivals,
        tasks=tuple([task.name_span for task in step.tasks]),
        delays=tuple([arc.span if arc.delay is None else arc.delay.span for arc in _arcs_of(step)]),
    )


def _parks(task: Task) -> bool:
    kind = kind_of(task.kind)
    return kind is not None and kind.parks


_TRUE, _FALSE = Const(True), Const(False)


def guard_of(admit: Admit | None, pool: TemplatePool) -> int:
    """The pool index of the guard of a step's gate: its admission rules, folded. -1 when every token is admitted.

    rules: [{when: a, allow}, {when: b, deny}, {else: allow}]   →   true if a else (false if b else true)
    """
    if admit is None:
        return -1
    first, rest = (admit.rules[0], admit.rules[1:]) if admit.rules else (None, ())
    # A gate that always opens needs no part of the net.
    if first is not None and first.when is None and first.allow:
        return -1
    denied = all(rule.when is None and not rule.allow for rule in rest)
    # The frequent policy is one guard; folded it would read `true if g else false`.
    if first is not None and first.when is not None and first.allow and denied:
        return pool.guard(first.when)
    expr, text = _folded(admit)
    return pool.expression(expr, text, admit.span)


def _folded(admit: Admit) -> tuple[Expr, str]:
    expr: Expr = _FALSE  # no rule matches: denied
    text = "false"
    for rule in reversed(admit.rules):
        verdict, word = (_TRUE, "true") if rule.allow else (_FALSE, "false")
        if rule.when is None:
            expr, text = verdict, word
        else:
            expr = Conditional(rule.when.expr, verdict, expr)
            text = f"{word} if {rule.when.text} else ({text})"
    return expr, text
