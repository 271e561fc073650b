"""`taken` joins folded into their forks: the same runs in far fewer markings.

In a plan's net a token's arrival says whether a branch was taken, so that every subset of a fork's branches has
markings of its own. Here the fork's chain of arcs says it at its end, and live and dead tokens come to one place:

    [pass i]: (n i) → (n i+1) + (in J s)  [some F]: (s last) → (warm J)  [meet]:      Σ(in J s) + (warm J) → (gate J)
    [take i]: (n i) → (s i+1) + arc i     [none F]: (n last) → (cold J)  [meet none]: Σ(in J s) + (cold J) → ∅

Where some arcs of the fork lead elsewhere (on failure only), the row `s` is doubled: whether a branch is among what was
taken is remembered too.

That is the same as long as waves do not overlap: when the fork routes, and when the join has met, no token is left in
its branches that could still come to the join. `concurrency` proves that on the folded net; a join for which it does
not stays as it is. A fork that takes every branch has nothing to remember, whatever the waves do.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from noetl_ir.net import Transition
from noetl_ir.plan import Plan
from noetl_ir.records import NamedTuple
from noetlc.analysis.concurrency import concurrency_of
from noetlc.analysis.petri import Petri, PetriArcs, arcs_of
from noetlc.analysis.reductions import reduced
from noetlc.analysis.skeleton import Skeleton, has_sets, whole_skeleton

CHAIN = frozenset({"take", "pass", "none", "some"})
ARRIVING = frozenset({"arrive", "arrive_dead"})
MEMORY = frozenset({"free", "held", "got", "cold", "warm"})


class _Join(NamedTuple):
    """A `taken` join of the step `step`, with the step of its fork and the rows of the arcs that begin its branches.

    `fork` is -1 where every branch is always taken. `mixed` says that the fork has arcs beside these. `live` are the
    places in which tokens of its sources arrive, `dead` maps the places of dead tokens to them. `memory` are the places
    that remember a wave; folding uses two of them, `cold` and `warm`, for the states of the fork (see above).
    """

    step: int
    fork: int
    branches: frozenset[int]
    mixed: bool
    live: tuple[int, ...]
    dead: Mapping[int, int]
    memory: frozenset[int]
    cold: int
    warm: int


def folded_joins(skeleton: Skeleton) -> Skeleton:
    """The skeleton with each `taken` join folded into its fork that can be; the same one without any."""
    # Folding relies on what leads to what; an end of all that may come at any moment is no part of that.
    plan = skeleton.plan
    joins = [] if plan.terminates or has_sets(plan) else _joins_of(plan)
    asked = [join for join in joins if join.fork >= 0]
    # Waves are judged on all runs, failures included. What holds there holds for every smaller skeleton, so that both
    # of a plan are folded alike.
    whole = whole_skeleton(skeleton.plan) if asked else skeleton
    while asked:
        crossed = _crossed(_folded(whole, joins), asked)
        if not crossed:
            break
        asked = [join for join in asked if join.step not in crossed]
        # A join that is left as it is changes the net that the others were judged in, so that they are asked again.
        joins = [join for join in joins if join.step not in crossed]
    return _folded(skeleton, joins) if joins else skeleton


def _joins_of(plan: Plan) -> list[_Join]:
    steps = [number for number, step in enumerate(plan.steps) if step.join.mode == "taken" and step.join.sources]
    if not steps:
        return []
    found = {number: {role: dict[str, int]() for role in ("in", "dead", *MEMORY)} for number in steps}
    for number, place in enumerate(plan.net.places):
        if place.step in found and place.role in found[place.step]:
            found[place.step][place.role][place.id.removeprefix(f"{place.role} {plan.steps[place.step].name}")] = number
    # The net of a phase has no places of steps that belong to another one.
    there = [number for number in steps if found[number]["cold"]]
    return [join for number in there if (join := _join(plan, number, found[number])) is not None]


def _join(plan: Plan, step: int, places: Mapping[str, Mapping[str, int]]) -> _Join | None:
    dead = {place: places["in"][source] for source, place in places["dead"].items()}
    passing = {t.step: t for t in plan.net.transitions if any(arc.place in dead for arc in t.outputs)}
    # Two forks may each skip branches of this join. Then no one chain of arcs knows at its end what was taken.
    if len(passing) > 1:
        return None
    fork = next(iter(passing), -1)
    branches = frozenset(
        t.arc
        for t in plan.net.transitions
        if t.step == fork and ((t.role == "take" and t.guard < 0) or any(arc.place in dead for arc in t.outputs))
    )
    memory = frozenset(place for role in MEMORY for place in places[role].values())
    [cold], [warm] = places["cold"].values(), places["warm"].values()
    mixed = any(row not in branches for row in plan.steps[fork].arcs) if fork >= 0 else False
    return _Join(step, fork, branches, mixed, tuple(places["in"].values()), dead, memory, cold, warm)


def _folded(skeleton: Skeleton, joins: Sequence[_Join]) -> Skeleton:
    old = skeleton.net
    making = _Making(skeleton.plan, len(old.places), joins)
    ids, inputs, outputs, origin = list[str](), list[PetriArcs](), list[PetriArcs](), list[int]()
    for number, (takes, makes) in enumerate(zip(old.inputs, old.outputs, strict=True)):
        for before, after in making.made(skeleton.transition(number), takes, makes):
            ids.append(old.transitions[number])
            inputs.append(before)
            outputs.append(after)
            origin.append(skeleton.origin[number])
    memory = frozenset(place for join in joins for place in join.memory)
    # The memory of a folded join would only multiply markings: nothing takes from it any more.
    initial = [0 if place in memory else tokens for place, tokens in enumerate(old.initial)]
    net = Petri(
        old.name,
        (*old.places, *making.names),
        tuple(ids),
        tuple(inputs),
        tuple(outputs),
        (*initial, *(0 for _ in making.names)),
    )
    return skeleton._replace(net=net, origin=tuple(origin), folded=frozenset(join.step for join in joins))


class _Making:
    """The transitions of the folded net; `names` are its additional places, numbered from `first`."""

    def __init__(self, plan: Plan, first: int, joins: Sequence[_Join]) -> None:
        self._plan = plan
        self._first = first
        self._joins = {join.step: join for join in joins}
        self._forks = {join.fork: join for join in joins if join.fork >= 0}
        self._dead = {place: live for join in joins for place, live in join.dead.items()}
        self._twins: dict[int, int] = {}  # a place of the row `s` → its twin, in which no branch was taken yet
        self.names: list[str] = []

    def made(self, t: Transition, takes: PetriArcs, makes: PetriArcs) -> Iterator[tuple[PetriArcs, PetriArcs]]:
        """The transition as it becomes."""
        join, fork = self._joins.get(t.step), self._forks.get(t.step)
        # Tokens wait in `in` until the join meets. Arriving one by one is what makes a marking for every subset of
        # the branches.
        if join is not None and t.role in ARRIVING:
            return
        if join is not None and t.role in ("meet", "meet_none"):
            yield from self._meeting(join, t, makes)
        elif fork is not None and t.role in CHAIN:
            yield from self._routing(fork, t, takes, self._with_live(makes))
        else:
            yield takes, makes

    def _meeting(self, join: _Join, t: Transition, makes: PetriArcs) -> Iterator[tuple[PetriArcs, PetriArcs]]:
        everything = [(place, 1) for place in join.live]
        after = tuple(arc for arc in makes if arc[0] not in join.memory)
        if join.fork >= 0:
            yield arcs_of([*everything, (join.warm if t.role == "meet" else join.cold, 1)]), after
        elif t.role == "meet":
            yield arcs_of(everything), after

    def _routing(
        self, join: _Join, t: Transition, takes: PetriArcs, makes: PetriArcs
    ) -> Iterator[tuple[PetriArcs, PetriArcs]]:
        lives = t.arc in join.branches
        match t.role, self._plan.net.places[takes[0][0]].role:
            case "none", "n":
                yield takes, ((join.cold, 1),)
            case "some", _:
                yield takes, ((join.warm, 1),)
                if join.mixed:
                    yield self._doubled(takes), ((join.cold, 1),)
            case (("take" | "pass"), "s"):
                yield takes, makes
                if join.mixed:
                    yield self._doubled(takes), makes if lives and t.role == "take" else self._doubled(makes)
            case "take", _ if not lives:
                yield takes, self._doubled(makes)
            case _:  # also the failure of a fork of which no arc asks for it: no wave begins
                yield takes, makes

    def _doubled(self, arcs: PetriArcs) -> PetriArcs:
        """The arcs with the twins of places in the row `s`."""
        return arcs_of((self._twin(place), weight) for place, weight in arcs)

    def _twin(self, place: int) -> int:
        row = self._plan.net.places[place] if place < self._first else None
        if row is None or row.role != "s":
            return place
        if place not in self._twins:
            self._twins[place] = self._first + len(self.names)
            self.names.append(f"{row.id} @none")
        return self._twins[place]

    def _with_live(self, makes: PetriArcs) -> PetriArcs:
        return arcs_of((self._dead.get(place, place), weight) for place, weight in makes)


def _crossed(skeleton: Skeleton, joins: Sequence[_Join]) -> frozenset[int]:
    """The joins whose waves may overlap, in the folded net of all runs."""
    plan, old = skeleton.plan, skeleton.net
    met = {join.step: len(old.places) + number for number, join in enumerate(joins)}
    steps = [skeleton.transition(number) for number in range(len(old.inputs))]
    outputs = [
        # A meeting without a live token leaves no token to ask about. It gets a place of its own for this question.
        ((met[t.step], 1),) if t.step in met and t.role == "meet_none" else makes
        for t, makes in zip(steps, old.outputs, strict=True)
    ]
    asked = Petri(
        old.name,
        (*old.places, *(f"@met {step}" for step in met)),
        (*old.transitions, *(f"@met {step}" for step in met)),
        (*old.inputs, *(((place, 1),) for place in met.values())),
        (*outputs, *(() for _ in met)),
        (*old.initial, *(0 for _ in met)),
    )
    over = {join.step: {met[join.step], *_turns_of(plan, join)} for join in joins}
    within = {join.step: {*join.live, *_between(plan, join)} for join in joins}
    # A reduction may merge places, so that those that are asked about are kept.
    small = reduced(asked, frozenset().union(*over.values(), *within.values()))
    relation = concurrency_of(small.net)
    where = {place: number for number, place in enumerate(small.places)}
    masks = {step: sum(1 << where[place] for place in places) for step, places in within.items()}
    return frozenset(
        step for step, places in over.items() if any(relation.rows[where[place]] & masks[step] for place in places)
    )


def _turns_of(plan: Plan, join: _Join) -> Iterator[int]:
    """The places in which the fork's router is asked, and in which the join has met with a live token."""
    roles = {join.fork: ("done", "failed"), join.step: ("gate",)}
    for number, place in enumerate(plan.net.places):
        if place.level <= 0 and place.role in roles.get(place.step, ()):
            yield number


def _between(plan: Plan, join: _Join) -> Iterator[int]:
    """The places in which a token may linger on its way from the fork to the join, one at least for each step."""
    steps = _steps_between(plan, join)
    for number, place in enumerate(plan.net.places):
        waits = place.role == "in" and plan.steps[place.step].join.mode != "any"
        if place.step in steps and place.level <= 0 and (waits or place.role == "ready"):
            yield number
    for t in plan.net.transitions:
        if t.role == "land" and (t.arc in join.branches or t.step in steps):
            yield from (arc.place for arc in t.inputs)


def _steps_between(plan: Plan, join: _Join) -> set[int]:
    before: dict[int, list[int]] = {}
    for arc in plan.arcs:
        before.setdefault(arc.target, []).append(arc.step)
    found, waiting = {join.fork, join.step}, list(before.get(join.step, ()))
    while waiting:
        step = waiting.pop()
        if step not in found:
            found.add(step)
            waiting += before.get(step, ())
    return found - {join.fork, join.step}


def unfolded_run(skeleton: Skeleton, run: Iterable[int]) -> list[Transition]:
    """The run of the plan's net that a run of a skeleton is: tokens of folded joins arrive when they meet, or last."""
    net = skeleton.plan.net
    if not skeleton.folded:
        ids = skeleton.net.transitions
        return [skeleton.transition(number) for number in run if not ids[number].startswith("@")]
    arrivals: dict[int, list[Transition]] = {}
    for t in net.transitions:
        if t.step in skeleton.folded and t.role in ARRIVING:
            arrivals.setdefault(t.step, []).append(t)
    tokens = dict(net.initial)
    found: list[Transition] = []

    def fire(t: Transition) -> None:
        for arc in t.inputs:
            tokens[arc.place] = tokens.get(arc.place, 0) - (arc.weight if isinstance(arc.weight, int) else 0)
        for arc in t.outputs:
            tokens[arc.place] = tokens.get(arc.place, 0) + (arc.weight if isinstance(arc.weight, int) else 0)
        found.append(t)

    def arrive(step: int) -> None:
        for t in arrivals[step]:
            # The net of the plan is played along, so that only tokens arrive that are there. The run that comes out
            # replays in the engine.
            if all(tokens.get(arc.place, 0) > 0 for arc in t.inputs):
                fire(t)

    for number in run:
        t = skeleton.transition(number)
        if t.step in arrivals and t.role in ("meet", "meet_none"):
            arrive(t.step)
        fire(t)
    for step in arrivals:
        arrive(step)
    return found
