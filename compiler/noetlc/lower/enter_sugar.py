"""enter_sugar: a jump to `choose`, `while` or `until` by its name leads to the first task that it becomes.

A jump into a body from outside is refused (LANGUAGE §6): the counters of its loop would not have begun.
"""

from collections.abc import Iterator

from noetlc.ast.bodies import BLOCK, HasBodies, Tasks, map_lists
from noetlc.ast.playbook import Playbook, Rule, Step, Task
from noetlc.ast.walk import replace_steps
from noetlc.diag.change import Change, RecordChange
from noetlc.expr.generated import PREFIX

_Place = tuple[int, ...]
"""Which body a task stands in: the way from the outermost list."""


def enter_sugar(playbook: Playbook, record: RecordChange) -> Playbook:
    """The playbook with every jump to sugar retargeted, and jumps into bodies refused."""
    return replace_steps(playbook, lambda step: _entered(step, record))


def _entered(step: Step, record: RecordChange) -> Step:
    places: dict[str, _Place] = {}
    heads: set[str] = set()
    for place, task in _placed(step.tasks, ()):
        # The first task of a name, as everywhere.
        places.setdefault(task.name, place)
        if any(isinstance(extra, BLOCK) for extra in task.extras):
            heads.add(task.name)
    for place, task in _placed(step.tasks, ()):
        for rule in task.rules:
            target = places.get(_target(rule, places, heads) or "")
            # A jump within a body or out of it is fine: the target's body is then around the jump.
            if target is not None and place[: len(target)] != target:
                why = "a jump may not enter a body from outside"
                record(Change("enter_sugar", rule.to_span or rule.span, f"`to: {rule.to}`", "refused", why))

    def entered(task: Task) -> Task:
        rules = tuple(rule._replace(to=_target(rule, places, heads)) for rule in task.rules)
        return task if rules == task.rules else task._replace(rules=rules)

    return step._replace(tasks=map_lists(step.tasks, lambda listed: tuple(entered(task) for task in listed)))


def _target(rule: Rule, places: dict[str, _Place], heads: set[str]) -> str | None:
    """Where the rule jumps to: a name that no task has may be that of sugar."""
    # A task of that very name comes before sugar.
    if rule.to is None or rule.to in places:
        return rule.to
    head = f"{PREFIX}{rule.to}"
    return head if head in heads else rule.to


def _placed(tasks: Tasks, place: _Place) -> Iterator[tuple[_Place, Task]]:
    """Every task with the body that it stands in."""
    for position, task in enumerate(tasks):
        yield place, task
        for extra in task.extras:
            for number, body in enumerate(extra.bodies() if isinstance(extra, HasBodies) else ()):
                yield from _placed(body, (*place, position, number))
