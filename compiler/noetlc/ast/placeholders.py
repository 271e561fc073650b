"""The noop that a step without a tool gets: removed once lowering has given the step other tasks, unless it does
something.

{step: a, result: {n: 1}}   →   the one task `__a__result`
{step: a, poll: {until: g}} →   `a_task`, a task like any other: it is asked again and again
"""

from noetl_ir.expr import Name, walk
from noetlc.ast.playbook import Playbook, Step, Task
from noetlc.ast.walk import replace_steps, step_expressions


def is_placeholder(step: Step, task: Task) -> bool:
    """Whether a task is the noop of a step without a tool, and does nothing."""
    return _is_made(step, task) and task.args is None and not (task.fields or task.rules or task.knobs or task.extras)


def without_placeholders(playbook: Playbook) -> Playbook:
    """The playbook in which such a noop stands only where it is alone."""
    return replace_steps(playbook, _without)


def _without(step: Step) -> Step:
    made = [task for task in step.tasks if _is_made(step, task)]
    if not made or (len(step.tasks) == 1 and is_placeholder(step, made[0])):
        return step
    # A task that a jump or an expression names must stay, even if it does nothing.
    said = {rule.to for task in step.tasks for rule in task.rules}
    said |= {part.name for expr, _, _ in step_expressions(step) for part in walk(expr) if isinstance(part, Name)}
    idle = [task for task in made if is_placeholder(step, task) and task.name not in said]
    if idle and len(step.tasks) > 1:
        return step._replace(tasks=tuple(task for task in step.tasks if task is not idle[0]))
    # A noop that has something to do counts as written from here on, so that its events are shown.
    shown = tuple(task._replace(generated=False) if task is made[0] else task for task in step.tasks)
    return step._replace(tasks=shown)


def _is_made(step: Step, task: Task) -> bool:
    return task.generated and task.name == f"{step.name}_task" and task.kind == "noop"
