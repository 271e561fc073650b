"""`assert` is for lint alone (`noetlc.rules.unmet_declaration`): no run asks for it, and it stays in the file.

assert: {expects: [city, auth.db], returns: [total]}  →  nothing in the plan
"""

from noetlc.ast.bodies import Tasks, change_lists
from noetlc.ast.playbook import Playbook, Step, Task
from noetlc.ast.sugar import Declared, Sugar
from noetlc.ast.walk import replace_steps
from noetlc.diag.change import RecordChange


def drop_declared(playbook: Playbook, record: RecordChange) -> Playbook:
    """The playbook without `assert`; there is nothing to record, since no run ever asks for it."""
    del record

    def kept(extras: tuple[Sugar, ...]) -> tuple[Sugar, ...]:
        return tuple(extra for extra in extras if not isinstance(extra, Declared))

    def plain(task: Task) -> Task:
        return task._replace(extras=kept(task.extras)) if task.extras else task

    def all_plain(step: Step, tasks: Tasks) -> Tasks:
        del step
        return tuple(map(plain, tasks))

    playbook = replace_steps(playbook, lambda step: step._replace(extras=kept(step.extras)) if step.extras else step)
    playbook = change_lists(playbook, all_plain)
    return playbook._replace(workbook=tuple((name, plain(task)) for name, task in playbook.workbook))
