"""The terminal part of a state space without all of it: dead markings, and circles that nothing leads out of.

In each marking only a strong stubborn set is fired (Valmari 1990): with an enabled transition all that compete with it
for a token, with a disabled one all that can bring a token it lacks. Every dead marking is still reached. A transition
that a circle ignores for ever is fired after all ("ignoring problem"), so that every terminal component is seen too:
where a component of the smaller graph has no way out but leaves an enabled transition unfired, that marking is fired in
full.
"""

from noetl_ir.records import NamedTuple
from noetlc.analysis.packing import Packing, least_bits, packing_of
from noetlc.analysis.petri import Petri, consumers_of, producers_of
from noetlc.analysis.reachability import Graph
from noetlc.ast.components import terminal_components

MAX_BITS = 16
SEEDS = 12
"""How many enabled transitions are tried as the first of a set; a set with one enabled transition ends that."""


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
    bits = least_bits(net)
    while True:
        search = _Search(packing_of(net, bits), limit)
        search.run()
        if not search.outgrown:
            return search.terminals()
        for place in search.outgrown:
            bits[place] *= 2
        if max(bits) > MAX_BITS:
            return search.terminals()


class _Search:
    """The graph of stubborn sets while it grows."""

    def __init__(self, code: Packing, limit: int) -> None:
        self._code = code
        self._limit = limit
        self._takers = consumers_of(code.net)
        self._makers = producers_of(code.net)
        self._index = {code.initial: 0}
        self._graph = Graph(code, [code.initial], [], [], [-1], False, None)
        self._able: list[list[int]] = [code.enabled(code.initial)]
        self.outgrown: list[int] = []
        self._circles: list[tuple[int, ...]] = []
        self._finished = False

    def run(self) -> None:
        """Grow until nothing is ignored, or a limit is hit."""
        while self._grow():
            ignoring = self._ignoring()
            if not ignoring:
                self._finished = True
                return
            for state in ignoring:
                self._fire(state, self._able[state])

    def terminals(self) -> Terminals:
        """The markings that were found."""
        dead = tuple(state for state in range(len(self._graph.enabled)) if not self._able[state])
        return Terminals(self._graph._replace(complete=self._finished), dead, tuple(self._circles), self._finished)

    def _grow(self) -> bool:
        graph = self._graph
        while len(graph.enabled) < len(graph.markings):
            state = len(graph.enabled)
            graph.enabled.append([])
            graph.targets.append([])
            self._fire(state, self._stubborn(graph.markings[state], self._able[state]))
            if self.outgrown or len(graph.markings) > self._limit:
                return False
        return not self.outgrown

    def _fire(self, state: int, chosen: list[int]) -> None:
        graph, code = self._graph, self._code
        marking, row = graph.markings[state], graph.enabled[state]
        for transition in [each for each in chosen if each not in row]:
            after = marking + code.delta[transition]
            to = self._index.get(after)
            if to is None:
                if after & code.guard:
                    self.outgrown = code.outgrown(after)
                    return
                to = self._index[after] = len(graph.markings)
                graph.markings.append(after)
                graph.parents.append(state)
                touching = code.touching[transition]
                able = [each for each in self._able[state] if each not in touching]
                able += [each for each in touching if (after + code.need[each]) & code.want[each] == code.want[each]]
                self._able.append(able)
            row.append(transition)
            graph.targets[state].append(to)

    def _stubborn(self, marking: int, able: list[int]) -> list[int]:
        if len(able) < 2:
            return able
        enabled = frozenset(able)
        best = able
        for seed in able[:SEEDS]:
            chosen = self._closed(marking, seed, enabled, len(best))
            if len(chosen) < len(best):
                best = chosen
                if len(best) == 1:
                    break
        return best

    def _closed(self, marking: int, seed: int, enabled: frozenset[int], most: int) -> list[int]:
        """The enabled transitions of the stubborn set around `seed`; cut off once it is no better than `most`."""
        inputs, takers = self._code.net.inputs, self._takers
        seen = {seed}
        waiting = [seed]
        chosen: list[int] = []
        while waiting:
            here = waiting.pop()
            if here in enabled:
                chosen.append(here)
                if len(chosen) >= most:
                    return chosen
                more = [each for place, _ in inputs[here] for each in takers[place]]
            else:
                more = self._bringers(marking, here)
            for each in more:
                if each not in seen:
                    seen.add(each)
                    waiting.append(each)
        return chosen

    def _bringers(self, marking: int, transition: int) -> list[int]:
        """The transitions that can put a token into one of the places in which it lacks one: the place with the
        fewest such.
        """
        lacking = [
            self._makers[place]
            for place, weight in self._code.net.inputs[transition]
            if self._code.tokens(marking, place) < weight
        ]
        return min(lacking, key=len)

    def _ignoring(self) -> list[int]:
        """A marking in each terminal component that leaves something enabled unfired; notes the true circles."""
        found: list[int] = []
        self._circles = []
        for members in terminal_components(self._graph.targets):
            fired = {each for state in members for each in self._graph.enabled[state]}
            ignoring = [state for state in members if not fired.issuperset(self._able[state])]
            if ignoring:
                found.append(ignoring[0])
            elif fired:
                self._circles.append(tuple(sorted(members)))
        return found
