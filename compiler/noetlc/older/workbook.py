"""Tasks of a workbook that carry sugar of older dialects.

share_workbook: the `sink`, `retry` and `vars` of a workbook's entry come along with it (LANGUAGE §6).

    workbook: [{name: load, kind: http, …, retry: 3}], tool: {kind: workbook, task: load}
        →  the entry without them, and the task that calls it with them

What the calling task or its step says itself wins, but for `sink`, `vars` and `set`: both store, and both set. The
entry is put in the task's place
when the net is built.
"""

from noetlc.ast.bodies import Tasks, change_lists
from noetlc.ast.playbook import Playbook, Step, Task
from noetlc.ast.sugar import Sugar
from noetlc.ast.workbook import workbook_name
from noetlc.diag.change import Change, Note
from noetlc.older.sinks import Sink
from noetlc.older.variables import Assign


def share_workbook(playbook: Playbook, note: Note) -> Playbook:
    """The playbook whose workbook has plain tasks only."""
    shared = {name: task.extras for name, task in playbook.workbook if task.extras}
    if not shared:
        return playbook
    for name, task in playbook.workbook:
        if name in shared:
            why = "with every task that calls it"
            note(Change("share_workbook", task.name_span, f"what belongs to `{name}`", "exact", why))

    def called(step: Step, tasks: Tasks) -> Tasks:
        return tuple(_with(task, step, shared.get(workbook_name(task) or "", ())) for task in tasks)

    playbook = change_lists(playbook, called)
    return playbook._replace(workbook=tuple((name, task._replace(extras=())) for name, task in playbook.workbook))


def _with(task: Task, step: Step, extras: tuple[Sugar, ...]) -> Task:
    own = {type(extra) for extra in (*task.extras, *step.extras)}
    added = tuple(extra for extra in extras if type(extra) not in own or isinstance(extra, Sink | Assign))
    return task._replace(extras=(*task.extras, *added)) if added else task
