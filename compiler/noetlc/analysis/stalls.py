"""Where a settled join starts although something could still come, because nothing else can move."""

from collections.abc import Iterator
from functools import partial

from noetl_ir.plan import Plan
from noetl_ir.records import NamedTuple
from noetlc.analysis.effort import Effort
from noetlc.analysis.goals import Reached, coverable
from noetlc.analysis.origin import TooLong
from noetlc.analysis.script import script_of
from noetlc.analysis.skeleton import Skeleton, settles, success_skeleton
from noetlc.analysis.story import left_over, story_of
from noetlc.analysis.turns import RunInTurns
from noetlc.analysis.verdict import Story, StoryLine


class Stalled(NamedTuple):
    """A settled join (by number of its step), what waits meanwhile in words, and the run, which replays when `sure`."""

    step: int
    waiting: tuple[str, ...]
    story: Story
    sure: bool


def stalled_of(plan: Plan, effort: Effort) -> tuple[Stalled, ...]:
    """The settled joins that may be forced to start, each once; failures that nobody handles aside."""
    if not settles(plan):
        return ()
    skeleton = success_skeleton(plan)
    found: dict[int, Stalled] = {}
    for row in skeleton.forced:
        step = skeleton.transition(row).step
        if step in found and found[step].sure:
            continue
        reached = coverable(skeleton.net, skeleton.net.inputs[row], effort)
        if not isinstance(reached, Reached):
            continue
        waiting = tuple(_waiting(skeleton, row, step))
        try:
            story = story_of(
                skeleton, reached.run, f"nothing else can move, and `{plan.steps[step].name}` starts", waiting
            )
        except TooLong:  # nobody could check it
            continue
        sure = script_of(plan, story.run, shows=partial(_is_forced, step)) is not None
        if sure or step not in found:
            found[step] = Stalled(step, tuple(line.text for line in waiting), story, sure)
    return tuple(found[step] for step in sorted(found))


def _is_forced(step: int, way: RunInTurns) -> bool:
    """Whether a settled join is the one that starts as nothing else can move: the one with the oldest token."""
    return any(t.role == "force" and t.step == step for t in way.run)


def _waiting(skeleton: Skeleton, row: int, join: int) -> Iterator[StoryLine]:
    """The tokens that wait elsewhere when a join is forced to start."""
    plan, net = skeleton.plan, skeleton.net
    marking = [0] * len(net.places)
    for marked, tokens in net.inputs[row]:
        marking[marked] = tokens
    for number, place in enumerate(plan.net.places):
        if place.step == join:
            marking[number] = 0
    yield from left_over(skeleton, tuple(marking))
    for shut, gate in skeleton.shut:
        if marking[shut]:
            step = plan.steps[plan.net.places[gate].step]
            yield StoryLine(f"a token waits at the gate of `{step.name}`", step.span)
