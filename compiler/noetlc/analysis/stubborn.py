"""The terminal part of a state space without all of it: dead markings, and circles that nothing leads out of.

In each marking only a strong stubborn set is fired (Valmari 1990): with an enabled transition all that compete with it
for a token, with a disabled one all that can bring a token it lacks. Every dead marking is still reached. A transition
that a circle ignores for ever is fired after all ("ignoring problem"), so that every terminal component is seen too:
where a component of the smaller graph has no way out but leaves an enabled transition unfired, that marking is fired in
full.

Where that is too much, dives look for ends: runs that take the first choice everywhere, or the last one, and from each
place on their way another one once. They prove nothing, but find the short ends among the many of a wide fork.
"""

from noetl_ir.records import NamedTuple
from noetlc.analysis.concurrency import bits_of
from noetlc.analysis.packing import Packing, least_bits, packing_of
from noetlc.analysis.petri import Petri, consumers_of, producers_of
from noetlc.analysis.reachability import Graph
from noetlc.ast.components import terminal_components

MAX_BITS = 16
SEEDS = 12
"""How many enabled transitions are tried as the first of a set; a set with one enabled transition ends that."""

SLOW = 500
"""States from which on a round that finds few new ones is one too many."""

MAX_WAY = 4
"""Firings of one dive, for each transition of the net."""


class Terminals(NamedTuple):
    """Where runs end: `dead` states, and `circles`, each a component of states from which nothing leads away.

    `graph` holds the states that were looked at, `complete` says whether that was enough.
    """

    graph: Graph
    dead: tuple[int, ...]
    circles: tuple[tuple[int, ...], ...]
    complete: bool


def terminals_of(net: Petri, limit: int) -> Terminals:
    """The terminal components of a net, with at most `limit` states looked at."""
    return terminals_within(net, limit, None)[0]


def terminals_within(net: Petri, limit: int, steps: int | None) -> tuple[Terminals, int]:
    """The terminal components of a net, with at most `limit` states looked at and `steps` taken; and the steps that it
    took. A step is a transition that is looked at.
    """
    search = Search(net, steps)
    search.grow(limit)
    return search.terminals(), search.steps


class Search:
    """The graph of stubborn sets while it grows; fields that turn out too small are doubled, and it grows anew."""

    def __init__(self, net: Petri, steps: int | None = None) -> None:
        self._net = net
        self._bits = least_bits(net)
        self._allowed = steps
        self._before = 0
        self._search = _Search(packing_of(net, self._bits), steps)

    def grow(self, limit: int) -> None:
        """Grow breadth first until nothing is ignored, or to so many states."""
        self._search.run(limit)
        while self._search.outgrown:
            for place in self._search.outgrown:
                self._bits[place] *= 2
            # A place with so many tokens is most likely unbounded. The search stays unfinished, which every caller
            # reads as `unknown`.
            if max(self._bits) > MAX_BITS:
                return
            # States are integers with fields of the old size, so that none of them can be taken over.
            self._before += self._search.steps
            left = None if self._allowed is None else max(0, self._allowed - self._before)
            self._search = _Search(packing_of(self._net, self._bits), left)
            self._search.run(limit)

    def dive(self, firings: int) -> None:
        """Look for ends, with at most so many firings."""
        if not self._search.outgrown:
            self._search.dive(firings)
            self._search.outgrown = []  # growing comes to it again

    @property
    def steps(self) -> int:
        """How many transitions were looked at."""
        return self._before + self._search.steps

    @property
    def states(self) -> int:
        """How many states it has."""
        return len(self._search.graph.markings)

    @property
    def is_finished(self) -> bool:
        """Whether it holds every terminal component."""
        return self._search.finished

    def terminals(self) -> Terminals:
        """The terminal components that were found."""
        return self._search.terminals()


class _Search:
    """The search with fields of one size. What is enabled in a state is an integer with a bit for each transition."""

    def __init__(self, code: Packing, allowed: int | None = None) -> None:
        net = code.net
        self.steps = 0
        self._allowed = allowed
        self._in_full = 0  # so many states more
        self._code = code
        takers = [sum([1 << each for each in row]) for row in consumers_of(net)]
        makers = [sum([1 << each for each in row]) for row in producers_of(net)]
        self._rivals = [0] * len(net.transitions)
        for number, arcs in enumerate(net.inputs):
            for place, _ in arcs:
                # Who shares an input may take the token away. An enabled transition of a stubborn set comes with all
                # of these, whether they are enabled or not, so that nothing outside of the set can disable it (the
                # strong form of Valmari 1990).
                self._rivals[number] |= takers[place]
        self._asks = [
            # For a disabled transition the makers of any one lacking place will do. That with the fewest of them
            # makes the smallest set.
            sorted([(code.shift[p], (1 << code.bits[p]) - 1, weight, makers[p]) for p, weight in arcs], key=_fewest)
            for arcs in net.inputs
        ]
        self._touching = [sum([1 << each for each in row]) for row in code.touching]
        self._index = {code.initial: 0}
        self._able: list[int] = [sum([1 << each for each in code.enabled(code.initial)])]
        self._grown = 0  # states of which a stubborn set was fired
        self._circles: list[tuple[int, ...]] = []
        self.graph = Graph(code, [code.initial], [[]], [[]], [-1], False, None)
        self.outgrown: list[int] = []
        self.finished = False

    def run(self, limit: int) -> None:
        """Grow until nothing is ignored, or a limit is hit."""
        before = 0
        while self._grow(limit):
            # A stubborn set may go round a circle for ever and never fire what is enabled beside it. Dead markings
            # are found all the same, but the circle would be told as one without an exit.
            ignoring = self._ignoring()
            if not ignoring:
                self.finished = True
                return
            for state in ignoring:
                for transition in bits_of(self._able[state]):
                    # A field that is too small ends this search: the next one has a larger one.
                    if self._fire(state, transition) < 0:
                        self._circles = []
                        return
            # Each round looks at all states. Where it finds one or two more each time, rounds are made fewer: what is
            # found next is fired in full, which is right everywhere.
            states = len(self.graph.markings)
            self.steps += states
            self._in_full = states // 8 if states > SLOW and states - before < states // 8 else 0
            before = states
        # With the limit hit, states that were not looked at have no successors yet. What seems to be a circle that
        # nothing leads out of may have a way out there, so that no circle is told.
        self._circles = []

    def terminals(self) -> Terminals:
        """The terminal components that were found."""
        # Only transitions that are enabled in the net were fired. A dead state is one of the net also where the
        # search was cut off; that there are no others is known only when it is finished.
        dead = tuple(state for state, able in enumerate(self._able) if not able)
        return Terminals(self.graph._replace(complete=self.finished), dead, tuple(self._circles), self.finished)

    def dive(self, firings: int) -> None:
        """Look for dead markings, with at most so many firings."""
        # Two dives see both extremes of a fork: the first choice everywhere, and the last one everywhere.
        for last in (False, True):
            way = [0]
            firings -= self._down(way, last, firings // 2)
            for state in way[:-1]:
                choices = self._choices(state)
                for choice in choices[:-1] if last else choices[1:]:
                    after = self._fire(state, choice)
                    if after >= 0 and firings > 0:
                        firings -= self._down([after], last, firings)
                if firings <= 0:
                    return

    def _down(self, way: list[int], last: bool, firings: int) -> int:
        """Go on from the end of a way until nothing can fire; the number of firings that it took."""
        met = set(way)
        for count in range(min(firings, MAX_WAY * len(self._rivals))):
            state = way[-1]
            if not self._able[state]:
                return count
            choices = self._choices(state)
            for choice in reversed(choices) if last else choices:
                after = self._fire(state, choice)
                # A dive that goes round would spend all its firings in one circle.
                if after >= 0 and after not in met:
                    break
            else:
                return count + 1
            met.add(after)
            way.append(after)
        return firings

    def _choices(self, state: int) -> list[int]:
        return list(bits_of(self._stubborn(self.graph.markings[state], self._able[state])))

    def _grow(self, limit: int) -> bool:
        graph = self.graph
        while self._grown < len(graph.markings):
            state, able = self._grown, self._able[self._grown]
            chosen = able if self._in_full else self._stubborn(graph.markings[state], able)
            self._in_full = max(0, self._in_full - 1)
            for transition in bits_of(chosen):
                if self._fire(state, transition) < 0:
                    return False
            self._grown += 1
            # States of one net cost a hundred times those of another: where little may be spent, what is counted is
            # what they cost.
            if len(graph.markings) > limit or (self._allowed is not None and self.steps > self._allowed):
                return False
        return True

    def _fire(self, state: int, transition: int) -> int:
        """The state after a firing, -1 where a field is too small for it."""
        graph, code = self.graph, self._code
        row = graph.enabled[state]
        # Dives and the search share one graph. An edge that a dive has made is not made a second time.
        if transition in row:
            return graph.targets[state][row.index(transition)]
        after = graph.markings[state] + code.delta[transition]
        to = self._index.get(after)
        if to is None:
            if after & code.guard:
                self.outgrown = code.outgrown(after)
                return -1
            to = self._index[after] = len(graph.markings)
            graph.markings.append(after)
            graph.parents.append(state)
            graph.enabled.append([])
            graph.targets.append([])
            # Only transitions with an input that changed are asked again, so that a firing costs what is around it
            # and not the whole net.
            able = self._able[state] & ~self._touching[transition]
            need, want = code.need, code.want
            for each in code.touching[transition]:
                if (after + need[each]) & want[each] == want[each]:
                    able |= 1 << each
            self._able.append(able)
            self.steps += len(code.touching[transition])
        row.append(transition)
        graph.targets[state].append(to)
        return to

    def _stubborn(self, marking: int, able: int) -> int:
        """The enabled transitions of the smallest stubborn set that was found."""
        # With one enabled transition, or none, there is nothing to choose.
        if not able & (able - 1):
            return able
        best, size, tried = able, able.bit_count(), 0
        # The smallest set is hard to find and not needed, since every stubborn set is right. The lowest numbers are
        # tried, and the first of equal sets stays: the graph is the same on every machine.
        for seed in [1 << each for each, _ in zip(bits_of(able), range(SEEDS), strict=False)]:
            chosen = self._closed(marking, seed, able, size, tried)
            tried |= seed
            count = chosen.bit_count()
            if count < size:
                best, size = chosen, count
                if size == 1:
                    break
        return best

    def _closed(self, marking: int, seed: int, able: int, most: int, tried: int) -> int:
        """The enabled transitions of the stubborn set around a seed; cut off once it is no better than `most`, which
        those around the seeds that were `tried` are not.
        """
        rivals, asks = self._rivals, self._asks
        seen = todo = seed
        while todo:
            # The set around what is in a set is a part of it: it is no smaller than that one, which was no better.
            if seen & tried:
                return able
            self.steps += 1
            # What is enabled brings in its rivals, with which a set soon is no better.
            first = todo & able or todo
            here = first & -first
            number = here.bit_length() - 1
            todo ^= here
            if able & here:
                fresh = rivals[number] & ~seen
                seen |= fresh
                # A set of everything enabled is always stubborn, so that giving up here loses nothing but time.
                if (seen & able).bit_count() >= most:
                    return able
            else:
                for shift, field, weight, makers in asks[number]:
                    if (marking >> shift & field) < weight:
                        fresh = makers & ~seen
                        break
                else:
                    raise AssertionError("a transition that is not enabled lacks a token")
                seen |= fresh
            todo |= fresh
        return seen & able

    def _ignoring(self) -> list[int]:
        """A marking in each terminal component that leaves something enabled unfired; notes the true circles."""
        found: list[int] = []
        self._circles = []
        # Terminal components are enough: from every other one a terminal one is reached, and what stays enabled on
        # the way is fired there at the latest.
        for members in terminal_components(self.graph.targets):
            fired = 0
            for state in members:
                for each in self.graph.enabled[state]:
                    fired |= 1 << each
            ignoring = [state for state in members if self._able[state] & ~fired]
            if ignoring:
                found.append(ignoring[0])
            # A component in which nothing fires is one dead state.
            elif fired:
                self._circles.append(tuple(sorted(members)))
        return found


def _fewest(ask: tuple[int, int, int, int]) -> int:
    return ask[3].bit_count()
