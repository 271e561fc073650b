"""The part of `verify` about the tables: every index names something, and the tables agree with each other."""

from collections.abc import Iterator

from noetl_ir.plan import Plan, Rule, Step, Task

Found = Iterator[tuple[str, str]]

JOINS = frozenset({"any", "all", "taken", "count"})
DIRECTIVES = frozenset({"continue", "retry", "jump", "break", "fail"})
BACKOFFS = frozenset({"none", "linear", "exponential"})


def table_problems(plan: Plan) -> Found:
    """(element, what is wrong with it) for the tables of a plan."""
    pool, steps = len(plan.templates), len(plan.steps)
    if len(plan.template_spans) != pool:
        yield "templates", "not every template has a span"
    if not 0 <= plan.entry < steps:
        yield "entry", "names no step"
    yield from _indices("workload", pool, plan.workload)
    for entry in plan.keychain:
        yield from _indices(f"keychain {entry.name}", pool, entry.fields)
    if min(plan.limits) < 0:
        yield "limits", "are below zero"
    if len({step.name for step in plan.steps}) != steps:
        yield "steps", "have the same name twice"
    known = {step.name for step in plan.steps}
    for number, step in enumerate(plan.steps):
        yield from _step(plan, number, step, known)
    if sum(len(step.tasks) for step in plan.steps) != len(plan.tasks):
        yield "tasks", "belong to no step, or to several"
    if sum(len(step.arcs) for step in plan.steps) != len(plan.arcs):
        yield "arcs", "belong to no step, or to several"


def _step(plan: Plan, number: int, step: Step, known: set[str]) -> Found:
    at, pool = f"step {step.name}", len(plan.templates)
    if not step.tasks:
        yield at, "has no task"
    yield from _indices(at, pool, step.timeout)
    if step.join.mode not in JOINS:
        yield at, f"has the unknown join {step.join.mode!r}"
    if step.join.mode == "count" and step.join.sources and not 1 <= step.join.n <= len(step.join.sources):
        yield at, "has a join that waits for more tokens than there are sources"
    if not known.issuperset(source for source in step.join.sources if source != "@entry"):
        yield at, "has a source that is no step"
    if not known.issuperset(step.needs):
        yield at, "needs the result of what is no step"
    for loop in step.loops:
        yield from _indices(at, pool, loop.in_flight)
        if loop.items < 0:
            yield at, "has a loop without items"
        yield from _indices(at, pool, loop.items)
    for row in step.tasks:
        if not 0 <= row < len(plan.tasks) or plan.tasks[row].step != number:
            yield at, "has a task that is not its own"
            return
        yield from _task(at, pool, step, plan.tasks[row])
    for row in step.arcs:
        if not 0 <= row < len(plan.arcs) or plan.arcs[row].step != number:
            yield at, "has an arc that is not its own"
            return
        arc = plan.arcs[row]
        yield from _indices(at, pool, arc.args, arc.delay)
        if not -1 <= arc.target < len(plan.steps):
            yield at, "has an arc to no step"


def _task(at: str, pool: int, step: Step, task: Task) -> Found:
    at = f"{at}, task {task.name}"
    yield from _indices(at, pool, task.fields, task.args, task.knobs, task.timeout)
    if task.following != -1 and task.following not in step.tasks:
        yield at, "is followed by a task of another step"
    for rule in task.rules:
        yield from _rule(at, pool, step, rule)


def _rule(at: str, pool: int, step: Step, rule: Rule) -> Found:
    yield from _indices(at, pool, rule.when, rule.delay, rule.max_delay, rule.code, rule.message)
    for pairs in (rule.set_iter, rule.set_ctx):
        for _, value in pairs:
            if not 0 <= value < pool:
                yield at, "sets a key to no template"
    if rule.directive not in DIRECTIVES or rule.backoff not in BACKOFFS:
        yield at, "has a rule with an unknown directive or backoff"
    if (rule.directive == "jump") != (rule.to != -1) or (rule.to != -1 and rule.to not in step.tasks):
        yield at, "jumps out of its step"
    if rule.attempts < 1:
        yield at, "has fewer than one attempt"


def _indices(at: str, size: int, *indices: int) -> Found:
    if min(indices) < -1 or max(indices) >= size:
        yield at, "names a template that is not there"
