"""Nodes of loops over pages: `retry` as a list (formal-extended §6)."""

from noetl_ir.expr import Name, walk
from noetl_ir.records import NamedTuple
from noetl_ir.span import Span
from noetlc.ast.bodies import ChangeList, HasBodies, Tasks
from noetlc.ast.playbook import Guard, Task, Value
from noetlc.ast.sugar import Sugar
from noetlc.expr.generated import generated_name
from noetlc.older.repetition import Repetition


class Collect(NamedTuple):
    """How pages are gathered: what of each, and the name of the whole. No `strategy`: they are not."""

    strategy: str
    path: tuple[str, ...]
    into: str


class Page(NamedTuple):
    """One policy of a `retry` list (formal-extended §6): `when` selects it by the outcome.

    A repetition with `next_call`, `collect` or `sink` is one of success: it has its own counter. `next_call` gives
    fields of the task for the next call. `is_bounded` says whether the attempts count: a loop over pages that names
    no number reads them all. `chain` is what else a rule of `case` does with the page that it is true of.
    """

    when: Guard | None
    retry: Repetition
    next_call: tuple[tuple[str, Value], ...]
    collect: Collect
    sink: Task | None
    span: Span
    is_bounded: bool = True
    chain: Tasks = ()


class Pages(HasBodies):
    """`retry` as an ordered list: the first policy whose `when` is true is taken. Rules of a case come after others."""

    policies: tuple[Page, ...]
    span: Span
    of_case: bool = False

    def with_bodies(self, change: ChangeList) -> "Pages":
        """The node with every chain changed."""
        if not any(page.chain for page in self.policies):
            return self
        return self._replace(policies=tuple(page._replace(chain=change(page.chain)) for page in self.policies))

    def bodies(self) -> tuple[Tasks, ...]:
        """The chains."""
        return tuple(page.chain for page in self.policies)


def repeats_success(page: Page) -> bool:
    """Whether a policy repeats successes: it has something for the next call, or looks at a response."""
    if page.next_call or page.collect.strategy or page.sink is not None:
        return True
    roots = {"response", "result", "data", "this"}
    return page.when is not None and any(isinstance(p, Name) and p.name in roots for p in walk(page.when.expr))


def gathers(extras: tuple[Sugar, ...]) -> bool:
    """Whether the result is what a loop gathers of all pages, once it has ended."""
    return any(page.collect.strategy for extra in extras if isinstance(extra, Pages) for page in extra.policies)


def tool_at(tasks: Tasks) -> int:
    """Where the tool of a step is: the task that is called for every page, else the last that no pass made."""
    names = {task.name for task in tasks}
    paged = [number for number, task in enumerate(tasks) if generated_name(task.name, "again") in names]
    return paged[-1] if paged else max((n for n, task in enumerate(tasks) if not task.generated), default=-1)


def tool_before_branches(tasks: Tasks) -> int:
    """The place of the tool where a case may have made branches of tasks behind the tool: what leads on to them
    comes first.
    """
    places = {task.name: place for place, task in enumerate(tasks)}
    leading = (n for n, task in enumerate(tasks) if any(places.get(rule.to or "", n) > n for rule in task.rules))
    return tool_at(tasks[: next(leading, len(tasks)) + 1])
