"""The effective spec of tasks: theirs over the specs around them (LANGUAGE §1, EXTENSIONS §2).

From the outside in: `executor.spec`, `executor.spec.tasks.<kind>`, the step, its loops, the task. Inner wins, mappings
merge deeply, lists replace; a policy is taken whole.
"""

from collections.abc import Container, Iterator, Sequence

from noetl_ir.expr import Template
from noetlc.ast.playbook import Pairs, Playbook, Step, Task, TaskDefaults, Value
from noetlc.ast.walk import loops_of, replace_tasks
from noetlc.ast.workbook import pairs_of, template_of_pairs


def defaults_of(playbook: Playbook, task: Task) -> TaskDefaults | None:
    """The defaults of a task's kind; none of a task that lowering made, whose author knows nothing of it."""
    if task.generated:
        return None
    return next((one for one in playbook.executor.tasks if one.kind == task.kind), None)


def with_policies(playbook: Playbook) -> Playbook:
    """The playbook in which tasks without a policy have the one of their kind."""
    if not any(one.rules for one in playbook.executor.tasks):
        return playbook

    def taken(task: Task) -> Task:
        found = None if task.rules else defaults_of(playbook, task)
        if found is None or not found.rules:
            return task
        return task._replace(rules=found.rules, on_unmatched_written=found.on_unmatched_written)

    entries = tuple([(name, taken(task)) for name, task in playbook.workbook])
    return replace_tasks(playbook, lambda step, task: taken(task))._replace(workbook=entries)


def knobs_of(playbook: Playbook, step: Step, task: Task, declared: Container[str]) -> Pairs:
    """The knobs of a task, of those that its kind has `declared`, in the order in which they were first written."""
    found = defaults_of(playbook, task)
    outer = [step.spec.knobs, *(loop.knobs for loop in loops_of(step))]
    # Most playbooks set nothing around their tasks.
    if not playbook.executor.knobs and found is None and not any(outer):
        return task.knobs
    below = [_declared(playbook.executor.knobs, declared), () if found is None else found.knobs]
    return overlaid([*below, *[_declared(level, declared) for level in outer], task.knobs])


def timeout_of(playbook: Playbook, step: Step, task: Task, *, parks: bool) -> Value | None:
    """How long one attempt of a task may take. One that `parks` waits outside of a worker: it has only a limit that is
    written at the task or for its kind.
    """
    inner: Value | None = None
    for outer in _timeouts(playbook, step, task, parks):
        # Parts of a timeout are laid over each other: a task that sets `read` keeps the step's `connect`.
        inner = outer if inner is None else Value(merged_value(outer.template, inner.template), inner.span, inner.node)
    return inner


def _timeouts(playbook: Playbook, step: Step, task: Task, parks: bool) -> Iterator[Value]:
    """The limits of a task, from the inside out."""
    found = defaults_of(playbook, task)
    around = () if parks else (*(loop.timeout for loop in reversed(loops_of(step))), step.spec.timeout)
    for value in (task.timeout, *around, None if found is None else found.timeout):
        if value is not None:
            yield value
    if playbook.executor.timeout is not None and not parks:
        yield playbook.executor.timeout


def overlaid(levels: Sequence[Pairs]) -> Pairs:
    """Several levels of named values as one, later levels over earlier ones."""
    found: dict[str, Value] = {}
    for level in levels:
        for name, value in level:
            outer = found.get(name)
            if outer is not None:
                value = value._replace(template=merged_value(outer.template, value.template))
            found[name] = value
    return tuple(found.items())


def merged_value(outer: Template, inner: Template) -> Template:
    """`inner` over `outer`: deep where both are mappings."""
    below, above = pairs_of(outer), pairs_of(inner)
    if below is None or above is None:
        return inner
    for name, value in above.items():
        below[name] = merged_value(below[name], value) if name in below else value
    return template_of_pairs(below)


def _declared(level: Pairs, knobs: Container[str]) -> Pairs:
    return tuple([(name, value) for name, value in level if name in knobs])
