"""while: a loop that asks before each pass becomes jumps around a counter (LANGUAGE §6, v10 §14).

    - {name: p, while: {when: g, then: [a], max_iterations: 9}}
        →  __p             iter.__p = 0
           __p__test       fail `loop.exhausted` when iter.__p >= 9 and g; go on when g; else jump to __p__merge
           a
           __p__again      iter.__p + 1, jump to __p__test
           __p__merge

The guard stands last in the conjunction, so that it is asked for its truth as it would be alone.
"""

from noetlc.ast.bodies import Tasks, While, change_lists, taken
from noetlc.ast.playbook import Playbook, Rule, Task
from noetlc.diag.change import Change, RecordChange
from noetlc.expr.counting import again, exhausted, first_values, numbered, numbered_guard
from noetlc.expr.generated import generated_name, jump, noop


def lower_while(playbook: Playbook, record: RecordChange) -> Playbook:
    """The playbook without `while`."""

    def without(task: Task) -> Tasks:
        loop, head = taken(task, While)
        if loop is None:
            return (task,)
        record(Change("lower_while", task.name_span, "`while`", "exact", "a test, the body and a jump back"))
        return _lowered(head, loop)

    return change_lists(playbook, lambda _, tasks: tuple(made for task in tasks for made in without(task)))


def _lowered(head: Task, loop: While) -> Tasks:
    label, span = head.name, loop.span
    test, merge = generated_name(label, "test"), generated_name(label, "merge")
    when = numbered_guard(loop.when, label)
    begin = Rule(None, "continue", span, set_iter=first_values(label, loop.deadline, span))
    asked = (
        # A loop that is over by its own guard has not run out, though it used all its passes: the guard is asked,
        # too.
        *exhausted(label, loop.max_iterations, loop.deadline, unless=when.expr),
        Rule(when, "continue", when.span),
        jump(merge, span),
    )
    return (
        head._replace(rules=(begin,)),
        noop(test, span, asked),
        *numbered(loop.tasks, label),
        noop(generated_name(label, "again"), span, (again(label, test, span),)),
        noop(merge, span),
    )
