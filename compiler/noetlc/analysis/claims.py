"""Whether a run shows what is said of it once it is gone through in the turns of the engine (`turns`).

All that the run does comes about, so that what runs and how often needs no second look. What runs before or beside
what, and what does not run, depends on the order, and on what the engine does besides.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

from noetl_ir.net import Transition
from noetl_ir.plan import Plan
from noetlc.analysis.iterations import makers_of
from noetlc.analysis.queries import AtMost, Before, NeverBoth, Query, QuerySubject, Reachable, Reaches, subject_of
from noetlc.analysis.turns import RunInTurns, is_start

Shows: TypeAlias = Callable[[RunInTurns], bool]


def shown_by(plan: Plan, query: Query, *, ends: bool) -> Shows:
    """Whether a run still answers a query as it did; `ends` says that nothing comes behind it."""
    match query:
        case Before(x=x, y=y):
            return lambda way: _begins(way, subject_of(plan, x), subject_of(plan, y))
        case NeverBoth(a=a, b=b):
            return lambda way: _at_once(plan, way, subject_of(plan, a), subject_of(plan, b))
        case Reaches(x=x):
            return lambda way: (
                not (ends and way.besides and not way.over) and not any(_starts(way, subject_of(plan, x)))
            )
        case _:
            return comes_about


def needed_for(plan: Plan, query: Query, run: Sequence[Transition]) -> list[Transition]:
    """The part of a run that what it shows follows from; all of it where that is how it ends."""
    starts = [_starting(run, subject_of(plan, name)) for name in _names(query)]
    if not starts or not all(starts):
        return [*run]
    match query:
        case NeverBoth(a=a, b=b):
            goals = {at for row in starts for at in row[-1 - (a == b) :]}
        case AtMost(times=times):
            goals = set(starts[0][: times + 1])
        case _:
            goals = {starts[0][0]}
    makers = makers_of(plan, run)
    waiting, needed = [*goals], goals
    while waiting:
        before = {*makers[waiting.pop()]} - needed
        needed |= before
        waiting += before
    return [run[at] for at in sorted(needed)]


def _names(query: Query) -> tuple[str, ...]:
    match query:
        case Reachable(x=x) | AtMost(x=x) | Before(y=x):
            return (x,)
        case NeverBoth(a=a, b=b):
            return (a, b)
        case _:
            return ()


def comes_about(way: RunInTurns) -> bool:
    """All that the run does comes about, whatever comes with it."""
    return True


def nothing_besides(way: RunInTurns) -> bool:
    """The run is all that happens, so that it ends where it ended."""
    return not way.besides


def _own(way: RunInTurns) -> tuple[Transition, ...]:
    return way.run[: len(way.run) - way.ends]


def _starts(way: RunInTurns, subject: QuerySubject) -> Iterator[bool]:
    """For each transition of a run whether a subject starts with it."""
    yield from (is_start(t, subject) for t in _own(way))


def _starting(run: Sequence[Transition], subject: QuerySubject) -> list[int]:
    return [at for at, t in enumerate(run) if is_start(t, subject)]


def _begins(way: RunInTurns, first: QuerySubject, second: QuerySubject) -> bool:
    """Whether the second subject starts before the first."""
    for one, other in zip(_starts(way, first), _starts(way, second), strict=True):
        if one or other:
            return other and not one
    return False


def _at_once(plan: Plan, way: RunInTurns, one: QuerySubject, other: QuerySubject) -> bool:
    """Whether two subjects run at once, or one beside itself."""
    running = dict.fromkeys((one, other), 0)
    places = plan.net.places
    for t in _own(way):
        for subject in running:
            if subject.task >= 0:
                running[subject] += sum(places[arc.place].role == "run" for arc in t.outputs if t.task == subject.task)
                running[subject] -= sum(places[arc.place].role == "run" for arc in t.inputs if t.task == subject.task)
            elif t.step == subject.step:
                running[subject] += any(places[arc.place].role == "ready" for arc in t.inputs)
                running[subject] -= any(places[arc.place].role in ("done", "failed") for arc in t.outputs)
        if all(count >= 1 + (one == other) for count in running.values()):
            return True
    return False
