"""Whether a run of one plan can go on in the net of another: each marking of the old one, put into the new one.

The places of a net have the names of what the author wrote, so that a token has the same place in both. A join or a
loop that only the new net has begins with the memory that it begins with; everything else that is new is empty. Only
markings in which a run can rest count: nothing is left to be done in the same turn. Of each that can be put over it is
asked whether an end can still be reached; guards choose freely, and failures that nobody handles are left out.

Most nets are not walked. Where the new net can do what each part of the old one does between two places of rest, in
whatever steps, every marking of the old one is one of the new one as well (tokens beside it disable nothing), and an
end can be reached from all of these when that is proved of the new net.
"""

from collections.abc import Iterable, Iterator
from typing import TypeAlias

from noetl_ir.net import PlaceClass, Trigger
from noetl_ir.plan import Plan
from noetl_ir.records import NamedTuple
from noetlc.analysis.goals import Reached, coverable
from noetlc.analysis.petri import Petri, consumers_of
from noetlc.analysis.reductions import reduced
from noetlc.analysis.skeleton import Skeleton, has_sets, over_place, success_skeleton
from noetlc.analysis.soundness import always_ends

STATES = 20_000
"""Markings of each net that are looked at; beyond that there is no answer."""

NEAR = 300
"""Markings that are looked at for one part of the old net."""

SparseMarking: TypeAlias = tuple[tuple[int, int], ...]
"""A marking as its marked places, sorted, each with its tokens: a large net holds few at once."""


class Transfer(NamedTuple):
    """Where runs of the old plan are stranded.

    First the places in which a run of the old plan can rest and which the new one lacks; then the markings from which
    the old plan reaches an end and the new one does not, the earliest first; then whether all markings were looked at.
    """

    lacking: tuple[int, ...]
    stranded: tuple[SparseMarking, ...]
    complete: bool


def transfer_of(old: Plan, new: Plan) -> Transfer:
    """Where a run of the old plan cannot go on in the new one."""
    if has_sets(old) or has_sets(new):  # places count there what others lack, and cannot be carried over one by one
        return Transfer((), (), False)
    source, target = success_skeleton(old), success_skeleton(new)
    # Those of the skeletons: they have places of their own where a step may end the execution.
    places = {id: number for number, id in enumerate(target.net.places)}
    at = [places.get(id, -1) for id in source.net.places]
    over = over_place(old) if old.terminates else -1
    fresh = _fresh(target, set(at))
    # The cheap proof first, part by part. It is enough where both nets do the same, and large nets have no other one.
    if _does_the_same(source, target, at, fresh) and always_ends(target, STATES):
        return Transfer((), (), True)
    before = _explored(source.net, [_sparse(source.net.initial)], STATES)
    # Too many markings to carry over one by one. That a place is missing, where a run can rest, is shown all the
    # same.
    if not before.complete and always_ends(source, STATES):
        return Transfer(tuple(_lacking(source, at)), (), False)
    now = {number for number in range(len(source.origin)) if source.transition(number).trigger is Trigger.NOW}
    hopeless = _without_end(source, before)
    lacking: dict[int, None] = {}
    moved: dict[SparseMarking, SparseMarking] = {}
    for marking, edges in before.edges.items():
        # A run that reaches no end in the old plan either is not stranded by the new one. No run rests in a marking in
        # which something happens in the same turn.
        if marking in hopeless or any(transition in now for transition, _ in edges):
            continue
        if any(place == over for place, _ in marking):  # the run is over, and goes on in no plan
            continue
        lost = [place for place, _ in marking if at[place] < 0 and is_control(old, place)]
        if lost:
            lacking.update(dict.fromkeys(lost))
        else:
            kept = [(at[place], tokens) for place, tokens in marking if at[place] >= 0]
            moved.setdefault(tuple(sorted([*kept, *fresh])), marking)
    after = _explored(target.net, moved, STATES)
    bad = _without_end(target, after)
    # In a graph that was cut off an end may lie beyond what was seen, so that nothing is told.
    stranded = tuple(marking for put, marking in moved.items() if put in bad) if after.complete else ()
    return Transfer(tuple(lacking), stranded, before.complete and after.complete)


def _does_the_same(source: Skeleton, target: Skeleton, at: list[int], fresh: list[tuple[int, int]]) -> bool:
    """Whether the new net can take every step that the old one can from one marking of rest to the next."""
    # Between two places of rest only the result counts: the new plan may do the same in other transitions.
    resting = frozenset(range(len(source.net.places))) - source.transient()
    small = reduced(source.net, resting)
    where = [at[place] if place in resting else -1 for place in small.places]
    local = _Local(target.net, frozenset(at[place] for place in resting) - {-1})
    for inputs, outputs in zip(small.net.inputs, small.net.outputs, strict=True):
        begins = inputs == ((0, 1),)
        if any(where[place] < 0 for place, _ in (*(() if begins else inputs), *outputs)):
            return False
        after = {where[place]: tokens for place, tokens in outputs}
        if begins:
            if not local.begins({**after, **dict(fresh)}):
                return False
        elif not local.leads({where[place]: tokens for place, tokens in inputs}, after):
            return False
    return True


class _Local:
    """A net reduced around some places, in which short runs between markings are looked for.

    Reduction forgets the other places, so that each run that is found is checked against the whole net (`_does`).
    """

    def __init__(self, net: Petri, kept: frozenset[int]) -> None:
        self._net = net
        self._small = reduced(net, kept)
        self._takers = consumers_of(self._small.net)
        self._number = {place: number for number, place in enumerate(self._small.places)}

    def begins(self, goal: dict[int, int]) -> bool:
        """Whether the initial marking leads to this one."""
        change = {place: goal.get(place, 0) - tokens for place, tokens in enumerate(self._net.initial)}
        return self._leads(((0, 1),), goal, change)

    def leads(self, start: dict[int, int], goal: dict[int, int]) -> bool:
        """Whether these tokens alone lead to those alone."""
        change = {place: goal.get(place, 0) - start.get(place, 0) for place in {*start, *goal}}
        return self._leads(self._in_small(start), goal, change)

    def _leads(self, start: SparseMarking, goal: dict[int, int], change: dict[int, int]) -> bool:
        wanted = self._in_small({place: tokens for place, tokens in goal.items() if place in self._number})
        parents: dict[SparseMarking, tuple[int, SparseMarking] | None] = {start: None}
        queue = [start]
        for marking in queue:  # grows while it is walked
            if marking == wanted:
                return self._does(marking, parents, change)
            tokens = dict(marking)
            for transition in sorted({each for place in tokens for each in self._takers[place]}):
                if all(tokens.get(place, 0) >= weight for place, weight in self._small.net.inputs[transition]):
                    after = _fired(self._small.net, tokens, transition)
                    if after not in parents and len(queue) < NEAR:
                        parents[after] = transition, marking
                        queue.append(after)
        return False

    def _does(
        self,
        marking: SparseMarking,
        parents: dict[SparseMarking, tuple[int, SparseMarking] | None],
        change: dict[int, int],
    ) -> bool:
        """Whether the way to a marking changes the places of the whole net as it should, and no other one."""
        run: list[int] = []
        while (step := parents[marking]) is not None:
            run.append(step[0])
            marking = step[1]
        wanted = {place: count for place, count in change.items() if count}
        return self._small.change(self._net, tuple(reversed(run))) == wanted

    def _in_small(self, tokens: dict[int, int]) -> SparseMarking:
        return tuple(sorted((self._number[place], count) for place, count in tokens.items()))


def _lacking(source: Skeleton, at: list[int]) -> Iterator[int]:
    """Places that the new net lacks and where a run of the old one, which always ends, can rest."""
    passing = source.transient()
    lost = [place for place, number in enumerate(at) if number < 0 and place not in passing]
    for place in lost:
        if is_control(source.plan, place) and isinstance(coverable(source.net, ((place, 1),), STATES), Reached):
            yield place


def is_control(plan: Plan, place: int) -> bool:
    """Whether a token in a place is one of the flow, not a join's or a loop's memory."""
    # Places that only a skeleton has remember something.
    return place < len(plan.net.places) and plan.net.places[place].kind is PlaceClass.CONTROL


class _Graph(NamedTuple):
    """Markings with what fires in each and leads where; when it is not `complete` the last have nothing yet."""

    edges: dict[SparseMarking, list[tuple[int, SparseMarking]]]
    complete: bool


def _explored(net: Petri, starts: Iterable[SparseMarking], most: int) -> _Graph:
    """The markings that can be reached from some."""
    takers = consumers_of(net)
    queue = list(starts)
    edges: dict[SparseMarking, list[tuple[int, SparseMarking]]] = {marking: [] for marking in queue}
    for marking in queue:  # grows while it is walked
        if len(queue) > most:
            return _Graph(edges, False)
        tokens = dict(marking)
        for transition in sorted({each for place in tokens for each in takers[place]}):
            if all(tokens.get(place, 0) >= weight for place, weight in net.inputs[transition]):
                after = _fired(net, tokens, transition)
                edges[marking].append((transition, after))
                if after not in edges:
                    edges[after] = []
                    queue.append(after)
    return _Graph(edges, True)


def _fired(net: Petri, tokens: dict[int, int], transition: int) -> SparseMarking:
    after = dict(tokens)
    for place, weight in net.inputs[transition]:
        after[place] -= weight
    for place, weight in net.outputs[transition]:
        after[place] = after.get(place, 0) + weight
    return tuple(sorted((place, count) for place, count in after.items() if count))


def _sparse(marking: Iterable[int]) -> SparseMarking:
    return tuple((place, tokens) for place, tokens in enumerate(marking) if tokens)


def _fresh(skeleton: Skeleton, known: set[int]) -> list[tuple[int, int]]:
    """The initial tokens in memory places (of joins and loops) that only the new net has."""
    initial = _sparse(skeleton.net.initial)
    return [(place, tokens) for place, tokens in initial if place not in known and not is_control(skeleton.plan, place)]


def _without_end(skeleton: Skeleton, graph: _Graph) -> set[SparseMarking]:
    """The markings from which no end can be reached."""
    size = len(skeleton.net.places)
    before: dict[SparseMarking, list[SparseMarking]] = {marking: [] for marking in graph.edges}
    waiting = []
    for marking, edges in graph.edges.items():
        for _, after in edges:
            before[after].append(marking)
        if not edges:
            full = [0] * size
            for place, tokens in marking:
                full[place] = tokens
            if skeleton.is_final(tuple(full)):
                waiting.append(marking)
    good = set(waiting)
    while waiting:
        for marking in before[waiting.pop()]:
            if marking not in good:
                good.add(marking)
                waiting.append(marking)
    return set(before) - good
