"""choose: a ladder of branches becomes guarded jumps (LANGUAGE §6, v10 §14).

    - {name: r, choose: [{when: g, then: [a]}, {else: {then: [b]}}]}
        →  __r             jump to a when g, else to b
           a
           __r__case0__merge   jump to __r__merge
           b
           __r__case1__merge   jump to __r__merge
           __r__merge

Nothing falls through: every branch ends in a jump to the one merge point.
"""

from noetl_ir.span import Span
from noetlc.ast.bodies import Branch, Choose, Tasks, change_lists, taken
from noetlc.ast.playbook import Playbook, Task
from noetlc.diag.change import Change, RecordChange
from noetlc.expr.generated import generated_name, jump, noop


def lower_choose(playbook: Playbook, record: RecordChange) -> Playbook:
    """The playbook without `choose`."""

    def without(task: Task) -> Tasks:
        choose, head = taken(task, Choose)
        if choose is None:
            return (task,)
        record(
            Change("lower_choose", task.name_span, "`choose`", "exact", "guarded jumps that meet in one merge point")
        )
        return _lowered(head, choose)

    return change_lists(playbook, lambda _, tasks: tuple(made for task in tasks for made in without(task)))


def _lowered(head: Task, choose: Choose) -> Tasks:
    merge = generated_name(head.name, "merge")
    rules, bodies = [], list[Task]()
    for number, branch in enumerate(choose.branches):
        # The end is there even for an empty branch, so that every branch has a first task to jump to.
        body = (*branch.tasks, _end(head.name, number, merge, branch.span))
        rules.append(jump(body[0].name, branch.span, when=branch.when))
        bodies += body
    # No branch fits: nothing runs, and the pipeline goes on behind.
    if not _has_else(choose.branches):
        rules.append(jump(merge, choose.span))
    return (head._replace(rules=tuple(rules)), *bodies, noop(merge, choose.span))


def _end(label: str, number: int, merge: str, span: Span) -> Task:
    return noop(generated_name(label, f"case{number}", "merge"), span, (jump(merge, span),))


def _has_else(branches: tuple[Branch, ...]) -> bool:
    return bool(branches) and branches[-1].when is None
