"""The coverability tree of Karp and Miller (1969), cut by subsumption: exact on unbounded nets too.

A tree of markings in which a place may hold ω, arbitrarily many: when a marking lies above one of its ancestors,
what grew between them gets ω. A new marking that a marking of the tree already covers is not followed. Nodes that are
covered later stay in the tree and are followed: Reynier and Servais (2011) show what goes wrong otherwise.

Markings are integers with fields of equal size (`packing`); ω is a full field. `a` covers `b` exactly when every
guard bit survives in `(a | guard) - b`: one subtraction for the whole marking.
"""

from noetl_ir.records import NamedTuple
from noetlc.analysis.packing import Packing, packing_of
from noetlc.analysis.petri import Petri
from noetlc.analysis.reachability import Pump

BITS = 15
"""Value bits of a field; a place that holds more without being unbounded ends the search."""

COMPARED = 250
"""Comparisons of markings that a tree may cost for each of its nodes."""


class Coverability(NamedTuple):
    """`nodes` are the largest markings, None for ω; every reachable marking lies below one when `complete`.

    `fired` are the transitions that can fire. `pump` is set as soon as a place has no bound.
    """

    nodes: tuple[tuple[int | None, ...], ...]
    fired: frozenset[int]
    pump: Pump | None
    complete: bool

    def bound(self, place: int) -> int | None:
        """The most tokens of a place, None for no bound."""
        tokens = [node[place] for node in self.nodes]
        return None if None in tokens else max(each for each in tokens if each is not None)


class _Tree:
    """The tree: for each node its marking, its parent and the transition between, -1 at the root."""

    def __init__(self, code: Packing) -> None:
        self.code = code
        self.markings = [code.initial]
        self.parents = [-1]
        self.via = [-1]
        self.largest = [code.initial]
        self.pump: Pump | None = None
        self.compared = 0

    def covers(self, marking: int) -> bool:
        """Whether a marking of the tree covers this one: whatever follows from it then follows from that."""
        guard = self.code.guard
        # Comparisons, and not nodes, are what a large tree costs. They are counted so that a limit of nodes also
        # bounds the work.
        self.compared += len(self.largest)
        return any(((old | guard) - marking) & guard == guard for old in self.largest)

    def add_node(self, here: int, transition: int, marking: int) -> None:
        """Add a child of the node `here`, reached by a transition."""
        guard = self.code.guard
        raised = marking | guard
        # Only the largest markings are compared with. A smaller one stays in the tree and is followed all the same
        # (Reynier and Servais 2011).
        self.largest = [old for old in self.largest if (raised - old) & guard != guard]
        self.largest.append(marking)
        self.markings.append(marking)
        self.parents.append(here)
        self.via.append(transition)

    def accelerated(self, here: int, transition: int, marking: int) -> int:
        """The marking with ω in each field that grew over an ancestor which the marking covers."""
        guard, at = self.code.guard, here
        while at >= 0:
            before = self.markings[at]
            if marking != before and ((marking | guard) - before) & guard == guard:
                more = _grown(marking - before, guard)
                # Where the grown places hold ω already, nothing is new.
                if more & ~marking:
                    if self.pump is None:
                        self.pump = self._pump(here, transition, at, more)
                    marking |= more
            at = self.parents[at]
        return marking

    def _pump(self, here: int, transition: int, base: int, more: int) -> Pump:
        """The pump that the first acceleration shows. No ω was there before, so that its path is a run of the net."""
        cycle, path = [transition], []
        while here != base:
            cycle.append(self.via[here])
            here = self.parents[here]
        while here > 0:
            path.append(self.via[here])
            here = self.parents[here]
        places = tuple(place for place, at in enumerate(self.code.shift) if more >> at & 1)
        return Pump(tuple(reversed(path)), tuple(reversed(cycle)), places)


def coverability_of(net: Petri, limit: int) -> Coverability:
    """The tree, or the first `limit` nodes of it."""
    code = packing_of(net, [BITS] * len(net.places))
    full = _full_fields(code)
    tree = _Tree(code)
    fired: set[int] = set()
    waiting = [0]
    # A full field means ω. A number of tokens that comes close to it could be taken for ω, and a bounded net told as
    # unbounded.
    complete = max(net.initial, default=0) < 1 << (BITS - 1)
    while waiting and complete:
        here = waiting.pop()
        marking = tree.markings[here]
        omega = _grown_full(marking, full, code.guard)
        for transition, (need, want) in enumerate(zip(code.need, code.want, strict=True)):
            if (marking + need) & want != want:
                continue
            fired.add(transition)
            # Whatever a transition takes from ω or adds to it, it is ω again; the guard bit that the sum may have set
            # above it is taken back.
            after = (marking + code.delta[transition]) | omega
            after &= ~(code.guard & (omega << 1))
            if after & code.guard:
                # A place has more tokens than fit without being unbounded. Going on would count wrongly, so that the
                # answer is open.
                complete = False
                break
            if not tree.covers(after):
                waiting.append(len(tree.markings))
                tree.add_node(here, transition, tree.accelerated(here, transition, after))
        complete = complete and len(tree.markings) <= limit and tree.compared <= COMPARED * limit
    nodes = tuple(_named(code, marking) for marking in tree.largest)
    return Coverability(nodes, frozenset(fired), tree.pump, complete)


def _grown(difference: int, guard: int) -> int:
    """Full fields where the difference has a token: `difference` has no field below zero."""
    filled = difference + (guard - (guard >> BITS))  # adds 2^bits - 1 to each field: the guard bit says "not zero"
    some = filled & guard
    return some - (some >> BITS)


def _full_fields(code: Packing) -> int:
    return code.guard - (code.guard >> BITS)


def _grown_full(marking: int, full: int, guard: int) -> int:
    """The fields of a marking that are full: those that one more token would overflow."""
    some = (marking + (guard >> BITS)) & guard
    return some - (some >> BITS)


def _named(code: Packing, marking: int) -> tuple[int | None, ...]:
    top = (1 << BITS) - 1
    return tuple(None if tokens == top else tokens for tokens in code.marking(marking))
