"""Reads that follow a value to its new place, in all of a playbook."""

from noetl_ir.span import Span
from noetlc.ast.graph import ENTRY
from noetlc.ast.playbook import Arc, Loop, Playbook, Router, Step, StepSpec, Task
from noetlc.ast.walk import replace_steps
from noetlc.expr.generated import PLAIN_SPEC, generated_name
from noetlc.expr.rewrite import Replace
from noetlc.expr.templates import arc_with, guard_with, maybe_with, task_with, value_with


def followed(playbook: Playbook, follow: Replace) -> Playbook:
    """The playbook with every expression of its steps and workbook rewritten."""
    workbook = tuple((name, task_with(task, follow)) for name, task in playbook.workbook)
    return replace_steps(playbook._replace(workbook=workbook), lambda step: _step(step, follow))


def entered(playbook: Playbook, word: str, task: Task, span: Span) -> Playbook:
    """The playbook that begins with a generated step of that one task."""
    entry = playbook.executor.entry_step or ENTRY
    name = generated_name(entry, word)
    router = Router("exclusive", (Arc(entry, span, None, None, None, 0, span),), span)
    first = Step(name, span, span, "", PLAIN_SPEC, None, (task._replace(name=f"{name}__task"),), router)
    executor = playbook.executor._replace(entry_step=name, entry_span=span)
    return playbook._replace(steps=(first, *playbook.steps), executor=executor)


def _step(step: Step, follow: Replace) -> Step:
    tasks = tuple(task_with(task, follow) for task in step.tasks)
    loop = None if step.loop is None else _loop(step.loop, follow)
    router = step.router
    if router is not None:
        router = router._replace(arcs=tuple(arc_with(arc, follow) for arc in router.arcs))
    return step._replace(tasks=tasks, loop=loop, router=router, spec=_spec(step.spec, follow))


def _loop(loop: Loop, follow: Replace) -> Loop:
    inner = None if loop.inner is None else _loop(loop.inner, follow)
    in_flight = maybe_with(loop.max_in_flight, follow)
    return loop._replace(items=value_with(loop.items, follow), max_in_flight=in_flight, inner=inner)


def _spec(spec: StepSpec, follow: Replace) -> StepSpec:
    lifecycle = maybe_with(spec.lifecycle_timeout, follow)
    spec = spec._replace(timeout=maybe_with(spec.timeout, follow), lifecycle_timeout=lifecycle)
    if spec.admit is None:
        return spec
    rules = tuple(
        rule if rule.when is None else rule._replace(when=guard_with(rule.when, follow)) for rule in spec.admit.rules
    )
    return spec._replace(admit=spec.admit._replace(rules=rules))
