"""The whole space of a net in numbers: states, edges, bounds, and the properties that go with them.

Bounded nets are explored to the end, and safe ones whose space is too large for that become a decision diagram
(`symbolic`). For unbounded ones there are, in this order, a pump as the witness, Karp and
Miller's tree, a search for a dead marking among the first states, and the projection to the bounded places, which can
prove that there is none. What a limit left open is None.
"""

from noetl_ir.collecting import uncollected
from noetl_ir.records import NamedTuple
from noetlc.analysis.coverability import Coverability, coverability_of
from noetlc.analysis.petri import Petri
from noetlc.analysis.properties import Properties, properties_of
from noetlc.analysis.reachability import Graph, Pump, explored, graph_of
from noetlc.analysis.symbolic import CountingStopped, StateCounts, state_counts

QUICK_TREE = 300
"""Nodes of the tree that are tried before any state is enumerated: most unbounded nets show it within a few."""

FIRST_STATES = 20_000
"""States of an unbounded net among which a dead marking is looked for."""


class Census(NamedTuple):
    """The numbers of a net. `states` is None when a limit was hit; `pump` tells that there is no end of them.

    `deadlock` is a run to a dead marking, a shortest one unless the space was too large to list; None without one. What
    is unknown is named in `open`, and `why` says what stopped the count.
    """

    net: Petri
    states: int | None
    edges: int | None
    bounds: tuple[int | None, ...]
    max_token_per_marking: int | None
    dead: tuple[int, ...]
    live: bool | None
    stable: tuple[int, ...]
    deadlock: tuple[int, ...] | None
    pump: Pump | None
    open: frozenset[str]
    limit: int
    why: str = ""

    @property
    def max_token_in_place(self) -> int | None:
        """The most tokens that any place holds; None without a bound, or when that is open."""
        return None if None in self.bounds else max((each for each in self.bounds if each is not None), default=0)


def census_of(net: Petri, limit: int) -> Census:
    """The census of a net, with at most `limit` states."""
    with uncollected():
        # Most unbounded nets show their pump in a small tree. Without it the search would list states up to its limit
        # first.
        quick = coverability_of(net, QUICK_TREE) if _may_grow(net) else None
        pump = quick.pump if quick is not None else None
        if pump is None:
            graph = graph_of(net, limit)
            if graph.complete:
                return _counted(net, graph, properties_of(graph), limit)
            if graph.pump is None:
                return _large(net, graph, limit)
            pump = graph.pump
        return _unbounded(net, quick or coverability_of(net, QUICK_TREE), pump, limit)


def _may_grow(net: Petri) -> bool:
    """Whether some transition makes more tokens than it takes; without one no net is unbounded."""
    return any(
        sum(weight for _, weight in outputs) > sum(weight for _, weight in inputs)
        for inputs, outputs in zip(net.inputs, net.outputs, strict=True)
    )


def _counted(net: Petri, graph: Graph, found: Properties, limit: int) -> Census:
    return _census(net, found, graph.path_to(found.deadlock) if found.deadlock >= 0 else None, frozenset(), limit)


def _census(
    net: Petri, found: Properties | StateCounts, deadlock: tuple[int, ...] | None, unknown: frozenset[str], limit: int
) -> Census:
    return Census(
        net=net,
        states=found.states,
        edges=found.edges,
        bounds=found.bounds,
        max_token_per_marking=found.max_token_per_marking,
        dead=found.dead,
        live=found.live,
        stable=found.stable,
        deadlock=deadlock,
        pump=None,
        open=unknown,
        limit=limit,
    )


def _large(net: Petri, graph: Graph, limit: int) -> Census:
    """A net with more states than the limit: as a decision diagram, if that is possible."""
    found = state_counts(net)
    # No diagram could be made, so that the census says what the cut graph has seen, and the rest is open.
    if isinstance(found, CountingStopped):
        return _cut(net, graph, limit)._replace(why=f"{limit} states were seen; {found.why}")
    return _census(net, found, found.deadlock, frozenset({"live"} if found.live is None else ()), limit)


def _cut(net: Petri, graph: Graph, limit: int) -> Census:
    """The census of a graph that was cut off: only what it has seen."""
    # A dead marking that was seen refutes; that none was seen proves nothing here.
    deadlock = _first_dead(graph)
    dead = _never_enabled(net)
    open_ = {"states", "edges", "bounds", "stable"}
    if _may_grow(net):
        open_.add("bounded")
    if deadlock is None:
        open_.add("deadlock")
    fired = {number for row in graph.enabled for number in row}
    if not dead and len(fired) < len(net.transitions):
        open_.add("dead")
    live = False if dead or deadlock is not None else None
    if live is None:
        open_.add("live")
    unknown = (None,) * len(net.places)
    return Census(net, None, None, unknown, None, dead, live, (), deadlock, None, frozenset(open_), limit)


def _unbounded(net: Petri, quick: Coverability, pump: Pump, limit: int) -> Census:
    dead = _never_enabled(net)
    tree = quick
    if not quick.complete and not dead:
        tree = coverability_of(net, 10 * QUICK_TREE)
    if tree.complete:
        dead = tuple(number for number in range(len(net.transitions)) if number not in tree.fired)
    deadlock = _first_dead(explored(net, min(limit, FIRST_STATES)))
    open_ = set[str]()
    if deadlock is None:
        tree = tree if tree.complete else coverability_of(net, 10 * QUICK_TREE)
        if not (tree.complete and _never_dead(net, tree)):
            open_.add("deadlock")
    if not tree.complete:
        open_ |= {"bounds"} if dead else {"bounds", "dead"}
    live = False if dead or deadlock is not None else None
    if live is None:
        open_.add("live")
    bounds = tuple(tree.bound(place) for place in range(len(net.places)))
    return Census(net, None, None, bounds, None, dead, live, (), deadlock, pump, frozenset(open_ | {"stable"}), limit)


def _first_dead(graph: Graph) -> tuple[int, ...] | None:
    expanded = len(graph.targets) if graph.complete else len(graph.targets) - 1
    state = next((state for state in range(expanded) if not graph.enabled[state]), -1)
    return graph.path_to(state) if state >= 0 else None


def _never_enabled(net: Petri) -> tuple[int, ...]:
    """The transitions with an input that no transition which could fire ever puts a token into."""
    marked = {place for place, tokens in enumerate(net.initial) if tokens}
    asleep = list(range(len(net.transitions)))
    woken = True
    while woken:
        woken = False
        still = []
        for number in asleep:
            if all(place in marked for place, _ in net.inputs[number]):
                marked.update(place for place, _ in net.outputs[number])
                woken = True
            else:
                still.append(number)
        asleep = still
    return tuple(asleep)


def _never_dead(net: Petri, tree: Coverability) -> bool:
    """Whether some transition that needs no unbounded place is always enabled, even where those are left out."""
    bounded = [place for place in range(len(net.places)) if tree.bound(place) is not None]
    number = {place: index for index, place in enumerate(bounded)}

    def kept(arcs: tuple[tuple[int, int], ...]) -> tuple[tuple[int, int], ...]:
        return tuple((number[place], weight) for place, weight in arcs if place in number)

    less = Petri(
        net.name,
        tuple(net.places[place] for place in bounded),
        net.transitions,
        tuple(map(kept, net.inputs)),
        tuple(map(kept, net.outputs)),
        tuple(net.initial[place] for place in bounded),
    )
    graph = graph_of(less, FIRST_STATES)
    # Without its unbounded places the net can do more, and has finitely many markings. A transition that needs none
    # of these places is enabled in the whole net whenever it is here.
    sure = {index for index, arcs in enumerate(net.inputs) if len(arcs) == len(less.inputs[index])}
    return graph.complete and all(not sure.isdisjoint(row) for row in graph.enabled)
