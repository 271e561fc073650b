"""Words that older dialects use for something else: `result`, `this`, `vars` and others.

rename_names: names of older dialects in policies, arcs and everywhere else (LANGUAGE §6, last paragraph).

    when: "{{ response.status_code == 200 }}"          →  outcome.http.status == 200   in a policy
    when: "{{ event.name == 'call.done' }}"            →  event.name == 'step.done'    in an arc
    url: "{{ vars.url }}"                              →  ctx.url

Passes that move a construct to another place rename what is in it; this one is the last and sees what is left.
"""

from collections.abc import Container, Iterator
from itertools import chain

from noetl_ir.expr import Expr
from noetl_ir.span import Span
from noetlc.ast.bodies import all_taken
from noetlc.ast.playbook import Arc, Playbook, Router, Step, Task
from noetlc.ast.sugar import Guess
from noetlc.ast.walk import expressions_in, loops_of, rule_guards, rule_values, step_expressions, task_values
from noetlc.diag.change import Change, RecordChange
from noetlc.expr.paths import accesses
from noetlc.expr.rewrite import Replace, rewritten
from noetlc.expr.shorthand import FALSE, path
from noetlc.expr.templates import all_with, arc_with, fields_with, map_templated, rule_with, value_with
from noetlc.older.absent import without_absent
from noetlc.older.events import on_failed
from noetlc.older.failing_arcs import meant_arcs, run_again
from noetlc.older.legacy_names import (
    CTX,
    IN_RULES,
    DeclaredNames,
    arc_events,
    declared_names,
    has_old_names,
    only_old,
    renamed,
)
from noetlc.older.nearer import Nearer
from noetlc.older.needless import straight, without_dead, without_done
from noetlc.older.page_nodes import tool_before_branches
from noetlc.older.patching import OUTCOME, kept
from noetlc.older.recording import recording


class OldNames(Guess):
    """Some expression of the file may use names of older dialects."""

    span: Span


BY = "rename_names"


def rename_names(playbook: Playbook, record: RecordChange) -> Playbook:
    """The playbook in which every name is canonical."""
    shared = declared_names(playbook)
    _, playbook = all_taken(playbook, OldNames)
    steps = []
    again, nearer = run_again(playbook), Nearer(playbook)
    for step in playbook.steps:
        if not any(has_old_names(expr) for expr, _, _ in step_expressions(step)):
            steps.append(straight(step))
            continue
        made = _renamed(step, shared, nearer, again=step.name in again)
        _tell(step, made, record)
        # A step that had no old names is not touched: its arcs mean the last task's outcome, as the author wrote.
        made = step if made == step else _with_outcome(made)
        tasks = tuple(map(without_dead, made.tasks))
        steps.append(straight(made if tasks == made.tasks else made._replace(tasks=tasks)))
    everywhere = only_old(_everywhere(shared, shared))
    workbook = tuple((name, without_dead(_task(task, shared, everywhere))) for name, task in playbook.workbook)
    workload = tuple((key, value_with(value, everywhere)) for key, value in playbook.workload)
    for (_, old), (_, new) in zip(playbook.workload, workload, strict=True):
        if old is not new:
            record(Change(BY, old.span, "old names", "review", "absent: nothing has them in `workload`"))
    renamed = recording(everywhere, record, BY, "old names", "exact", "their canonical names")
    executor = map_templated(playbook.executor, renamed)
    return playbook._replace(workload=workload, executor=executor, steps=tuple(steps), workbook=workbook)


def _renamed(step: Step, shared: frozenset[str], nearer: Nearer, *, again: bool) -> Step:
    own = {loop.iterator for loop in loops_of(step)} | {task.name for task in step.tasks}
    known = DeclaredNames(shared, own)
    everywhere = only_old(_everywhere(DeclaredNames(shared | nearer.brought(step), own), nearer.within(step) | own))
    tasks = tuple(_task(task, known, everywhere) for task in step.tasks)
    # Whole, as every limit and item in them may read a variable.
    loop, spec = all_with(step.loop, everywhere), all_with(step.spec, everywhere)
    return step._replace(loop=loop, tasks=tasks, spec=spec, router=_router(step, tasks, known, again=again))


def _with_outcome(step: Step) -> Step:
    """The step whose arcs read the outcome of its tool, where older constructs have become tasks behind it.

    The outcome of a failure is that of the task that failed.
    """
    tool = tool_before_branches(step.tasks)
    if step.loop is not None or step.router is None or tool in (-1, len(step.tasks) - 1):
        return step
    # Tasks that sinks and sets became stand behind the tool, and `event.outcome` is that of the last. The author
    # meant the tool's.
    arcs = tuple(arc_with(arc, _OF_TOOL) if _is_success(arc) else arc for arc in step.router.arcs)
    if all(arc is old or arc == old for arc, old in zip(arcs, step.router.arcs, strict=True)):
        return step
    tasks = list(step.tasks)
    tasks[tool] = kept(tasks[tool], (_OUTCOME,))
    return step._replace(tasks=tuple(tasks), router=step.router._replace(arcs=arcs))


_OUTCOME = path("iter", OUTCOME)

_OF_TOOL = renamed({("event", "outcome"): _OUTCOME}, ())


def _is_success(arc: Arc) -> bool:
    """Whether an arc is for success only."""
    if arc.when is None:
        return True
    asked = {access.keys[0] for access in accesses(arc.when.expr) if access.root.name == "event" and access.keys}
    return not asked & {"status", "error"} and on_failed(arc.when.expr) == FALSE


def _task(task: Task, known: Container[str], everywhere: Replace) -> Task:
    if any(has_old_names(expr) for value in task_values(task) for expr, _ in expressions_in(value)):
        task = fields_with(task, everywhere)
    if any(has_old_names(expr) for expr in _of_rules(task)):
        in_rules = only_old(renamed(IN_RULES, known))
        task = task._replace(rules=tuple(rule_with(rule, in_rules) for rule in task.rules))
    return task


def _everywhere(known: Container[str], there: Container[str]) -> Replace:
    """The meanings of old names in any place: that of `vars`, and of those that mean nothing there that they are
    absent, but for those that are `there`.
    """
    names, absent = renamed(CTX, known), without_absent(there)
    return lambda expr: rewritten(rewritten(expr, names), absent)


def _of_rules(task: Task) -> Iterator[Expr]:
    yield from (expr for value in rule_values(task) for expr, _ in expressions_in(value))
    yield from (guard.expr for guard in rule_guards(task))


def _router(step: Step, tasks: tuple[Task, ...], known: Container[str], *, again: bool) -> Router | None:
    if step.router is None:
        return None
    events = only_old(arc_events(loop=step.loop is not None))
    meant = meant_arcs(step, tasks, known, again=again)
    done = "step.done" if step.loop is None else "loop.done"

    def named(arc: Arc) -> tuple[Arc, ...]:
        return tuple(without_done(made, done) for made in meant(arc_with(arc, events)))

    arcs = chain.from_iterable(named(arc) if _is_old(arc) else (arc,) for arc in step.router.arcs)
    return step.router._replace(arcs=tuple(arcs))


def _is_old(arc: Arc) -> bool:
    if arc.when is not None and has_old_names(arc.when.expr):
        return True
    values = [value for value in (arc.args, arc.delay) if value is not None]
    return any(has_old_names(expr) for value in values for expr, _ in expressions_in(value))


def _tell(before: Step, after: Step, record: RecordChange) -> None:
    """One note for each expression that changed."""
    for task, made in zip(before.tasks, after.tasks, strict=True):
        if task is made:
            continue
        for (old, span), (new, _) in zip(_expressions(task), _expressions(made), strict=True):
            if old is not new:
                record(Change(BY, span, "old names", "exact", "their canonical names"))
    named = frozenset(after.router.arcs if after.router is not None else ())
    for arc in before.router.arcs if before.router is not None else ():
        if arc not in named:
            record(Change(BY, arc.span, "old names", "exact", "their canonical names"))


def _expressions(task: Task) -> Iterator[tuple[Expr, Span]]:
    for value in (*task_values(task), *rule_values(task)):
        yield from ((expr, value.span) for expr, _ in expressions_in(value))
    yield from ((guard.expr, guard.span) for guard in rule_guards(task))
