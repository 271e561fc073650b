"""The space of a safe net as a decision diagram: exact numbers of spaces that are too large to list.

A marking is a row of bits, one for each place, and a set of markings a binary decision diagram (Bryant 1986). Firing is
done on whole sets, transition after transition, each on what the ones before have found (Roig, Cortadella and Pastor
1995), until nothing is new. The order of the places decides whether diagrams stay small: places that transitions touch
together stand close together (FORCE: Aloul, Markov and Sakallah 2003).

Only safe nets: a net in which some place gets a second token is noticed and not counted. The limit is the number of
nodes of all diagrams. Needs the extra `symbolic`.
"""

from collections.abc import Iterable, Sequence
from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING

from noetl_ir.records import NamedTuple
from noetlc.analysis.petri import Petri

if TYPE_CHECKING:
    from oxidd.bdd import BDDFunction

NODES = 1 << 21
"""Nodes of diagrams that a question may cost."""

ROUNDS = 40
"""How often the order of places is improved."""

UNSAFE = "a place can hold two tokens"

MAX_COMPONENTS = 1_000
"""Terminal components that are looked at for liveness."""


class StateCounts(NamedTuple):
    """The numbers. `deadlock` is a run to a dead marking, None without one; `live` None where that is open."""

    states: int
    edges: int
    bounds: tuple[int, ...]
    max_token_per_marking: int
    dead: tuple[int, ...]
    live: bool | None
    stable: tuple[int, ...]
    deadlock: tuple[int, ...] | None


class CountingStopped(NamedTuple):
    """Why there are no numbers."""

    why: str


def state_counts(net: Petri, nodes: int = NODES) -> StateCounts | CountingStopped:
    """The numbers of a safe net, with at most so many nodes."""
    try:
        import oxidd.bdd  # noqa: F401
    except ImportError:
        return CountingStopped("larger spaces need `pip install noetlc[symbolic]`")
    if max(net.initial, default=0) > 1:
        return CountingStopped(UNSAFE)
    try:
        return _Space(net, nodes).counted()
    except MemoryError:
        return CountingStopped(f"the limit of {nodes} nodes was hit")


class _Rule(NamedTuple):
    """A transition as diagrams: `asked` are the markings that enable it, `touched` the variables of its places, and
    `before` and `after` the values of these before and after it fires.
    """

    asked: "BDDFunction"
    touched: "BDDFunction"
    before: "BDDFunction"
    after: "BDDFunction"
    second: "BDDFunction"
    """The markings in which firing would put a second token into a place, so that the net is unsafe."""


class _Space:
    def __init__(self, net: Petri, nodes: int) -> None:
        from oxidd.bdd import BDDManager
        from oxidd.util import BooleanOperator

        self._and = BooleanOperator.AND
        self._net = net
        self._count = len(net.places)
        order = order_of(net)
        self._level = {place: level for level, place in enumerate(order)}
        self._manager = BDDManager(nodes, max(nodes // 4, 1 << 10), 1)
        self._manager.add_vars(self._count)
        self._is = [self._manager.var(self._level[place]) for place in range(self._count)]
        self._not = [self._manager.not_var(self._level[place]) for place in range(self._count)]
        self._rules = [self._rule(number) for number in range(len(net.transitions))]
        self._turn = _turn_of(net)

    def counted(self) -> StateCounts | CountingStopped:
        """Everything about the space."""
        first = self._all(
            bit[place] for place, tokens in enumerate(self._net.initial) for bit in [self._is if tokens else self._not]
        )
        history: list[tuple[int, BDDFunction]] = []
        space = self._forward(first, history)
        # One bit cannot hold a second token, so that behind a firing that makes one the space is wrong. That firing
        # itself starts in a marking that is right: to look for it afterwards is enough, and costs no round.
        if any((space & rule.asked & rule.second).satisfiable() for rule in self._rules):
            return CountingStopped(UNSAFE)
        able = [space & rule.asked for rule in self._rules]
        dead = tuple(number for number, states in enumerate(able) if not states.satisfiable())
        stuck = space
        for states in able:
            stuck = stuck & ~states
        deadlock = self._run(stuck, history) if stuck.satisfiable() else None
        marked = [(space & bit).satisfiable() for bit in self._is]
        empty = [(space & bit).satisfiable() for bit in self._not]
        return StateCounts(
            states=space.sat_count(self._count),
            edges=sum(states.sat_count(self._count) for states in able),
            bounds=tuple(map(int, marked)),
            max_token_per_marking=_most_ones(space, self._count),
            dead=dead,
            live=False if dead or deadlock is not None else self._live(first, space, able),
            stable=tuple(place for place in range(self._count) if not (marked[place] and empty[place])),
            deadlock=deadlock,
        )

    def _rule(self, number: int) -> _Rule:
        takes = {place for place, _ in self._net.inputs[number]}
        makes = {place for place, _ in self._net.outputs[number]}
        asked, second = self._all(self._is[place] for place in takes), self._manager.false()
        if any(weight > 1 for _, weight in self._net.inputs[number]):
            asked = self._manager.false()  # it never fires
        if any(weight > 1 for _, weight in self._net.outputs[number]):
            second = self._manager.true()
        # A place that is taken from and put into keeps its one token, and cannot get a second one by that.
        for place in makes - takes:
            second = second | self._is[place]
        return _Rule(
            asked=asked,
            touched=self._all(self._is[place] for place in takes | makes),
            before=self._all([*(self._is[p] for p in takes), *(self._not[p] for p in makes - takes)]),
            after=self._all([*(self._is[p] for p in makes), *(self._not[p] for p in takes - makes)]),
            second=second,
        )

    def _all(self, parts: "Iterable[BDDFunction]") -> "BDDFunction":
        found = self._manager.true()
        for part in parts:
            found = found & part
        return found

    def _forward(self, states: "BDDFunction", history: "list[tuple[int, BDDFunction]] | None" = None) -> "BDDFunction":
        """The markings that can be reached; `history` takes what was known before each transition that found
        something new.
        """
        while True:
            before = states
            for number in self._turn:
                more = states | self._after(number, states)
                # Diagrams that found something are kept, not the edges: a run is worked out backwards from them when
                # there is one to tell.
                if history is not None and more != states:
                    history.append((number, states))
                states = more
            if states == before:
                return states

    def _backward(self, states: "BDDFunction", space: "BDDFunction") -> "BDDFunction":
        """From where in the space they can be reached."""
        while True:
            before = states
            for number in reversed(self._turn):
                states = states | (self._before(number, states) & space)
            if states == before:
                return states

    def _after(self, number: int, states: "BDDFunction") -> "BDDFunction":
        rule = self._rules[number]
        return states.apply_exists(self._and, rule.asked, rule.touched) & rule.after

    def _before(self, number: int, states: "BDDFunction") -> "BDDFunction":
        rule = self._rules[number]
        return states.apply_exists(self._and, rule.after, rule.touched) & rule.before & rule.asked

    def _run(self, goal: "BDDFunction", history: "Sequence[tuple[int, BDDFunction]]") -> tuple[int, ...]:
        """A run to one marking of the goal: back through what was known when each transition found something new."""
        # Bits that are open are chosen as not set. The choice is fixed, so that the same run is told everywhere.
        here, found = goal.pick_cube_dd_set(self._all(self._not)), list[int]()
        for number, known in reversed(history):
            # The marking was not known before that transition fired, so that it was the one that made it. Where it
            # was known, the transition is not needed.
            if not (here & known).satisfiable():
                here = (self._before(number, here) & known).pick_cube_dd_set(self._all(self._not))
                found.append(number)
        return tuple(reversed(found))

    def _live(self, first: "BDDFunction", space: "BDDFunction", able: "Sequence[BDDFunction]") -> bool | None:
        """Whether every transition can fire in each terminal component; None when there are too many of them."""
        left, here, reached = space, first, space
        for _ in range(MAX_COMPONENTS):
            leading = self._backward(here, space)
            # What is reached from here and does not lead back lies outside of this component, so that it is no
            # terminal one. Each such step goes strictly forward, and ends in one that is.
            further = reached & ~leading
            if further.satisfiable():  # not yet in a component that nothing leads out of
                here = further.pick_cube_dd_set(self._all(self._not))
                reached = self._forward(here)
                continue
            if not all((reached & states).satisfiable() for states in able):
                return False
            # All that leads here is settled. A marking that is left leads to another terminal component.
            left = left & ~leading
            if not left.satisfiable():
                return True
            here = left.pick_cube_dd_set(self._all(self._not))
            reached = self._forward(here)
        return None


def _most_ones(states: "BDDFunction", count: int) -> int:
    """The most bits set in any row: the dearest way down the diagram; a bit that is not asked counts as set."""
    most: dict[BDDFunction, int] = {}  # below a node, from its own level on
    waiting = [states]
    while waiting:
        node = waiting[-1]
        below = node.cofactors()
        if below is None:
            most[waiting.pop()] = 0 if node.valid() else -count - 1
            continue
        missing = [each for each in below if each not in most]
        if missing:
            waiting += missing
            continue
        waiting.pop()
        level = _level(node, count)
        high, low = below
        most[node] = max(
            most[high] + _level(high, count) - level,
            most[low] + _level(low, count) - level - 1,
        )
    return most[states] + _level(states, count)


def _level(node: "BDDFunction", count: int) -> int:
    level = node.node_level()
    return count if level is None else level


def order_of(net: Petri) -> list[int]:
    """The places, those of one transition close together: each moves to the middle of its transitions, repeatedly.

    A transition pulls the less the more places it has, so that a join does not draw its branches into each other.
    """
    groups = [
        sorted({place for place, _ in (*takes, *makes)}) for takes, makes in zip(net.inputs, net.outputs, strict=True)
    ]
    member: list[list[int]] = [[] for _ in net.places]
    for number, group in enumerate(groups):
        for place in group:
            member[place].append(number)
    weight = [len(group) ** -2 if group else 0.0 for group in groups]
    order = _walked(net, groups, member)
    best, least = order, _spread(groups, weight, order)
    for _ in range(ROUNDS):
        at = {place: position for position, place in enumerate(order)}
        middle = [sum(at[place] for place in group) / max(len(group), 1) for group in groups]
        pull = {
            place: sum(middle[n] * weight[n] for n in member[place]) / sum(weight[n] for n in member[place])
            if member[place]
            else at[place]
            for place in order
        }
        # Places that are pulled alike keep their order, so that the diagrams have the same size on every machine.
        order = sorted(order, key=lambda place: (pull[place], at[place]))
        spread = _spread(groups, weight, order)
        # The method may swing between two orders for ever; it is stopped when nothing is gained.
        if spread >= least:
            break
        best, least = order, spread
    return best


def _walked(net: Petri, groups: list[list[int]], member: list[list[int]]) -> list[int]:
    """The places as they are met from the marked ones on: through small transitions first, then what was met last."""
    found: dict[int, None] = {}
    first = sorted(range(len(net.places)), key=lambda place: (not net.initial[place], place))
    waiting = [(len(net.places) + 1, number, place) for number, place in enumerate(first)]
    heapify(waiting)
    met = 0
    while waiting:
        place = heappop(waiting)[2]
        if place not in found:
            found[place] = None
            for number in member[place]:
                for each in groups[number]:
                    if each not in found:
                        met -= 1
                        heappush(waiting, (len(groups[number]), met, each))
    return list(found)


def _spread(groups: list[list[int]], weight: list[float], order: list[int]) -> float:
    at = {place: position for position, place in enumerate(order)}
    pairs = zip(groups, weight, strict=True)
    return sum(each * (max(at[p] for p in group) - min(at[p] for p in group)) for group, each in pairs if group)


def _turn_of(net: Petri) -> list[int]:
    """The transitions in the order in which tokens come to them, so that one round carries a token all the way."""
    marked = {place for place, tokens in enumerate(net.initial) if tokens}
    found: dict[int, None] = {}
    asleep = list(range(len(net.transitions)))
    while True:
        able = [number for number in asleep if all(place in marked for place, _ in net.inputs[number])]
        if not able:
            # What is asleep cannot fire by the marked places alone. It is asked all the same, at the end, because
            # this is an order and no proof.
            return [*found, *asleep]
        found.update(dict.fromkeys(able))
        marked.update(place for number in able for place, _ in net.outputs[number])
        asleep = [number for number in asleep if number not in found]
