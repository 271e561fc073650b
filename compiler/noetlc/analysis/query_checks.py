"""Answers to queries about a plan, on its whole skeleton: with every failure, and with guards left out."""

from collections.abc import Callable
from typing import TypeAlias

from noetl_ir.plan import Plan
from noetl_ir.records import NamedTuple
from noetlc.analysis.effort import Effort
from noetlc.analysis.goals import Never, Open, Reached, coverable
from noetlc.analysis.petri import Petri, PetriArcs, arcs_of
from noetlc.analysis.queries import AtMost, Before, NeverBoth, Query, Reachable, Reaches, subject_of
from noetlc.analysis.reaching import reaches
from noetlc.analysis.skeleton import Skeleton, chosen_of, success_skeleton, whole_skeleton
from noetlc.analysis.soundness import assumptions_of
from noetlc.analysis.story import story_of
from noetlc.analysis.verdict import Status, Verdict
from noetlc.analysis.waves import folded_joins
from noetlc.analysis.witness import has_words

_Seen: TypeAlias = Callable[[Skeleton], Skeleton]
"""How a skeleton is looked at: as it is, or with what guards show."""


class QuerySubjects(NamedTuple):
    """The places that stand for the names of queries, in the skeletons of a plan."""

    plan: Plan

    def place(self, name: str) -> int:
        """The place that is marked when it starts: `ready` of a step, `run` of a task."""
        subject = subject_of(self.plan, name)
        step = self.plan.steps[subject.step].name
        id = f"ready {step}" if subject.task < 0 else f"run {step} {self.plan.tasks[subject.task].name}"
        return next(number for number, place in enumerate(self.plan.net.places) if place.id == id)


def as_it_is(skeleton: Skeleton) -> Skeleton:
    """Free choices: the skeleton itself."""
    return skeleton


def scripted(skeleton: Skeleton) -> Skeleton:
    """The skeleton without what scripts have no words for; not all that the whole one can do can be done in it."""
    numbers = range(len(skeleton.origin))
    return chosen_of(skeleton, [each for each in numbers if has_words(skeleton.transition(each))])


def check_query(plan: Plan, query: Query, text: str, effort: Effort, seen: _Seen = as_it_is) -> Verdict:
    """The verdict on a query, on skeletons as `seen` makes them; raises QueryError for names that are not there."""
    subjects = QuerySubjects(plan)
    match query:
        case Reachable(x=x):
            skeleton = seen(folded_joins(whole_skeleton(plan)))
            found = coverable(skeleton.net, ((subjects.place(x), 1),), effort)
            return _existential(skeleton, text, found, f"`{x}` runs")
        case NeverBoth(a=a, b=b):
            # Two items and two slots, so that a step in a loop can be seen to run beside itself.
            skeleton = seen(folded_joins(whole_skeleton(plan, 2)))
            target = arcs_of([(subjects.place(a), 1), (subjects.place(b), 1)])
            found = coverable(skeleton.net, target, effort)
            return _universal(skeleton, text, found, f"`{a}` and `{b}` run at once")
        case Before(x=x, y=y):
            # y starts before x in some run exactly when it can start in the net from which the starts of x are removed.
            skeleton = _without(seen(folded_joins(whole_skeleton(plan))), subjects.place(x))
            found = coverable(skeleton.net, ((subjects.place(y), 1),), effort)
            return _universal(skeleton, text, found, f"`{y}` runs, and `{x}` has not")
        case AtMost(times=times, x=x):
            skeleton = seen(folded_joins(whole_skeleton(plan)))
            # More starts than the limit are enough to refute it. Counting further would make the space larger for
            # nothing.
            found = coverable(*counting(skeleton.net, subjects.place(x), times + 1), effort)
            return _universal(skeleton, text, found, f"`{x}` runs {times + 1} times")
        case Reaches(x=x):
            return reaches(seen(folded_joins(success_skeleton(plan))), subjects.place(x), x, text, effort)


def _existential(skeleton: Skeleton, text: str, found: Reached | Never | Open, end: str) -> Verdict:
    assumed = assumptions_of(skeleton.plan)
    match found:
        case Reached(run=run):
            return Verdict(text, Status.PROVED, end, assumed, story=story_of(skeleton, run, end))
        case Never(reason=reason):
            return Verdict(text, Status.REFUTED, f"it cannot happen: {reason}", assumed)
        case Open(states=states):
            return Verdict(text, Status.UNKNOWN, f"the limit of {states} states was hit", assumed)


def _universal(skeleton: Skeleton, text: str, found: Reached | Never | Open, end: str) -> Verdict:
    assumed = assumptions_of(skeleton.plan)
    match found:
        case Reached(run=run):
            return Verdict(text, Status.REFUTED, end, assumed, story=story_of(skeleton, run, end))
        case Never(reason=reason):
            return Verdict(text, Status.PROVED, reason, assumed)
        case Open(states=states):
            return Verdict(text, Status.UNKNOWN, f"the limit of {states} states was hit", assumed)


def _without(skeleton: Skeleton, place: int) -> Skeleton:
    """The skeleton without the transitions that put a token into a place."""
    net = skeleton.net
    kept = [number for number, arcs in enumerate(net.outputs) if all(each != place for each, _ in arcs)]
    return chosen_of(skeleton, kept)


def counting(net: Petri, place: int, count: int) -> tuple[Petri, PetriArcs]:
    """The net in which a place gets no more than about `count` tokens in all, and the target: that it got `count`.

    The place (@left) bounds the tokens that are still to come, so that the count does not make the net unbounded;
    (@used) counts those that came.
    """
    left, used = len(net.places), len(net.places) + 1
    marks = [dict(arcs).get(place, 0) for arcs in net.outputs]
    counted = Petri(
        net.name,
        (*net.places, "@left", "@used"),
        net.transitions,
        tuple((*arcs, (left, each)) if each else arcs for arcs, each in zip(net.inputs, marks, strict=True)),
        tuple((*arcs, (used, each)) if each else arcs for arcs, each in zip(net.outputs, marks, strict=True)),
        # A transition that makes several tokens at once may overshoot: without room for all of them the last one could
        # not fire, and `count` would never be reached.
        (*net.initial, count + max(marks, default=1) - 1, 0),
    )
    return counted, ((used, count),)
