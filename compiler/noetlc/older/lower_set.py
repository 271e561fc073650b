"""lower_set: what a step sets or gives once becomes a task or step of its own (LANGUAGE §6).

tool: [a, b], set: {ctx.n: "{{ output.data.n }}"}   →  a, b, __s__set, which sets ctx.n = _prev.n
loop: …, set: {ctx.n: …}                            →  the step __s__set between the loop and where it leads
result: v                                           →  __s__result, a noop that gives v
"""

from noetl_ir.expr import Const, Expr, Name
from noetlc.ast.bodies import Tasks, map_lists, taken_of
from noetlc.ast.playbook import Arc, Playbook, Router, Rule, Step, Task
from noetlc.diag.change import Change, Note
from noetlc.expr.generated import PLAIN_SPEC, computed, generated_name, jump, noop
from noetlc.expr.rewrite import Replace
from noetlc.expr.shorthand import result_of
from noetlc.expr.templates import arc_with, pairs_with
from noetlc.older.branching import behind
from noetlc.older.legacy_names import declared_names, is_negative, named_events, renamed, rule_meanings
from noetlc.older.state_nodes import ArcSet, Result, StepSet

BY = "lower_set"


def lower_set(playbook: Playbook, note: Note) -> Playbook:
    """The playbook in which steps set nothing besides their tasks."""
    known = declared_names(playbook)
    made: dict[str, list[Step]] = {}
    steps = behind(tuple(_of_step(step, known, made, note) for step in playbook.steps), made)
    between: dict[str, list[Step]] = {}
    steps = tuple(_of_arcs(step, known, between, note) for step in steps)
    return playbook._replace(steps=behind(steps, between))


def _of_step(step: Step, known: frozenset[str], made: dict[str, list[Step]], note: Note) -> Step:
    result, step = taken_of(step, Result)
    if result is not None:
        note(Change(BY, result.span, "`result`", "exact", "a noop that gives the step's result"))
        step = _with_result(step, result, known)
    while True:
        assign, step = taken_of(step, StepSet)
        if assign is None:
            return step
        if step.loop is not None:
            note(Change(BY, assign.span, assign.word, "review", "it is set once, when the loop is done"))
            step = _after_loop(step, assign, known, made)
        else:
            note(Change(BY, assign.span, assign.word, "exact", "a task after the pipeline"))
            step = _after_tasks(step, assign, known)


def _of_arcs(step: Step, known: frozenset[str], made: dict[str, list[Step]], note: Note) -> Step:
    """A step between for each arc that sets: `set` of an arc outlives its token's args (LANGUAGE §6)."""
    if step.router is None or not any(arc.extras for arc in step.router.arcs):
        return step
    arcs = []
    for number, arc in enumerate(step.router.arcs):
        sets = next((extra for extra in arc.extras if isinstance(extra, ArcSet)), None)
        if sets is None:
            arcs.append(arc)
            continue
        note(Change(BY, sets.span, "`set` of an arc", "exact", "a step between that sets it"))
        name = generated_name(step.name, f"arc{number}")
        result = result_of(step.name)
        names = renamed({**rule_meanings(Name("outcome"), result), ("output",): result}, known)
        patch = Rule(None, "continue", sets.span, set_ctx=pairs_with(sets.set_ctx, names))
        onward = Arc(arc.target, arc.target_span, None, computed(Name("args"), arc.span), None, 0, arc.span)
        task = noop(f"{name}__task", sets.span, (patch,))
        between = Step(
            name, arc.span, arc.span, "", PLAIN_SPEC, None, (task,), Router("exclusive", (onward,), arc.span)
        )
        made.setdefault(step.name, []).append(between)
        arcs.append(arc._replace(target=name, target_span=arc.span, extras=()))
    return step._replace(router=step.router._replace(arcs=tuple(arcs)))


def _with_result(step: Step, result: Result, known: frozenset[str]) -> Step:
    """A noop at the end gives the step's result."""
    names = renamed(rule_meanings(Name("_prev"), Name("_prev")), known)
    last = noop(generated_name(step.name, "result"), result.span, (), pairs_with((("result", result.value),), names))
    return step._replace(tasks=(*step.tasks, last))


def _after_tasks(step: Step, assign: StepSet, known: frozenset[str]) -> Step:
    """A noop behind the pipeline, which a `break` comes to as well."""
    name = generated_name(step.name, "set")
    names = renamed(rule_meanings(Name("outcome"), Name("_prev")), known)
    patch = _patch(assign, names)

    def to_end(task: Task) -> Task:
        rules = tuple(
            jump(name, rule.span, when=rule.when, set_iter=rule.set_iter)._replace(set_ctx=rule.set_ctx)
            if rule.directive == "break"
            else rule
            for rule in task.rules
        )
        return task if rules == task.rules else task._replace(rules=rules)

    def ended(tasks: Tasks) -> Tasks:
        return tuple(to_end(task) for task in tasks)

    return step._replace(tasks=(*map_lists(step.tasks, ended), noop(name, assign.span, (patch,))))


def _patch(assign: StepSet, names: Replace) -> Rule:
    ctx, scratch = pairs_with(assign.set_ctx, names), pairs_with(assign.set_iter, names)
    return Rule(None, "continue", assign.span, set_ctx=ctx, set_iter=scratch)


def _after_loop(step: Step, assign: StepSet, known: frozenset[str], made: dict[str, list[Step]]) -> Step:
    """A step between the loop and where its success leads; what takes its failure stays."""
    name, span = generated_name(step.name, "set"), assign.span
    result = result_of(step.name)
    patch = _patch(assign, renamed({**rule_meanings(Name("outcome"), result)}, known))
    arcs = step.router.arcs if step.router is not None else ()
    on_failure = tuple(arc for arc in arcs if _only_failure(arc))
    onward = tuple(arc_with(arc, _done) for arc in arcs if arc not in on_failure)
    router = Router(step.router.mode if step.router is not None else "exclusive", onward, span) if onward else None
    task = noop(f"{name}_task", span, (patch,), ())._replace(name=f"{name}__task")
    after = Step(name, span, span, "", PLAIN_SPEC, None, (task,), router)
    made.setdefault(step.name, []).insert(0, after)
    return step._replace(router=Router("exclusive", (*on_failure, Arc(name, span, None, None, None, 0, span)), span))


def _only_failure(arc: Arc) -> bool:
    names = None if arc.when is None else named_events(arc.when.expr)
    if names is None or arc.when is None or is_negative(arc.when.expr):
        return False
    return set(names) <= {"step.failed", "call.error"}


def _done(expr: Expr) -> Expr | None:
    """Behind the loop its end is certain."""
    names = named_events(expr)
    if names is None:
        return None
    return Const(bool({"loop.done", "call.done", "step.exit", "step.done"} & set(names)) != is_negative(expr))
