"""lower_vars: `vars`, `set_ctx`, `set_iter` and the `set` of a task become patches on success (LANGUAGE §6).

    tool: t, vars: {n: "{{ result.n }}"}   →   t: rules [{when: error, then: fail}, {else: continue, set_ctx: {n: …}}]

In a loop, the `vars` of the step are set once, when the loop is done: `lower_set` does it.
"""

from noetlc.ast.bodies import change_lists, taken, taken_of
from noetlc.ast.playbook import Playbook, Step, Task
from noetlc.ast.walk import replace_steps
from noetlc.diag.change import Change, Note
from noetlc.expr.shorthand import path
from noetlc.expr.templates import pairs_with
from noetlc.older.legacy_names import RESERVED, Meanings, declared_in, declared_names, own_meanings, renamed
from noetlc.older.patching import on_success
from noetlc.older.state_nodes import Assign, StepSet

BY = "lower_vars"
_RAW: Meanings = {("output",): path("outcome", "result")}
"""In a task's `set`, `output` is the tool's result (LANGUAGE §6)."""


def lower_vars(playbook: Playbook, note: Note) -> Playbook:
    """The playbook in which rules set variables."""
    known = declared_names(playbook)
    playbook = change_lists(
        playbook, lambda step, tasks: tuple(_of_task(task, declared_in(step, known), note) for task in tasks)
    )
    inputs = frozenset([key for key, _ in playbook.workload]) - RESERVED
    return replace_steps(playbook, lambda step: _of_step(step, inputs, note))


def _of_task(task: Task, known: frozenset[str], note: Note) -> Task:
    while True:
        assign, task = taken(task, Assign)
        if assign is None:
            return task
        names = renamed({**own_meanings(task.name), **(_RAW if assign.word == "`set`" else {})}, known)
        note(Change(BY, assign.span, assign.word, "exact", "a patch of the task's policy on success"))
        ctx, scratch = pairs_with(assign.set_ctx, names), pairs_with(assign.set_iter, names)
        task = on_success(task, set_ctx=ctx, set_iter=scratch)


def _of_step(step: Step, inputs: frozenset[str], note: Note) -> Step:
    while True:
        assign, step = taken_of(step, Assign)
        if assign is None:
            return step
        if step.loop is not None:
            later = StepSet(assign.word, assign.set_ctx, assign.set_iter, assign.span)
            step = step._replace(extras=(*step.extras, later))
            continue
        note(Change(BY, assign.span, assign.word, "exact", "a patch of the last task's policy on success"))
        last = step.tasks[-1]
        names = renamed({**own_meanings(step.name), **own_meanings(last.name)}, inputs)
        ctx, scratch = pairs_with(assign.set_ctx, names), pairs_with(assign.set_iter, names)
        last = on_success(last, set_ctx=ctx, set_iter=scratch)
        step = step._replace(tasks=(*step.tasks[:-1], last))
