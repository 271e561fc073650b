"""Joins at which two tokens of one source can lie at once, and steps that may run at once.

The second token of a source waits for the next wave. A join that counts (`first`, `n`) is left out: there it waits for
the rest of a wave that is done with.
"""

from functools import cache

from noetl_ir.plan import Plan
from noetl_ir.records import NamedTuple
from noetlc.analysis.concurrency import concurrency_of
from noetlc.analysis.effort import Effort
from noetlc.analysis.goals import Reached, coverable
from noetlc.analysis.knowledge import informed
from noetlc.analysis.origin import TooLong
from noetlc.analysis.reductions import reduced
from noetlc.analysis.script import script_of
from noetlc.analysis.skeleton import Skeleton, success_skeleton, whole_skeleton
from noetlc.analysis.story import story_of
from noetlc.analysis.together import together_of
from noetlc.analysis.verdict import Story
from noetlc.analysis.waves import folded_joins

ASKED = 12
"""Places that are searched for, one by one."""


class Crowded(NamedTuple):
    """A join (by number of its step), the source of the two tokens by name, and the run, which replays when `sure`."""

    step: int
    source: str
    story: Story
    sure: bool


def crowded_of(plan: Plan, effort: Effort) -> tuple[Crowded, ...]:
    """Each join with the first of its sources that can have two tokens there; failures that nobody handles aside."""
    skeleton = folded_joins(success_skeleton(plan))
    # What guards show takes longer than most of the searches: it is looked at once for all, and only where it is asked.
    known = cache(lambda: informed(skeleton).net)
    found: dict[int, Crowded] = {}
    for place in _perhaps(skeleton)[:ASKED]:
        row = plan.net.places[place]
        step = plan.steps[row.step]
        reached = coverable(skeleton.net, ((place, 2),), effort) if row.step not in found else None
        if isinstance(reached, Reached):
            source = row.id[len(f"{row.role} {step.name} ") :]
            try:
                story = story_of(skeleton, reached.run, f"two tokens of {source!r} lie at `{step.name}`")
            except TooLong:  # nobody could check it, and no data can be found for it
                continue
            sure = script_of(plan, story.run) is not None
            # A run of free choices that guards exclude would be a false alarm. Where no data were found, it is told
            # only when the net that knows of guards allows it as well.
            if sure or isinstance(coverable(known(), ((place, 2),), effort), Reached):
                found[row.step] = Crowded(row.step, source, story, sure)
    return tuple(found.values())


def _perhaps(skeleton: Skeleton) -> list[int]:
    """The places before joins for which the arcs alone do not exclude a second token."""
    places = skeleton.plan.net.places
    asked = [
        number
        for number, place in enumerate(places)
        if place.role == "in" and skeleton.plan.steps[place.step].join.mode in ("all", "taken")
    ]
    # The relation over all places is cheap and answers for most joins. Only what it leaves open is searched for.
    small = reduced(skeleton.net, frozenset(asked))
    relation = concurrency_of(small.net)
    where = {place: number for number, place in enumerate(small.places)}
    return [place for place in asked if relation.together(where[place], where[place])]


def beside_of(plan: Plan, effort: Effort) -> dict[str, frozenset[str]]:
    """Step → the steps whose tasks may run while its own do, as far as the arcs and guards do not exclude it."""
    places = enumerate(plan.net.places)
    ready = {
        number: plan.steps[place.step].name for number, place in places if place.role == "ready" and not place.level
    }
    # The token of a run can wait at its beginning while anything goes on beside it: that place stands for all of it.
    together = together_of(informed(folded_joins(whole_skeleton(plan))).net, frozenset(ready), effort)
    return {name: frozenset(ready[other] for other in together.beside[place]) for place, name in ready.items()}
