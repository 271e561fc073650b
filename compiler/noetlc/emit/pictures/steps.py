"""The steps of a playbook as a picture, alone or with the tasks inside them."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from noetl_ir.expr import Literal, Template
from noetl_ir.words import FAILING
from noetlc.ast.graph import END, ENTRY, later_of
from noetlc.ast.playbook import Arc, Merge, Playbook, Rule, Step, Task
from noetlc.ast.truth import NO_FACTS, done_facts, takes_part_on_failure, truth_of
from noetlc.ast.walk import loops_of
from noetlc.emit.pictures.declared import captions_of
from noetlc.emit.pictures.metrics import clipped
from noetlc.emit.pictures.picture import ArrowKind, Box, Edge, Picture, Shape
from noetlc.emit.pictures.task_flow import ELSE, Decision, Drawn, decider, flow_of, ways_of
from noetlc.expr.counting import ITERATION
from noetlc.expr.generated import generated_name

MAX_GUARD = 60
"""How many characters of a guard are shown on an arc."""
MAX_RULE, MAX_KINDS = 34, 4


def steps_of(playbook: Playbook) -> Picture:
    """The steps; arcs to steps that do not exist, `end` aside, are left out."""
    numbers = {step.name: number for number, step in enumerate(playbook.steps)}
    entry = playbook.executor.entry_step or ENTRY
    later = {phase.step: phase.name for phase in later_of(playbook)}
    nodes = [_node(step, entry, later.get(step.name, "")) for step in playbook.steps]
    edges: list[Edge] = []
    for number, step in enumerate(playbook.steps):
        for position, arc in enumerate(step.router.arcs if step.router is not None else ()):
            # A step `end` that nobody declares is a place to lead to (LANGUAGE §1). It gets a box only where an arc
            # leads there.
            if arc.target not in numbers and arc.target == END:
                numbers[END] = len(nodes)
                nodes.append(Box(step_id(END), Shape.END, END))
            if arc.target in numbers:
                edges.append(_edge(step, position, arc, (number, numbers[arc.target])))
        for target in step.spec.cancels:
            if target.name in numbers:
                ends = number, numbers[target.name]
                edges.append(Edge(cancel_id(step.name, target.name), *ends, ArrowKind.RESET, span=target.span))
    return Picture(playbook.name, "steps", tuple(nodes), tuple(edges), captions_of(playbook))


def tasks_of(playbook: Playbook) -> Picture:
    """The steps with their tasks inside."""
    picture = steps_of(playbook)
    nodes = list(picture.nodes)
    for number, step in enumerate(playbook.steps):
        inner = _pipeline(step)
        if inner.nodes:
            kinds = _kinds(step)
            # The kinds stand on the tasks inside, so that the line of all of them would say it twice.
            lines = [line for line in nodes[number].lines if line != kinds]
            nodes[number] = nodes[number]._replace(lines=tuple(lines), inner=inner)
    return picture._replace(level="tasks", nodes=tuple(nodes))


def step_id(step: str) -> str:
    """The id of a step's box."""
    return f"step {step}"


def task_id(step: str, task: str) -> str:
    """The id of a task's box."""
    return f"task {step} {task}"


def arc_id(step: str, position: int) -> str:
    """The id of the arrow for an arc, by its position among those of its step."""
    return f"arc {step} {position}"


def cancel_id(step: str, target: str) -> str:
    """The id of the arrow to a step that another one cancels."""
    return f"cancel {step} {target}"


def _node(step: Step, entry: str, phase: str) -> Box:
    lines = [f"begins {phase}"] if phase else []
    lines += [_kinds(step)] if _kinds(step) else []
    for loop in loops_of(step):
        lines.append(f"{loop.mode} loop: {loop.iterator}")
        lines += [heard_line(signal.verb, signal.events) for signal in loop.signals]
        if loop.enough is not None:
            lines.append(enough_line(loop.enough.template, loop.rest or "cancel"))
    if step.spec.join != "any":
        join = step.spec.join
        lines.append(f"join: {f'{join.tokens} tokens' if isinstance(join, Merge) else join}")
    if step.spec.admit is not None:
        lines.append("admit: waits" if step.spec.admit.waits else "admit")
    forks = step.router is not None and step.router.mode == "inclusive" and len(step.router.arcs) > 1
    if forks:
        lines.append("inclusive fork")
    if step.spec.compensate is not None:
        lines.append(f"undone by {step.spec.compensate.step}")
    lines += lock_lines(
        [lock.name for lock in step.spec.locks if not lock.through],
        [(lock.name, [each.name for each in lock.through]) for lock in step.spec.locks if lock.through],
    )
    if step.spec.cancels:
        lines.append(f"cancels: {', '.join(target.name for target in step.spec.cancels)}")
    if step.spec.interrupt is not None:
        lines.append(heard_line("interrupt", step.spec.interrupt.events))
    if step.spec.terminate:
        lines.append(f"ends all: {step.spec.terminate}")
    shape = Shape.ENTRY if step.name == entry or phase else Shape.LOOP if step.loop is not None else Shape.STEP
    joins = step.spec.join != "any"
    return Box(step_id(step.name), shape, step.name, tuple(lines), step.span, joins=joins, forks=forks)


def lock_lines(run: Sequence[str], sections: Sequence[tuple[str, Sequence[str]]]) -> list[str]:
    """The words for the locks that a run of a step holds, and for those that are held through other steps."""
    lines = [f"lock: {', '.join(run)}"] if run else []
    return [*lines, *(clipped(f"lock: {name} through {', '.join(through)}", MAX_GUARD) for name, through in sections)]


def heard_line(verb: str, events: Sequence[str]) -> str:
    """The words for what adds items to a loop, closes or completes it, or interrupts a step."""
    return clipped(f"{verb}: {', '.join(events) or 'a timer'}", MAX_GUARD)


def enough_line(enough: Template, rest: str) -> str:
    """The words for how a loop ends before its items are over."""
    said = enough.value if isinstance(enough, Literal) else clipped(getattr(enough, "text", ""), MAX_RULE)
    return f"enough: {said}, {rest} the rest"


def _kinds(step: Step) -> str:
    return kinds_of([task.kind for task in step.tasks if not task.generated])


def kinds_of(kinds: list[str]) -> str:
    """The kinds of a pipeline in a line."""
    return " → ".join([*kinds[:MAX_KINDS], f"{len(kinds) - MAX_KINDS} more"] if len(kinds) > MAX_KINDS + 1 else kinds)


def _edge(step: Step, position: int, arc: Arc, ends: tuple[int, int]) -> Edge:
    kind = ArrowKind.KO if fails(step, arc) else ArrowKind.OK
    return Edge(arc_id(step.name, position), *ends, kind, _text(arc), arc.span)


def fails(step: Step, arc: Arc) -> bool:
    """Whether only a failure takes the arc."""
    # Dashed arrows are for failures alone: an arc that a success may take as well is a plain one.
    return takes_part_on_failure(arc) and truth_of(arc.when, done_facts(step)) is False


def _text(arc: Arc) -> str:
    parts = [clipped(arc.when.text, MAX_GUARD)] if arc.when is not None else []
    return ", ".join([*parts, *(["after a delay"] if arc.delay is not None else [])])


def _pipeline(step: Step) -> Picture:
    """The tasks of a step with their rules and the ways between them."""
    numbers = {task.name: number for number, task in enumerate(step.tasks)}
    return flow_of(step.name, [_drawn(step, task, numbers) for task in step.tasks])


def _drawn(step: Step, task: Task, numbers: Mapping[str, int]) -> Drawn:
    rules = [Decision(rule.directive, rule.to, _when(rule, step), rule.span) for rule in task.rules]
    ways = ways_of(step.name, task.name, rules, numbers, is_generated=task.generated, goes_on=_can_go_on(task))
    return Drawn(_task(step, task), task.generated, ways)


def _can_go_on(task: Task) -> bool:
    """Whether some outcome may continue with the next task: a rule says so, or none is certain to match."""
    if task.kind == FAILING and not task.rules:
        return False
    if not task.rules or any(rule.directive == "continue" for rule in task.rules):
        return True
    # With a rule that always matches nothing falls through to the default, which is to go on.
    return all(rule.when is not None and truth_of(rule.when, NO_FACTS) is not True for rule in task.rules)


def _task(step: Step, task: Task) -> Box:
    if task.generated:
        return decider(task_id(step.name, task.name), task.name, task.span)
    lines = [task.kind, *_rules(task, step)]
    return Box(task_id(step.name, task.name), Shape.TASK, task.name, tuple(lines), task.span)


def _rules(task: Task, step: Step) -> Iterator[str]:
    for rule in task.rules:
        if rule.directive == "continue" and not (rule.set_ctx or rule.set_iter):
            continue
        if rule.directive == "jump":
            continue  # an arrow
        sets = [f"iter.{key}" for key, _ in rule.set_iter] + [f"ctx.{key}" for key, _ in rule.set_ctx]
        yield rule_line(rule.directive, rule.attempts, sets, _when(rule, step))


def rule_line(directive: str, attempts: int, sets: list[str], when: str) -> str:
    """The words of a rule: what it does, and when."""
    act = f"retry, {attempts} tries" if directive == "retry" else directive
    act = f"{act}, sets {', '.join(sets)}" if sets else act
    return f"{clipped(act, MAX_RULE)} ({when})"


def _when(rule: Rule, step: Step) -> str:
    if rule.when is None:
        return ELSE
    return clipped(when_text(as_written(rule.when.text, (task.name for task in step.tasks))), MAX_RULE)


def as_written(guard: str, tasks: Iterable[str]) -> str:
    """A guard as its author wrote it: the counter of a loop of a step with these tasks is `_iteration` to people."""
    if "iter.__" not in guard:
        return guard
    names = frozenset(tasks)
    # Only `while` and `until` have a task that asks for their guard; other generated keys mean other things.
    return re.sub(
        r"\biter\.(__\w+)", lambda found: ITERATION if generated_name(found[1], "test") in names else found[0], guard
    )


def when_text(guard: str) -> str:
    """The guard of a rule on a line, with short words for what most ask."""
    text = " ".join(guard.split())
    return text.replace("outcome.status == 'error'", "error").replace("outcome.status == 'ok'", "ok")
