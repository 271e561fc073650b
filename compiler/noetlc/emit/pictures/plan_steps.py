"""The steps of a plan as a picture, as `steps` draws those of a playbook: guards and rules in canonical writing."""

from collections.abc import Mapping

from noetl_ir.expr import Expr, Native
from noetl_ir.plan import Interrupt, LoopEnd, LoopSignal, Plan, Rule, Step, Task
from noetl_ir.records import NamedTuple
from noetl_ir.span import Span
from noetlc.ast.graph import END
from noetlc.ast.truth import truth
from noetlc.emit.pictures.declared import captions_of_plan
from noetlc.emit.pictures.metrics import clipped
from noetlc.emit.pictures.picture import ArrowKind, Box, Edge, Picture, Shape
from noetlc.emit.pictures.steps import (
    MAX_GUARD,
    MAX_RULE,
    arc_id,
    as_written,
    cancel_id,
    enough_line,
    heard_line,
    kinds_of,
    lock_lines,
    rule_line,
    step_id,
    task_id,
    when_text,
)
from noetlc.emit.pictures.task_flow import ELSE, Decision, Drawn, decider, flow_of, ways_of
from noetlc.expr.unparse import unparse


def steps_of_plan(plan: Plan) -> Picture:
    """The steps of a plan; the places are those of the playbook that it was made of."""
    rows = _rows_of(plan)
    nodes = [_node(plan, number, rows) for number in range(len(plan.steps))]
    edges: list[Edge] = []
    end = len(nodes)
    guards, failing = _guards(plan)
    for number, step in enumerate(plan.steps):
        for position, index in enumerate(step.arcs):
            arc = plan.arcs[index]
            if arc.target < 0 and len(nodes) == end:
                nodes.append(Box(step_id(END), Shape.END, END))
            guard = _expr(plan, guards.get(index, -1))
            done: dict[tuple[str, ...], str] = {
                ("event", "name"): "loop.done" if step.loops else "step.done",
                ("event", "status"): "ok",
            }
            fails = index in failing and guard is not None and truth(guard, done) is False
            texts = [clipped(unparse(guard), MAX_GUARD)] if guard is not None else []
            text = ", ".join([*texts, *(["after a delay"] if arc.delay >= 0 else [])])
            target = arc.target if arc.target >= 0 else end
            kind = ArrowKind.KO if fails else ArrowKind.OK
            edges.append(Edge(arc_id(step.name, position), number, target, kind, text, _place(arc.span)))
        for each in rows.cancels.get(number, ()):
            edges.append(Edge(cancel_id(step.name, plan.steps[each].name), number, each, ArrowKind.RESET))
    return Picture(plan.name, "steps", tuple(nodes), tuple(edges), captions_of_plan(plan))


def tasks_of_plan(plan: Plan) -> Picture:
    """The steps of a plan with their tasks inside."""
    picture = steps_of_plan(plan)
    nodes = list(picture.nodes)
    for number, step in enumerate(plan.steps):
        inner = _pipeline(plan, step)
        if inner.nodes:
            kinds = kinds_of([task.kind for task in _shown(plan, step)])
            lines = tuple([line for line in nodes[number].lines if line != kinds])
            nodes[number] = nodes[number]._replace(lines=lines, inner=inner)
    return picture._replace(level="tasks", nodes=tuple(nodes))


class _Rows(NamedTuple):
    """The tables of a plan by step, and those about loops by step and level."""

    begins: dict[int, str]
    undone: dict[int, list[int]]
    locks: dict[int, tuple[str, ...]]
    sections: dict[int, list[tuple[str, list[str]]]]
    cancels: dict[int, tuple[int, ...]]
    interrupts: dict[int, Interrupt]
    ends: dict[tuple[int, int], LoopEnd]
    heard: dict[tuple[int, int], list[LoopSignal]]
    terminates: dict[int, str]


def _rows_of(plan: Plan) -> _Rows:
    # Backwards, so that of two phases with one first step the first one gives the name.
    begins = {phase.step: phase.name for phase in reversed(plan.phases)}
    begins |= {each.target: "compensation" for each in plan.compensations}
    undone: dict[int, list[int]] = {}
    for each in plan.compensations:
        undone.setdefault(each.step, []).append(each.target)
    heard: dict[tuple[int, int], list[LoopSignal]] = {}
    for row in plan.loop_signals:
        heard.setdefault((row.step, row.level), []).append(row)
    ends = {(end.step, end.level): end for end in plan.loop_ends}
    sections: dict[int, list[tuple[str, list[str]]]] = {}
    for step, name, through in plan.sections:
        sections.setdefault(step, []).append((name, [plan.steps[each].name for each in through]))
    interrupts = {row.step: row for row in plan.interrupts}
    cancels, terminates = dict(plan.cancels), dict(plan.terminates)
    return _Rows(begins, undone, dict(plan.locks), sections, cancels, interrupts, ends, heard, terminates)


def _node(plan: Plan, number: int, rows: _Rows) -> Box:
    step = plan.steps[number]
    tasks = [task.kind for task in _shown(plan, step)]
    phase = rows.begins.get(number, "")
    lines = [f"begins {phase}"] if phase else []
    lines += [kinds_of(tasks)] if tasks else []
    for level, loop in enumerate(step.loops):
        lines.append(f"{'sequential' if loop.sequential else 'parallel'} loop: {loop.iterator}")
        lines += [heard_line(row.verb, row.events) for row in rows.heard.get((number, level), ())]
        end = rows.ends.get((number, level))
        if end is not None and end.enough >= 0:
            lines.append(enough_line(plan.templates[end.enough], end.rest))
    joins = step.join.mode != "any"
    if joins:
        counted = {"count": f"{step.join.n}", "tokens": f"{step.join.n} tokens"}
        lines.append(f"join: {counted.get(step.join.mode, step.join.mode)}")
    # The order is that of `steps`: the picture of a run, made of its plan, lies beside that of the file.
    if step.gated or step.waits:
        lines.append("admit: waits" if step.waits else "admit")
    forks = step.inclusive and len(step.arcs) > 1
    lines += ["inclusive fork"] if forks else []
    lines += [f"undone by {plan.steps[target].name}" for target in rows.undone.get(number, ())]
    lines += lock_lines(rows.locks.get(number, ()), rows.sections.get(number, ()))
    cancelled = rows.cancels.get(number, ())
    if cancelled:
        lines.append(f"cancels: {', '.join(plan.steps[each].name for each in cancelled)}")
    if number in rows.interrupts:
        lines.append(heard_line("interrupt", rows.interrupts[number].events))
    if number in rows.terminates:
        lines.append(f"ends all: {rows.terminates[number]}")
    shape = Shape.ENTRY if number == plan.entry or phase else Shape.LOOP if step.loops else Shape.STEP
    return Box(step_id(step.name), shape, step.name, tuple(lines), _place(step.span), joins=joins, forks=forks)


def _pipeline(plan: Plan, step: Step) -> Picture:
    tasks = [plan.tasks[index] for index in step.tasks]
    numbers = {task.name: number for number, task in enumerate(tasks)}
    return flow_of(step.name, [_drawn(plan, step, task, numbers) for task in tasks])


def _drawn(plan: Plan, step: Step, task: Task, numbers: Mapping[str, int]) -> Drawn:
    rules = []
    for rule in task.rules:
        to = plan.tasks[rule.to].name if rule.directive == "jump" else ""
        rules.append(Decision(rule.directive, to, _when(plan, step, rule), _place(rule.span)))
    goes_on = not rules or task.passes_errors or any(rule.directive == "continue" for rule in rules)
    ways = ways_of(step.name, task.name, rules, numbers, is_generated=task.generated, goes_on=goes_on)
    return Drawn(_task(plan, step, task), task.generated, ways)


def _task(plan: Plan, step: Step, task: Task) -> Box:
    if task.generated:
        return decider(task_id(step.name, task.name), task.name, _place(task.span))
    # A jump is an arrow.
    rules = [rule for rule in task.rules if rule.directive != "jump"]
    keys = [
        [*(f"iter.{key}" for key, _ in rule.set_iter), *(f"ctx.{key}" for key, _ in rule.set_ctx)] for rule in rules
    ]
    lines = [
        rule_line(rule.directive, rule.attempts, sets, _when(plan, step, rule))
        for rule, sets in zip(rules, keys, strict=True)
        if rule.directive != "continue" or sets
    ]
    return Box(task_id(step.name, task.name), Shape.TASK, task.name, (task.kind, *lines), _place(task.span))


def _shown(plan: Plan, step: Step) -> list[Task]:
    return [plan.tasks[index] for index in step.tasks if not plan.tasks[index].generated]


def _guards(plan: Plan) -> tuple[dict[int, int], set[int]]:
    """The guards of arcs, and the arcs that take part on failure."""
    takes = [each for each in plan.net.transitions if each.role == "take"]
    # An arc has a transition for each outcome that it listens to: one for failures says that it may be taken then.
    failing = {each.arc for each in takes if each.id.startswith(f"take {plan.steps[each.step].name} ko ")}
    return {each.arc: each.guard for each in takes if each.guard >= 0}, failing


def _when(plan: Plan, step: Step, rule: Rule) -> str:
    guard = _expr(plan, rule.when)
    if guard is None:
        return ELSE
    return clipped(when_text(as_written(unparse(guard), (plan.tasks[row].name for row in step.tasks))), MAX_RULE)


def _expr(plan: Plan, index: int) -> Expr | None:
    template = plan.templates[index] if index >= 0 else None
    return template.expr if isinstance(template, Native) else None


def _place(span: Span) -> Span | None:
    # A place without a line is of what lowering made.
    return span if span.line else None
