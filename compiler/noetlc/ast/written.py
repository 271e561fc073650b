"""Which parts of a lowered playbook its author wrote, and which lowering made.

Generated steps, tasks, rules, arcs and joins have the place of the construct that they were made from. A finding about
one of them would speak of a thing that the author never saw. So findings ask here. A part counts as written if a part
of its sort stood at its place in the tree as it was read, also inside of `choose`, `while` and `until`.
"""

from typing import TypeAlias

from noetl_ir.span import Span
from noetlc.ast.playbook import Arc, Guard, Merge, Playbook, Router, Rule, Step, Task, TaskDefaults, Value

_Part: TypeAlias = Step | Task | Rule | Router | Arc

_GROUND = (Span, Value, Guard, str)


class Written:
    """The parts that the author wrote, by sort and place; all parts where nothing was lowered."""

    def __init__(self, read: Playbook, lowered: Playbook) -> None:
        # In a canonical file nothing was lowered, and no walk is needed.
        self._all = read is lowered
        self._spans: dict[type[_Part], set[Span]] = {Step: set(), Task: set(), Rule: set(), Router: set(), Arc: set()}
        self._joins: dict[Span, str | int | Merge] = {}
        if not self._all:
            self._take(read)

    def _take(self, read: Playbook) -> None:
        executor = read.executor
        waiting: list[tuple[object, ...]] = [read.steps, read.workbook, executor.tasks, executor.extras, read.extras]
        while waiting:
            here = waiting.pop()
            match here:
                case Step():
                    self._spans[Step].add(here.name_span)
                    # A pass may change the join of a step that the author wrote, so that its place alone does not tell.
                    self._joins[here.name_span] = here.spec.join
                case Task():
                    if not here.generated:
                        self._spans[Task].add(here.name_span)
                    # A rule that stands outside of its task, as in a `catch` beside a list, was put there by a reader.
                    self._spans[Rule].update(rule.span for rule in here.rules if rule.span.is_inside(here.span))
                case TaskDefaults():
                    self._spans[Rule].update(rule.span for rule in here.rules)
                case Router():
                    self._spans[Router].add(here.span)
                case Arc():
                    self._spans[Arc].add(here.span)
                case _:
                    pass
            waiting += [part for part in here if isinstance(part, tuple) and part and not isinstance(part, _GROUND)]

    def has(self, part: _Part) -> bool:
        """Whether the author wrote a part."""
        if self._all:
            return not isinstance(part, Task) or not part.generated
        if isinstance(part, Task):
            return not part.generated and part.name_span in self._spans[Task]
        return (part.name_span if isinstance(part, Step) else part.span) in self._spans[type(part)]

    def has_rules(self, task: Task) -> bool:
        """Whether the author wrote a task and each of its rules."""
        return self.has(task) and all(map(self.has, task.rules))

    def has_router(self, step: Step) -> bool:
        """Whether the author wrote a step's router and each of its arcs."""
        router = step.router
        return router is not None and self.has(router) and all(map(self.has, router.arcs))

    def has_join(self, step: Step) -> bool:
        """Whether the author wrote the join of a step, also by writing none."""
        return self._all or (self.has(step) and self._joins.get(step.name_span) == step.spec.join)

    def made(self, playbook: Playbook) -> frozenset[Span]:
        """The places at which parts of the lowered `playbook` stand, all of them generated."""
        if self._all:
            return frozenset()
        parts: list[_Part] = []
        for step in playbook.steps:
            parts += (step, *step.tasks, *(rule for task in step.tasks for rule in task.rules))
            parts += () if step.router is None else (step.router, *step.router.arcs)
        # A generated part has the place of its construct. Where something written stands there too, the place is the
        # author's.
        mine = {place for part in parts if self.has(part) for place in _places(part)}
        return frozenset({place for part in parts if not self.has(part) for place in _places(part)} - mine)


def _places(part: _Part) -> tuple[Span, ...]:
    match part:
        case Step() | Task():
            return part.name_span, part.span
        case Rule():
            return (part.span, *(() if part.to_span is None else (part.to_span,)))
        case Router():
            return (part.span,)
        case Arc():
            return part.span, part.target_span
