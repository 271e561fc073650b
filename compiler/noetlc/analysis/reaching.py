"""Does every run reach a part? No run without it ends, is stuck, or goes round for ever.

A run that an unhandled failure ends proves nothing (NET.md): it does not count, whatever is asked. So the question is
put to the successful skeleton, and an end in which a token has no way left but such a failure is passed over.

A circle refutes only where it can be gone round for ever: the second round has to find in `ctx`, `iter` and the
workload what the first one found, so that a circle that a counter ends is none. What stands beside the circle moves
meanwhile, as outcomes arrive: where that brings the part about, the circle refutes nothing. Nor does it where a gate
that waits for ctx would stay shut, as it opens in the end, or something beside waits for a lock or for empty places.
"""

from collections.abc import Iterator, Sequence
from itertools import islice

from noetlc.analysis.effort import STUBBORN, Effort
from noetlc.analysis.origin import TooLong, circle_in, has_loop
from noetlc.analysis.packing import is_too_large
from noetlc.analysis.petri import Petri, PetriMarking, fired, is_enabled
from noetlc.analysis.reachability import Graph, graph_of
from noetlc.analysis.reductions import Reduced, reduced
from noetlc.analysis.resets import SHUT
from noetlc.analysis.rounds import changed_by
from noetlc.analysis.skeleton import AGAIN, Skeleton, chosen_of
from noetlc.analysis.soundness import assumptions_of
from noetlc.analysis.story import story_of
from noetlc.analysis.stubborn import Terminals, terminals_of
from noetlc.analysis.verdict import Status, Verdict
from noetlc.analysis.whole_markings import WholeMarkings, depths_of
from noetlc.ast.components import components_of

LONGEST = 20_000
"""Nodes of trees (`origin`) of a run to a circle or round it, along which data are looked for."""

MAX_CIRCLES = 4
"""Circles of which a run round them is looked for."""

MAX_ASIDE = 400
"""Firings of what stands beside a circle, for all ways that are tried together."""

FULL = 2_000
"""States up to which all markings are looked at, to see that no circle can be kept to."""

GOES_ROUND = "from here on it may go round for ever, and `{}` does not run"


def reaches(success: Skeleton, place: int, name: str, text: str, effort: Effort) -> Verdict:
    """The verdict on whether every run marks a place of a successful skeleton."""
    assumed = assumptions_of(success.plan)
    if success.loose:
        return Verdict(text, Status.UNKNOWN, success.loose, assumed)
    return _Question(success, place, name, text, effort).verdict()


class _Question:
    """The skeleton without what starts the part; what is dead there ends, is stuck, or is about to start it.

    Counted repetitions end, so that they are left out.
    """

    def __init__(self, success: Skeleton, place: int, name: str, text: str, effort: Effort) -> None:
        net = success.net
        starting = [number for number, arcs in enumerate(net.outputs) if any(each == place for each, _ in arcs)]
        again = [number for number in range(len(success.origin)) if success.transition(number).role in AGAIN]
        self._whole = success
        self._starting = starting
        self._opening = dict(success.shut)
        self._skeleton = chosen_of(success, sorted(set(range(len(net.transitions))).difference(starting, again)))
        self._name = name
        self._text = text
        self._effort = effort
        self._assumed = assumptions_of(success.plan)

    def verdict(self) -> Verdict:
        small = reduced(self._skeleton.net)
        limit = self._effort.states(small.net, STUBBORN)
        ends = terminals_of(small.net, limit)
        self._effort.spend(small.net, len(ends.graph.markings), STUBBORN)
        refuted = self._by_an_end(small, ends)
        if refuted is not None:
            return refuted
        # A run is written down for each: those that are not looked at would cost as much.
        circles = list(islice(self._circles(small, ends.graph), MAX_CIRCLES))
        found = [each for circle in circles if (each := self._round(*circle)) is not None]
        for each in found:
            if each.status is Status.REFUTED and not each.sought:
                return each
        if not ends.complete:
            return self._of(Status.UNKNOWN, f"the limit of {limit} states was hit")
        if circles and not self._leaves_all():
            return found[0] if found else self._of(Status.UNKNOWN, GOES_ROUND.format(self._name))
        return self._of(Status.PROVED, f"no run ends without `{self._name}`, but by a failure that no arc takes")

    def _of(self, status: Status, detail: str) -> Verdict:
        return Verdict(self._text, status, detail, self._assumed)

    def _by_an_end(self, small: Reduced, ends: Terminals) -> Verdict | None:
        whole, depths = WholeMarkings(self._skeleton.net, small, ends.graph), depths_of(ends.graph)
        # The shortest run is the one that is told.
        for state in sorted(ends.dead, key=depths.__getitem__):
            left = whole.marking(state)
            marking = self._opened(left)
            # A gate that stays shut is no end: it opens.
            if marking != left and any(is_enabled(self._skeleton.net, marking, each) for each in self._own_rows()):
                continue
            if self._skeleton.gives_up(marking) or self._is_about_to(marking):
                continue
            is_end = self._skeleton.is_final(marking)
            end = f"the run {'ends' if is_end else 'gets stuck'}, and `{self._name}` has not run"
            return self._of(Status.REFUTED, end)._replace(
                story=story_of(self._skeleton, small.run(ends.graph.path_to(state)), end)
            )
        return None

    def _opened(self, marking: PetriMarking) -> PetriMarking:
        """A marking with the tokens that do not move at their gates."""
        tokens = [*marking]
        for shut, gate in self._opening.items():
            tokens[gate] += tokens[shut]
            tokens[shut] = 0
        return tuple(tokens)

    def _own_rows(self) -> list[int]:
        """The transitions that happen while others can: all but the shutting of gates, and starts that are forced."""
        ids, forced = self._skeleton.net.transitions, set(self._skeleton.forced)
        return [number for number, id in enumerate(ids) if not (id.startswith(SHUT) or number in forced)]

    def _is_about_to(self, marking: PetriMarking) -> bool:
        return any(is_enabled(self._whole.net, marking, number) for number in self._starting)

    def _circles(self, small: Reduced, graph: Graph) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
        """The circles of the graph, each as the run to it and that round it; both are empty where they are not known.

        Stubborn sets preserve whether there are any (Valmari 1990).
        """
        # Reductions take circles of silent transitions away. Their origins remember that one could go round here.
        looped = {number for number, origin in enumerate(small.origins) if has_loop(origin)}
        for members in components_of(graph.targets):
            first = min(members)
            inside = set(members)
            try:
                if len(members) > 1 or first in graph.targets[first]:
                    way, round_ = graph.path_to(first), _way_round(graph, first, inside)
                    yield small.run(way, LONGEST), small.run(round_, LONGEST)
                elif (here := next((each for each in graph.enabled[first] if each in looped), None)) is not None:
                    before, circle = circle_in(small.origins[here])
                    yield (*small.run(graph.path_to(first), LONGEST), *before), circle
            except TooLong:
                yield (), ()

    def _round(self, way: tuple[int, ...], circle: tuple[int, ...]) -> Verdict | None:
        """The verdict that a circle gives: refuted with a run twice round it; unknown where data may end it; None where
        the part comes about beside it.
        """
        if not circle:
            return None
        end = GOES_ROUND.format(self._name)
        doubt: Verdict | None = None
        for aside in self._asides(way, circle):
            once = (*way, *aside, *circle)
            story = story_of(self._skeleton, (*once, *circle), end)
            # What arrives at a folded join is told with what meets there, or at the end.
            told = story_of(self._skeleton, once, end).run
            if story.run[: len(told)] != told:
                return self._of(Status.UNKNOWN, end)
            changed = changed_by(self._skeleton.plan, story.run, len(told), len(story.run))
            if changed == ():
                return self._of(Status.REFUTED, end)._replace(story=story)
            if doubt is None and changed is None:
                doubt = self._of(Status.REFUTED, end)._replace(story=story, sought=True)
            elif doubt is None and changed:
                names = " and ".join(f"`{key}`" for key in changed)
                doubt = self._of(Status.UNKNOWN, f"{end}, unless {names} ends that")._replace(story=story)
        return doubt

    def _asides(self, way: Sequence[int], circle: Sequence[int]) -> Iterator[tuple[int, ...]]:
        """The ways in which all that stands beside a circle may go on until it cannot, without starting the part."""
        net = self._skeleton.net
        rows = set(self._own_rows())
        marking = _after(net, net.initial, way)
        if marking is None or not rows.issuperset(circle) or any(marking[shut] for shut in self._opening):
            return
        # What the circle takes from is its own. A transition that takes from elsewhere stays enabled however often it
        # goes round, so that a run cannot leave it out for ever. Places behind those of the plan only say when.
        own = {place for number in circle for place, _ in self._taken(number)}
        free = [number for number in sorted(rows) if own.isdisjoint(place for place, _ in self._taken(number))]
        left = MAX_ASIDE
        waiting: list[tuple[PetriMarking, tuple[int, ...]]] = [(marking, ())]
        seen = {marking}
        while waiting and left:
            left -= 1
            here, before = waiting.pop()
            able = [number for number in free if is_enabled(net, here, number)]
            if not able:
                waits = any(self._has_tokens(here, number) for number in free)
                goes_on = _after(net, here, (*circle, *circle)) is not None
                if goes_on and not waits and not self._is_about_to(here) and not self._skeleton.gives_up(here):
                    yield before
                continue
            # Those that compete for one token are choices; the others can wait.
            first = {place for place, _ in net.inputs[able[0]]}
            for number in reversed(able):
                if first.isdisjoint(place for place, _ in net.inputs[number]):
                    continue
                after = fired(net, here, number)
                if after not in seen:
                    seen.add(after)
                    waiting.append((after, (*before, number)))

    def _taken(self, number: int) -> list[tuple[int, int]]:
        """The tokens that a transition takes from places of the plan."""
        count = len(self._whole.plan.net.places)
        return [each for each in self._skeleton.net.inputs[number] if each[0] < count]

    def _has_tokens(self, marking: PetriMarking, number: int) -> bool:
        """Whether all tokens that a transition takes from places of the plan are there, so that only an analysis place,
        such as a lock's, can hold it back.
        """
        taken = self._taken(number)
        return bool(taken) and all(marking[place] >= weight for place, weight in taken)

    def _leaves_all(self) -> bool:
        """Whether no run can stay on a circle for ever, short of the part: throughout each circle a transition is
        enabled that leads out of it, and no transition of the circle takes its tokens away. Reductions preserve that,
        since a fused transition takes the tokens that its first part takes.
        """
        if self._opening:  # a gate that may stay shut is no way out
            return False
        net, reached = self._with_starts()
        small = reduced(net, frozenset({reached, *self._turns()}))
        if is_too_large(small.net):
            return False
        graph = graph_of(small.net, self._effort.states(small.net, most=FULL))
        self._effort.spend(small.net, len(graph.markings))
        at = small.place(reached)
        return graph.complete and all(
            graph.code.tokens(graph.markings[members[0]], at) or self._is_left(net, small, graph, members)
            for members in components_of(graph.targets)
        )

    def _turns(self) -> Iterator[int]:
        """A place on every circle of steps, and of jumps between tasks, that reductions must keep.

        Otherwise a circle could be fused into one transition, and what is marked beside it on the way would be lost.
        """
        plan = self._whole.plan
        targets = [[arc for row in step.arcs if (arc := plan.arcs[row].target) >= 0] for step in plan.steps]
        round_ = {at for members in components_of(targets) if len(members) > 1 for at in members}
        round_.update(at for at, row in enumerate(targets) if at in row)
        jumping = {task.step for task in plan.tasks if any(rule.directive == "jump" for rule in task.rules)}
        for number, place in enumerate(plan.net.places):
            if (place.role == "ready" and place.step in round_) or (place.role == "at" and place.step in jumping):
                yield number

    def _with_starts(self) -> tuple[Petri, int]:
        """The skeleton in which starting the part marks the place (@reached) and nothing else, and that place's number.

        Retries and lost claims (`AGAIN`) are left out: they are no way out of a circle.
        """
        whole, net, reached = self._whole, self._whole.net, len(self._whole.net.places)
        starting = set(self._starting)
        outputs = tuple([((reached, 1),) if at in starting else arcs for at, arcs in enumerate(net.outputs)])
        marked = net._replace(places=(*net.places, "@reached"), outputs=outputs, initial=(*net.initial, 0))
        kept = [at for at in range(len(net.transitions)) if whole.transition(at).role not in AGAIN]
        return chosen_of(whole._replace(net=marked), kept).net, reached

    def _is_left(self, net: Petri, small: Reduced, graph: Graph, members: Sequence[int]) -> bool:
        inside = set(members)
        going = {
            number
            for state in members
            for number, to in zip(graph.enabled[state], graph.targets[state], strict=True)
            if to in inside or has_loop(small.origins[number])
        }
        if not going:
            return True
        taken = {place for number in going for place, _ in small.net.inputs[number]}
        always = set.intersection(*(set(graph.enabled[state]) for state in members))
        if any(taken.isdisjoint(place for place, _ in small.net.inputs[number]) for number in always):
            return True
        # Beside a token that can only fail, a circle ends with that failure.
        return self._whole.gives_up(small.marking_after(net, graph.path_to(min(members))))


def _after(net: Petri, marking: PetriMarking, run: Sequence[int]) -> PetriMarking | None:
    """The marking after the transitions of `run`; None where one of them is not enabled in its turn."""
    for number in run:
        if not is_enabled(net, marking, number):
            return None
        marking = fired(net, marking, number)
    return marking


def _way_round(graph: Graph, first: int, inside: set[int]) -> tuple[int, ...]:
    """The transitions of a shortest way from a state back to it within its component."""
    came: dict[int, tuple[int, int]] = {}  # state → the one before, and what fired there
    waiting = [first]
    for here in waiting:  # grows while it is walked
        for number, to in zip(graph.enabled[here], graph.targets[here], strict=True):
            if to == first:
                found = [number]
                while here != first:
                    here, number = came[here]
                    found.append(number)
                return tuple(reversed(found))
            if to in inside and to not in came:
                came[to] = here, number
                waiting.append(to)
    raise AssertionError("a component has a way back")
