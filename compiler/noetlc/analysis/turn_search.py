"""Runs that show what a query says, looked for among those of the engine.

The shortest run of the net may do what the engine never does: what follows by itself is left for later there, and here
it comes first. So the turns of the engine (`turns`) are gone through from the start, with each outcome and each choice,
the nearest to the goal first (best-first search), as far as a limit allows. What is found is a run of the engine; that
nothing is found proves nothing.
"""

import heapq
from collections.abc import Iterator
from itertools import count

from noetl_ir.net import Transition
from noetl_ir.plan import Plan
from noetlc.analysis.claims import shown_by
from noetlc.analysis.queries import AtMost, Before, NeverBoth, Query, QuerySubject, Reachable, subject_of
from noetlc.analysis.turns import Following, RunInTurns, gone_on, is_start

MOST_NODES, MOST_FOUND = 300, 6
"""Beginnings of runs that are looked at, and runs that are found."""

LONGEST = 60
"""Outcomes and timers of a run."""


def found_in_turns(plan: Plan, query: Query) -> Iterator[RunInTurns]:
    """Runs of the engine that show that something is reachable, or that a query which denies it is to be denied."""
    goals = _goals(plan, query)
    if not goals:
        return
    known, distances = Following(plan), [_distances(plan, goal.step) for goal in goals]
    shows, times = shown_by(plan, query, ends=False), query.times + 1 if isinstance(query, AtMost) else 1
    number, found, seen = count(), 0, set[object]()
    waiting: list[tuple[int, int, tuple[Transition, ...], tuple[int, ...]]] = [(0, next(number), (), ())]
    for _ in range(MOST_NODES):
        if not waiting or found == MOST_FOUND:
            return
        _, _, events, picks = heapq.heappop(waiting)
        here = gone_on(known, events, picks)
        for other in here.other_picks:
            heapq.heappush(waiting, (_cost(here.steps, distances, len(events)) + 1, next(number), events, other))
        if here.way is None:
            continue
        begun = [sum(is_start(t, goal) for t in here.way.run[: len(here.way.run) - here.way.ends]) for goal in goals]
        if (isinstance(query, AtMost | Reachable) and min(begun) >= times) or (
            isinstance(query, Before | NeverBoth) and begun[-1] and shows(here.way)
        ):
            found += 1
            yield here.way
            continue
        state = (here.state, tuple(begun))
        if state in seen or len(events) == LONGEST:
            continue
        seen.add(state)
        for event in here.events:
            worse = event.outcome == "error" or event.role in ("retry", "jump", "jump_later")
            cost = _cost(here.steps, distances, len(events)) + 1 + worse
            heapq.heappush(waiting, (cost, next(number), (*events, event), here.picks))


def _goals(plan: Plan, query: Query) -> list[QuerySubject]:
    match query:
        case Reachable(x=x) | AtMost(x=x) | Before(y=x):
            return [subject_of(plan, x)]
        case NeverBoth(a=a, b=b):
            return [subject_of(plan, a), subject_of(plan, b)]
        case _:
            return []


def _distances(plan: Plan, goal: int) -> dict[int, int]:
    """How many arcs lead from each step to a goal, at least."""
    before: dict[int, list[int]] = {}
    for arc in plan.arcs:
        before.setdefault(arc.target, []).append(arc.step)
    found, waiting = {goal: 0}, [goal]
    for here in waiting:  # grows while it is walked
        for step in before.get(here, ()):
            if step not in found:
                found[step] = found[here] + 1
                waiting.append(step)
    return found


def _cost(steps: frozenset[int], distances: list[dict[int, int]], events: int) -> int:
    """How far a run is, and how far from it the goals are at least."""
    far = 1 + max((max(each.values()) for each in distances), default=0)
    return events + sum(min((each.get(step, far) for step in steps), default=far) for each in distances)
