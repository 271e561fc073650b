"""The plans of child playbooks that a plan embeds: what is proved of them refines the tasks that call them (NET.md).

A child is an execution of its own. One that gets stuck ends `blocked`, which its caller sees as an error; one on a
cycle without an exit never ends, and its caller waits for ever. What is proved to end need not be taken for granted.
"""

from collections.abc import Callable, Iterator

from noetl_ir.kinds.playbook import called_path
from noetl_ir.plan import Plan, Task
from noetl_ir.plan_format import read_plan
from noetl_ir.records import NamedTuple
from noetlc.analysis.soundness import ALWAYS, assumptions_of, child_ends
from noetlc.analysis.verdict import CYCLES, Status, Story, StoryLine, Verdict


class Called(NamedTuple):
    """A child, by the path that calls it; the plan that it is, and the verdicts on it."""

    path: str
    plan: Plan
    verdicts: tuple[Verdict, ...]

    @property
    def ends(self) -> bool:
        """Whether it is proved that it ends: a child that is stuck has ended, too, and its caller waits no more."""
        return all(each.status is Status.PROVED for each in self.verdicts if each.question == CYCLES)


def called_by(plan: Plan, judged: Callable[[Plan], list[Verdict]]) -> tuple[Called, ...]:
    """The children of a plan and theirs, each plan judged once."""
    found: dict[str, Called] = {}
    digests: dict[str, tuple[Verdict, ...]] = {}
    waiting = list(plan.children)
    while waiting:
        child = waiting.pop(0)
        if child.path in found:
            continue
        inner = read_plan(child.data)
        # The same plan may be embedded under several paths. Its digest is its content, so that one proof serves all.
        if child.digest not in digests:
            digests[child.digest] = tuple(judged(inner))
        found[child.path] = Called(child.path, inner, digests[child.digest])
        waiting += inner.children
    return tuple(found.values())


def verdicts_of(plan: Plan, children: tuple[Called, ...]) -> Iterator[Verdict]:
    """The verdicts on the children, about the steps that call them; the places are in other files and left out."""
    callers: dict[str, list[str]] = {}
    for task in plan.tasks:
        callers.setdefault(_path_in(plan, task), []).append(plan.steps[task.step].name)
    for child in children:
        for verdict in child.verdicts:
            yield verdict._replace(
                question=f"`{child.path}`: {verdict.question}",
                about=tuple(dict.fromkeys(callers.get(child.path, ()))),
                span=None,
                story=None if verdict.story is None else _unplaced(verdict.story),
                script=None,
            )


def refined(plan: Plan, children: tuple[Called, ...], assumptions: tuple[str, ...]) -> tuple[str, ...]:
    """Assumptions without those that the proofs of children make needless, and with what these take for granted."""
    proved = {child.path: child for child in children if child.ends}
    needless = {child_ends(plan, task) for task in plan.tasks if _path_in(plan, task) in proved}
    more: dict[str, None] = {}
    for child in proved.values():
        inner = {child_ends(child.plan, task) for task in child.plan.tasks if _path_in(child.plan, task) in proved}
        own = [each for each in assumptions_of(child.plan) if each not in inner and each not in ALWAYS]
        more.update(dict.fromkeys(f"in `{child.path}`: {each}" for each in own))
    return (*(each for each in assumptions if each not in needless), *more)


def _path_in(plan: Plan, task: Task) -> str:
    """The path that a task calls, "" where it is computed, or the task calls nothing."""
    return called_path(plan.templates[task.fields]) if task.kind == "playbook" and task.fields >= 0 else ""


def _unplaced(story: Story) -> Story:
    lines = tuple(StoryLine(line.text, None) for line in story.lines)
    return story._replace(lines=lines, related=tuple(StoryLine(line.text, None) for line in story.related))
