"""Reads that follow a value to its new place, in all of a playbook."""

from noetl_ir.span import Span
from noetlc.ast.graph import ENTRY
from noetlc.ast.playbook import Arc, Playbook, Router, Step, Task
from noetlc.ast.walk import replace_steps
from noetlc.expr.generated import PLAIN_SPEC, generated_name
from noetlc.expr.rewrite import Replace
from noetlc.expr.templates import all_with, arc_with, task_with


def followed(playbook: Playbook, follow: Replace) -> Playbook:
    """The playbook with every expression of its executor, steps and workbook rewritten."""
    workbook = tuple((name, task_with(task, follow)) for name, task in playbook.workbook)
    executor = all_with(playbook.executor, follow)
    return replace_steps(playbook._replace(executor=executor, workbook=workbook), lambda step: _step(step, follow))


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
    router = step.router
    if router is not None:
        router = router._replace(arcs=tuple(arc_with(arc, follow) for arc in router.arcs))
    loop, spec = all_with(step.loop, follow), all_with(step.spec, follow)
    return step._replace(tasks=tasks, loop=loop, router=router, spec=spec)
