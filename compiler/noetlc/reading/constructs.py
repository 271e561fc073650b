"""The constructs that a playbook uses, as words. A lint rule that is about none of these has nothing to find in the
playbook, so that its module need not be imported."""

from noetlc.ast.playbook import Playbook
from noetlc.ast.walk import tasks_in
from noetlc.reading.kinds import languages_of


def constructs_of(playbook: Playbook) -> frozenset[str]:
    """The kinds of its tasks and the languages of their programs, the directives of their rules, `x-*` keys of the
    root, and `join` (of more than any one token), `settled` (such a join), `fork`, `loop`, `terminate`, `cancels`,
    `lock`, `interrupt`, `inputs`, `result`, `phases`, `reducers`, `concurrency` and `tasks` (defaults by kind).
    """
    found = {key for key, _ in playbook.extensions}
    if playbook.executor.inputs:
        found.add("inputs")
    if playbook.executor.concurrency is not None:
        found.add("concurrency")
    if playbook.executor.reducers:
        found.add("reducers")
    if playbook.executor.tasks:
        found.add("tasks")
    if playbook.executor.result is not None:
        found.add("result")
    if playbook.executor.phases:
        found.add("phases")
    for step in playbook.steps:
        if step.spec.join != "any":
            found.add("join")
        if step.spec.join == "settled":
            found.add("settled")
        if step.router is not None and step.router.mode == "inclusive":
            found.add("fork")
        if step.loop is not None:
            found.add("loop")
        if step.spec.locks:
            found.add("lock")
        if step.spec.interrupt is not None:
            found.add("interrupt")
        if step.spec.cancels:
            found.add("cancels")
        if step.spec.terminate:
            found.add("terminate")
    tasks = tasks_in(playbook)
    kinds = {task.kind for task in tasks}
    directives = {rule.directive for task in tasks for rule in task.rules}
    return frozenset(found.union(kinds, directives, *map(languages_of, kinds)))
