"""result-before-run: an expression reads the result of a step or task that no way leads from.

Why it matters
    The result of a step that has not run is undefined; where it runs in another branch, it is there by chance.
    A task's result is there for the tasks after it, and its own fields and rules are made before that.
Example
    - {step: start, next: {arcs: [{step: report}]}}
    - {step: report, tool: {kind: noop, result: "{{ load }}"}, next: {arcs: [{step: load}]}}
    - {step: load}
Instead
    - {step: start, next: {arcs: [{step: load}]}}
    - {step: load, next: {arcs: [{step: report}]}}
    - {step: report, tool: {kind: noop, result: "{{ load }}"}}
When to ignore
    Where another branch is known to be done by then; a join says so better.
"""

from collections.abc import Iterator
from typing import TypeAlias

from noetl_ir.expr import Expr, Literal
from noetl_ir.span import Span
from noetl_ir.words import COMPENSATION, MAIN, PHASES
from noetlc.ast.graph import has_unknown_target, reached
from noetlc.ast.once import Once
from noetlc.ast.phases import phase_of_steps
from noetlc.ast.pipeline import has_unknown_jump, sources_in
from noetlc.ast.playbook import Step, Task, Value
from noetlc.ast.walk import expressions_in, step_expressions, task_values, values_of_rules
from noetlc.ast.workbook import own_args
from noetlc.diag.diagnostic import Diagnostic, Severity
from noetlc.expr.block_reads import reads_in_blocks
from noetlc.expr.check import Names
from noetlc.expr.closed import asks_what_is_there
from noetlc.expr.paths import Access, accesses
from noetlc.reading.around import Around, step_read
from noetlc.rules import LintRule, Unit
from noetlc.source.nodes import Scalar

_BUDGET = 500_000
"""How many steps are looked at over all reads of a file, so that a file stays cheap to check."""


def check(unit: Unit) -> Iterator[Diagnostic]:
    """Reads of results, by name or through `steps`, in steps that the read one does not lead to."""
    graph = unit.graph
    if graph.entry < 0 or has_unknown_target(unit.playbook):
        return
    around, after, made = unit.around, _After(unit), _made(unit)
    alive = reached(graph.successors, graph.entries)
    for here, step in enumerate(unit.playbook.steps):
        # A step that no token reaches has a finding of its own, and so has the second of two of one name.
        if here not in alive or graph.positions[step.name] != here:
            continue
        names: Names | None = None
        for access, scalar, when in _read_in(unit, step):
            names = names or around.names(step)
            name = step_read(access, names, when)
            read = graph.positions.get(name, -1)
            # An arc is asked when its step is done, so that the step's own result is there.
            if read < 0 or (read == here and when == "arc") or after.leads(read, here):
                continue
            if read == here and scalar.span in made:
                continue
            end = access.nodes[0].end if access.root.name == "steps" and access.nodes else access.root.end
            span = unit.source.inner_span(scalar, access.root.start, end)
            yield _own(name, span) if read == here else _missing(name, step, span)
        yield from _in_pipeline(unit, step, around, after)


def _read_in(unit: Unit, step: Step) -> Iterator[tuple[Access, Scalar, str]]:
    """The reads of a step, each with its scalar and when it is made."""
    for expr, scalar, when in step_expressions(step):
        if scalar is not None:
            yield from ((access, scalar, when) for access in _reads(expr))
    for task in step.tasks if unit.has_blocks else ():
        for value in task_values(task):
            yield from ((access, scalar, "task") for access, scalar in reads_in_blocks(value))


def _in_pipeline(unit: Unit, step: Step, around: Around, after: "_After") -> Iterator[Diagnostic]:
    """Reads of results of tasks, in tasks that these do not lead to."""
    # A jump with a misspelt target may be the one that leads here.
    if has_unknown_jump(step):
        return
    written = {task.name for task in step.tasks}
    before: dict[int, set[str]] = {}
    names: Names | None = None
    for here, task in enumerate(step.tasks):
        for access, scalar, own in _of_task(unit, task):
            name = access.root.name
            if name not in written:
                continue
            names = names or around.names(step)
            # Of a step of that name the result may be there; asked last, because it costs a walk.
            if _stands_in(name, names, own) or (name in names.steps and after.may_have_run(name, step)):
                continue
            if here not in before:
                if not after.affords(len(step.tasks)):
                    return
                sources = sources_in(step)
                before[here] = {step.tasks[at].name for at in reached(sources, sources[here])}
            if name not in before[here]:
                span = unit.source.inner_span(scalar, access.root.start, access.root.end)
                yield _of_later_task(name, task, span)


_Read: TypeAlias = tuple[Access, Scalar, frozenset[str]]
"""A read, its scalar, and the args of its own task that are known there."""


def _of_task(unit: Unit, task: Task) -> Iterator[_Read]:
    own = own_args(task)
    rules = [rule for rule in task.rules if unit.written.has(rule)]
    known: list[tuple[Value, frozenset[str]]] = [
        # The args are made first; among each other they know none of them.
        *((value, frozenset[str]() if value is task.args else own) for value in task_values(task)),
        *((value, frozenset[str]()) for value in values_of_rules(rules)),
    ]
    for value, args in known:
        if type(value.template) is Literal:  # constants are most values of a file
            continue
        for expr, scalar in expressions_in(value):
            if scalar is not None:
                yield from ((access, scalar, args) for access in _reads(expr))
        if unit.has_blocks:
            yield from ((access, scalar, args) for access, scalar in reads_in_blocks(value))
    for when in (rule.when for rule in rules if rule.when is not None):
        if when.node is not None:
            yield from ((access, when.node, frozenset()) for access in _reads(when.expr))


def _stands_in(name: str, names: Names, own: frozenset[str]) -> bool:
    """Whether something else has the name of a task while its result is not there."""
    return names.args is Around.ANYTHING or any(
        name in keys for keys in (own, names.args, names.ctx, names.iter, names.workload, names.iterators)
    )


def _of_later_task(name: str, task: Task, span: Span) -> Diagnostic:
    if name == task.name:
        message = f"task `{name}` reads its own result, which is there when it is done"
        return RULE.finding(message, span, help="read it in a later task; in its rules it is `outcome.result`")
    message = f"no way leads from task `{name}` to `{task.name}`: its result is not there yet"
    return RULE.finding(message, span, help=f"read it behind `{name}`, or give a default: `{name} | default(…)`")


def _made(unit: Unit) -> frozenset[Span]:
    """Where texts stand that lowering puts into rules: they were written for a step that is done."""
    rules = [rule for step in unit.playbook.steps for task in step.tasks for rule in task.rules]
    pairs = [pair for rule in rules if not unit.written.has(rule) for pair in (*rule.set_ctx, *rule.set_iter)]
    return frozenset(value.span for _, value in pairs)


def _own(name: str, span: Span) -> Diagnostic:
    message = f"`{name}` reads its own result, which is there when it is done"
    return RULE.finding(message, span, help="read it in an arc or in a later step")


def _missing(name: str, step: Step, span: Span) -> Diagnostic:
    message = f"no way leads from `{name}` to `{step.name}`: its result is not there yet"
    return RULE.finding(message, span, help=f"read it behind `{name}`, or give a default: `{name} | default(…)`")


class _After:
    """The steps behind a step, worked out once for each step that is read, within the budget."""

    def __init__(self, unit: Unit) -> None:
        self._graph = unit.graph
        self._found: dict[int, set[int]] = {}
        self._left = _BUDGET
        self._phases = phase_of_steps(unit.playbook, unit.graph)

    def leads(self, read: int, here: int) -> bool:
        """Whether a way leads from one step to the other; also when that would cost too much to say."""
        # The frequent case, without a walk.
        if read in self._graph.sources[here]:
            return True
        if self._graph.later and self._is_earlier(read, here):
            return True
        if read not in self._found:
            if self._left <= 0:
                return True
            self._found[read] = reached(self._graph.successors, self._graph.successors[read])
            # Steps are counted, not time: the same file has the same findings on every machine.
            self._left -= len(self._found[read]) + 1
        return here in self._found[read]

    def affords(self, cost: int) -> bool:
        """Whether a walk of so many steps or tasks is within the budget, from which it is taken."""
        self._left -= cost
        return self._left >= 0

    def may_have_run(self, name: str, step: Step) -> bool:
        """Whether the step of a name may have run before a step, or an earlier time of this one itself."""
        return self.leads(self._graph.positions[name], self._graph.positions[step.name])

    def _is_earlier(self, read: int, here: int) -> bool:
        """Whether a step is of a phase before that of another; what of it has run when that begins is not known."""
        return _ORDER.index(self._phases.get(read, MAIN)) < _ORDER.index(self._phases.get(here, MAIN))


_ORDER = (MAIN, COMPENSATION, *PHASES)


def _of_names(expr: Expr) -> tuple[Access, ...]:
    if asks_what_is_there(expr):
        return ()
    return tuple(access for access in accesses(expr) if not access.called)


_reads = Once(_of_names)

RULE = LintRule("NL405", Severity.WARNING, "ast", check)
