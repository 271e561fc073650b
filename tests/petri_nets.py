"""Random place/transition nets, and a second, naive explorer for them: dictionaries, no packing, no reduction.

It is written to be believed: one marking at a time, every definition spelled out as in a textbook, and no code of the
product's analyses.
"""

from collections import deque
from collections.abc import Iterator
from typing import NamedTuple

from hypothesis import strategies as st

from noetlc.analysis.petri import Petri, PetriMarking

Edges = dict[PetriMarking, list[tuple[int, PetriMarking]]]


def is_enabled(net: Petri, marking: PetriMarking, transition: int) -> bool:
    """Whether the transition may fire."""
    return all(marking[place] >= weight for place, weight in net.inputs[transition])


def net_of(transitions: str, initial: str, name: str = "n") -> Petri:
    """A net written as `a + 2·b → c; c → ` and an initial marking `a + b`."""
    rows = [tuple(_side(side) for side in row.split("→")) for row in transitions.split(";")]
    marked = _side(initial)
    places = sorted({place for row in rows for side in row for place in side} | set(marked))
    number = {place: index for index, place in enumerate(places)}

    def arcs(side: dict[str, int]) -> tuple[tuple[int, int], ...]:
        return tuple(sorted((number[place], weight) for place, weight in side.items()))

    return Petri(
        name,
        tuple(places),
        tuple(f"t{index}" for index in range(len(rows))),
        tuple(arcs(row[0]) for row in rows),
        tuple(arcs(row[1]) for row in rows),
        tuple(marked.get(place, 0) for place in places),
    )


def _side(text: str) -> dict[str, int]:
    found: dict[str, int] = {}
    for part in text.split("+"):
        weight, _, place = part.strip().rpartition("·")
        if place:
            found[place] = found.get(place, 0) + int(weight or 1)
    return found


@st.composite
def nets(draw: st.DrawFn, *, most_places: int = 6, most_transitions: int = 7, most_weight: int = 2) -> Petri:
    """Any small net: arcs with weights, sources, sinks, self-loops, unmarked places."""
    places = draw(st.integers(1, most_places))
    side = st.dictionaries(st.integers(0, places - 1), st.integers(1, most_weight), max_size=3)
    rows = draw(st.lists(st.tuples(side, side), min_size=1, max_size=most_transitions))
    return Petri(
        "random",
        tuple(f"p{number}" for number in range(places)),
        tuple(f"t{number}" for number in range(len(rows))),
        tuple(tuple(sorted(inputs.items())) for inputs, _ in rows),
        tuple(tuple(sorted(outputs.items())) for _, outputs in rows),
        tuple(draw(st.lists(st.integers(0, 2), min_size=places, max_size=places))),
    )


@st.composite
def safe_like_nets(draw: st.DrawFn) -> Petri:
    """Nets that rarely grow: mostly one token in, one out, as pipelines and routers are; forks and joins between."""
    places = draw(st.integers(2, 8))
    place = st.integers(0, places - 1)
    one = st.frozensets(place, min_size=1, max_size=1)
    some = st.frozensets(place, max_size=2)
    rows = draw(
        st.lists(st.one_of(st.tuples(one, one), st.tuples(one, some), st.tuples(some, one)), min_size=2, max_size=9)
    )
    marked = draw(place)
    return Petri(
        "random",
        tuple(f"p{number}" for number in range(places)),
        tuple(f"t{number}" for number in range(len(rows))),
        tuple(tuple((each, 1) for each in sorted(inputs)) for inputs, _ in rows),
        tuple(tuple((each, 1) for each in sorted(outputs)) for _, outputs in rows),
        tuple(int(number == marked) for number in range(places)),
    )


class Space(NamedTuple):
    """Every marking with what may fire there."""

    net: Petri
    edges: Edges

    def dead(self) -> set[PetriMarking]:
        """Markings in which nothing can fire."""
        return {marking for marking, row in self.edges.items() if not row}

    def fired(self) -> set[int]:
        """The transitions that can fire."""
        return {transition for row in self.edges.values() for transition, _ in row}

    def from_(self, start: PetriMarking) -> set[PetriMarking]:
        """The markings that can be reached from a marking."""
        found, waiting = {start}, [start]
        while waiting:
            for _, after in self.edges[waiting.pop()]:
                if after not in found:
                    found.add(after)
                    waiting.append(after)
        return found

    def terminal(self) -> set[frozenset[PetriMarking]]:
        """The sets of markings that are reached from each other and that nothing leads out of."""
        reach = {marking: self.from_(marking) for marking in self.edges}
        return {
            frozenset(reach[marking])
            for marking in self.edges
            if all(marking in reach[other] for other in reach[marking])
        }

    def is_live(self) -> bool:
        """Whether from every marking every transition can still fire."""
        everything = set(range(len(self.net.transitions)))
        return all(
            everything == {transition for other in self.from_(marking) for transition, _ in self.edges[other]}
            for marking in self.edges
        )


def space_of(net: Petri, limit: int) -> Space | None:
    """All markings; None when there are more than `limit`."""
    edges: Edges = {}
    waiting = deque([net.initial])
    while waiting:
        here = waiting.popleft()
        if here in edges:
            continue
        edges[here] = list(_following(net, here))
        waiting.extend(after for _, after in edges[here])
        if len(edges) > limit:
            return None
    return Space(net, edges)


def _following(net: Petri, marking: PetriMarking) -> Iterator[tuple[int, PetriMarking]]:
    for number in range(len(net.transitions)):
        left = dict(enumerate(marking))
        for place, weight in net.inputs[number]:
            left[place] -= weight
        if min(left.values(), default=0) < 0:
            continue
        for place, weight in net.outputs[number]:
            left[place] += weight
        yield number, tuple(left[place] for place in range(len(marking)))
