"""until: a loop that asks after each pass becomes jumps around a counter (LANGUAGE §6, v10 §14).

- {name: r, until: {when: g, then: [a], delay: 2s, max_iterations: 9}}
    →  __r             iter.__r = 0
       a
       __r__test       jump to __r__merge when g; fail `loop.exhausted` when iter.__r + 1 >= 9;
                       else iter.__r + 1, jump to a after 2 s
       __r__merge
"""

from noetlc.ast.bodies import Tasks, Until, change_lists, taken
from noetlc.ast.playbook import Playbook, Rule, Task
from noetlc.diag.change import Change, RecordChange
from noetlc.expr.counting import again, exhausted, first_values, numbered, numbered_guard
from noetlc.expr.generated import generated_name, jump, noop


def lower_until(playbook: Playbook, record: RecordChange) -> Playbook:
    """The playbook without `until`."""

    def without(task: Task) -> Tasks:
        loop, head = taken(task, Until)
        if loop is None:
            return (task,)
        record(Change("lower_until", task.name_span, "`until`", "exact", "the body, a test and a jump back"))
        return _lowered(head, loop)

    return change_lists(playbook, lambda _, tasks: tuple(made for task in tasks for made in without(task)))


def _lowered(head: Task, loop: Until) -> Tasks:
    label, span = head.name, loop.span
    test, merge = generated_name(label, "test"), generated_name(label, "merge")
    when = numbered_guard(loop.when, label)
    begin = Rule(None, "continue", span, set_iter=first_values(label, loop.deadline, span))
    body = numbered(loop.tasks, label)
    # An empty body was told; the loop still has a task to come back to.
    first = body[0].name if body else test
    asked = (
        # The guard comes before the limits: a last pass that succeeds is no failure.
        jump(merge, when.span, when=when),
        # The pass that has just run is not counted yet, hence `done=1`.
        *exhausted(label, loop.max_iterations, loop.deadline, done=1),
        again(label, first, span, delay=loop.delay),
    )
    return (head._replace(rules=(begin,)), *body, noop(test, span, asked), noop(merge, span))
