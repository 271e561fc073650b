"""Task lists inside of task lists: the authoring sugar, and one walk over every list wherever it stands."""

from collections.abc import Callable, Iterator
from typing import TypeAlias, TypeVar

from noetl_ir.records import NamedTuple
from noetl_ir.span import Span
from noetlc.ast.playbook import Guard, Playbook, Step, Task, Value
from noetlc.ast.sugar import Sugar
from noetlc.ast.walk import replace_steps

Tasks: TypeAlias = tuple[Task, ...]
ChangeList: TypeAlias = Callable[[Tasks], Tasks]


class HasBodies(Sugar):
    """Sugar with task lists inside."""

    def with_bodies(self, change: ChangeList) -> Sugar:
        """The node with every list changed."""
        raise NotImplementedError

    def bodies(self) -> tuple[Tasks, ...]:
        """The lists."""
        raise NotImplementedError


class Branch(NamedTuple):
    """A branch of `choose`; `when` is None for `else`."""

    when: Guard | None
    tasks: Tasks
    span: Span


class Choose(HasBodies):
    """`choose`: the first branch whose guard is true runs."""

    branches: tuple[Branch, ...]
    span: Span

    def with_bodies(self, change: ChangeList) -> "Choose":
        """The node with every branch changed."""
        return Choose(tuple(branch._replace(tasks=change(branch.tasks)) for branch in self.branches), self.span)

    def bodies(self) -> tuple[Tasks, ...]:
        """The branches."""
        return tuple(branch.tasks for branch in self.branches)


class While(HasBodies):
    """`while`: the body runs as long as the guard is true, asked before each pass."""

    when: Guard
    tasks: Tasks
    max_iterations: Value | None
    deadline: Value | None
    span: Span

    def with_bodies(self, change: ChangeList) -> "While":
        """The node with its body changed."""
        return While(self.when, change(self.tasks), self.max_iterations, self.deadline, self.span)

    def bodies(self) -> tuple[Tasks, ...]:
        """The body."""
        return (self.tasks,)


class Until(HasBodies):
    """`until`: the body runs until the guard is true, asked after each pass; `delay` passes before the next one."""

    when: Guard
    tasks: Tasks
    delay: Value | None
    max_iterations: Value | None
    deadline: Value | None
    span: Span

    def with_bodies(self, change: ChangeList) -> "Until":
        """The node with its body changed."""
        return Until(self.when, change(self.tasks), self.delay, self.max_iterations, self.deadline, self.span)

    def bodies(self) -> tuple[Tasks, ...]:
        """The body."""
        return (self.tasks,)


BLOCK: TypeAlias = Choose | While | Until
"""The blocks that people write today."""


def map_lists(tasks: Tasks, change: ChangeList) -> Tasks:
    """Every list of tasks changed, the innermost first. Depth is that of the document, which the reader bounds."""

    def inside(task: Task) -> Task:
        # The task itself is given back, so that callers see by `is` that nothing changed.
        if not any(isinstance(extra, HasBodies) for extra in task.extras):
            return task
        return task._replace(extras=tuple(with_lists(extra, change) for extra in task.extras))

    # Most lists hold no sugar, and this runs for every list in every pass.
    if not any(task.extras for task in tasks):
        return change(tasks)
    return change(tuple(inside(task) for task in tasks))


def change_lists(playbook: Playbook, change: Callable[[Step, Tasks], Tasks]) -> Playbook:
    """The playbook with every task list of every step changed, those inside of sugar too."""

    def changed(step: Step) -> Step:
        tasks = map_lists(step.tasks, lambda listed: change(step, listed))
        if any(isinstance(extra, HasBodies) for extra in step.extras):
            extras = tuple(with_lists(extra, lambda listed: change(step, listed)) for extra in step.extras)
            return step._replace(tasks=tasks, extras=extras)
        # A step that no pass touched stays the same object, by which `migrate` and later passes know it.
        same = len(tasks) == len(step.tasks) and all(new is old for new, old in zip(tasks, step.tasks, strict=True))
        return step if same else step._replace(tasks=tasks)

    return replace_steps(playbook, changed)


def with_lists(extra: Sugar, change: ChangeList) -> Sugar:
    """Sugar with every list of tasks in it changed, the innermost first."""
    if not isinstance(extra, HasBodies):
        return extra
    return extra.with_bodies(lambda listed: map_lists(listed, change))


def all_tasks(tasks: Tasks, extras: tuple[Sugar, ...] = ()) -> Iterator[Task]:
    """The tasks of a list and those in the lists inside of its sugar, or of the `extras` beside it."""
    # Iterative, in an order that nobody relies on: callers ask whether something is among the tasks.
    waiting: list[Task] = list(tasks)
    bodies = [extra for extra in extras if isinstance(extra, HasBodies)]
    while waiting or bodies:
        if bodies:
            waiting += [task for body in bodies.pop().bodies() for task in body]
            continue
        task = waiting.pop()
        yield task
        bodies += [extra for extra in task.extras if isinstance(extra, HasBodies)]


_Found = TypeVar("_Found", bound=Sugar)


def taken(task: Task, kind: type[_Found]) -> tuple[_Found | None, Task]:
    """The task's sugar of a kind, if it has any, and the task without it."""
    found = next((extra for extra in task.extras if isinstance(extra, kind)), None)
    if found is None:
        return None, task
    return found, task._replace(extras=tuple(extra for extra in task.extras if extra is not found))


def taken_of(step: Step, kind: type[_Found]) -> tuple[_Found | None, Step]:
    """The step's sugar of a kind, if it has any, and the step without it."""
    found = next((extra for extra in step.extras if isinstance(extra, kind)), None)
    if found is None:
        return None, step
    return found, step._replace(extras=tuple(extra for extra in step.extras if extra is not found))


def all_taken(playbook: Playbook, kind: type[_Found]) -> tuple[tuple[_Found, ...], Playbook]:
    """All sugar of a kind that stands at the playbook itself, and the playbook without; itself where there is none."""
    found = tuple(extra for extra in playbook.extras if isinstance(extra, kind))
    if not found:
        return (), playbook
    return found, playbook._replace(extras=tuple(extra for extra in playbook.extras if not isinstance(extra, kind)))
