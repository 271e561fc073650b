"""Chains: the tasks that a rule of `case` does, one after the other."""

from collections.abc import Container, Iterator

from noetl_ir.expr import Expr, Name
from noetlc.ast.bodies import Choose, Tasks, map_lists
from noetlc.ast.playbook import Guard, Task
from noetlc.ast.walk import expressions_in, rule_guards, rule_values, task_values
from noetlc.expr.generated import generated_name
from noetlc.expr.rewrite import Replace
from noetlc.expr.templates import all_with, fields_with, guard_with, task_with
from noetlc.older.hoisting import kept_words


def named_in_chain(prefix: str, chain: Tasks) -> Tasks:
    """The chain whose generated tasks are named after `prefix`, numbered where a name would come twice."""
    taken: dict[str, int] = {}
    found: list[Task] = []
    for task in chain:
        if task.generated:
            word = task.name.removeprefix("__")
            taken[word] = taken.get(word, 0) + 1
            name = generated_name(prefix, word if taken[word] == 1 else f"{word}{taken[word]}")
            task = _named_inside(task._replace(name=name))
        found.append(task)
    return tuple(found)


def with_own_names(chain: Tasks, taken: Container[str], suffix: str) -> Tasks:
    """The chain in which tasks with `taken` names get the suffix; its own expressions and jumps follow."""
    own = {task.name: f"{task.name}__{suffix}" for task in chain if not task.generated and task.name in taken}
    if not own:
        return chain

    def names(expr: Expr) -> Expr | None:
        return Name(own[expr.name]) if isinstance(expr, Name) and expr.name in own else None

    def each(task: Task) -> Task:
        rules = tuple(rule._replace(to=own.get(rule.to, rule.to)) if rule.to else rule for rule in task.rules)
        return all_with(task._replace(name=own.get(task.name, task.name), rules=rules), names)

    return map_lists(chain, lambda tasks: tuple(each(task) for task in tasks))


def _named_inside(task: Task) -> Task:
    """The task, with the generated tasks in its branches named after it, so that they are unique in the step."""

    def own(tasks: Tasks) -> Tasks:
        return tuple(t._replace(name=generated_name(task.name, t.name)) if t.generated else t for t in tasks)

    return task._replace(extras=tuple(e.with_bodies(own) if isinstance(e, Choose) else e for e in task.extras))


def renamed_chain(tasks: Tasks, names: Replace) -> Tasks:
    """The tasks of chains with names in their expressions replaced; policies keep theirs, as they are about their own
    task's outcome.
    """
    return tuple(_renamed(task, names) for task in tasks)


def _renamed(task: Task, names: Replace) -> Task:
    """The task with names replaced in its fields and branches; in its policy only if it was made to set something."""
    task = task_with(task, names) if task.generated and not task.fields else fields_with(task, names)
    return task._replace(extras=tuple(_branches(e, names) if isinstance(e, Choose) else e for e in task.extras))


def _branches(choose: Choose, names: Replace) -> Choose:
    return choose._replace(
        branches=tuple(
            branch._replace(
                when=None if branch.when is None else guard_with(branch.when, names),
                tasks=tuple(_renamed(task, names) for task in branch.tasks),
            )
            for branch in choose.branches
        )
    )


def with_inner(tasks: Tasks) -> Tasks:
    """The tasks, and those in their branches."""
    inner = [with_inner(body) for t in tasks for e in t.extras if isinstance(e, Choose) for body in e.bodies()]
    return (*tasks, *(task for body in inner for task in body))


def read_in(tasks: Tasks) -> Iterator[Expr]:
    """Every expression of the tasks, in their branches too."""
    tasks = with_inner(tasks)
    for value in (value for task in tasks for value in (*task_values(task), *rule_values(task))):
        yield from (expr for expr, _ in expressions_in(value))
    yield from kept_words(value for task in tasks for value in task_values(task))
    yield from (when.expr for task in tasks for when in rule_guards(task))
    yield from (when.expr for when in _asked_inside(tasks))


def _asked_inside(tasks: Tasks) -> Iterator[Guard]:
    """The guards of branches in the tasks."""
    for task in tasks:
        for extra in task.extras:
            if isinstance(extra, Choose):
                yield from (branch.when for branch in extra.branches if branch.when is not None)
