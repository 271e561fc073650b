"""A place/transition net as all analyses see it: integers for places and transitions, weighted arcs, a marking."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, TypeAlias

from noetl_ir.records import NamedTuple

if TYPE_CHECKING:  # lint reads no nets from XML
    from noetlc.source.pnml_reader import WrittenNet

PetriArcs: TypeAlias = tuple[tuple[int, int], ...]
"""(place, weight) pairs, each place once, sorted by place; weights are at least 1."""

PetriMarking: TypeAlias = tuple[int, ...]
"""Tokens by place."""


class Petri(NamedTuple):
    """A net: the ids of its places and transitions, the arcs of each transition, the initial marking."""

    name: str
    places: tuple[str, ...]
    transitions: tuple[str, ...]
    inputs: tuple[PetriArcs, ...]
    outputs: tuple[PetriArcs, ...]
    initial: PetriMarking


def petri_of(written: "WrittenNet") -> Petri:
    """The net that a PNML file holds. Elements go by their ids, which are unique; names need not be."""
    places = {node.id: number for number, node in enumerate(written.places)}
    transitions = {node.id: number for number, node in enumerate(written.transitions)}
    inputs: list[list[tuple[int, int]]] = [[] for _ in transitions]
    outputs: list[list[tuple[int, int]]] = [[] for _ in transitions]
    for source, target, weight in written.arcs:
        if source in places:
            inputs[transitions[target]].append((places[source], weight))
        else:
            outputs[transitions[source]].append((places[target], weight))
    return Petri(
        written.name,
        tuple(places),
        tuple(transitions),
        tuple(map(arcs_of, inputs)),
        tuple(map(arcs_of, outputs)),
        tuple(node.tokens for node in written.places),
    )


def arcs_of(pairs: Iterable[tuple[int, int]]) -> PetriArcs:
    """Arcs in their one form; several between the same two nodes add up."""
    found: dict[int, int] = {}
    for place, weight in pairs:
        found[place] = found.get(place, 0) + weight
    # Sorted, so that equal sides are equal tuples: reductions and joins of equal arcs compare them.
    return tuple(sorted((place, weight) for place, weight in found.items() if weight))


def effect_of(net: Petri, transition: int) -> dict[int, int]:
    """Place → how many tokens more it has after the transition fired; places that do not change are left out."""
    change = dict(net.outputs[transition])
    for place, weight in net.inputs[transition]:
        change[place] = change.get(place, 0) - weight
    return {place: count for place, count in change.items() if count}


def is_enabled(net: Petri, marking: PetriMarking, transition: int) -> bool:
    """Whether a transition may fire."""
    return all(marking[place] >= weight for place, weight in net.inputs[transition])


def fired(net: Petri, marking: PetriMarking, transition: int) -> PetriMarking:
    """The marking after an enabled transition."""
    after = list(marking)
    for place, weight in net.inputs[transition]:
        after[place] -= weight
    for place, weight in net.outputs[transition]:
        after[place] += weight
    return tuple(after)


def consumers_of(net: Petri) -> list[list[int]]:
    """Place → the transitions that take from it."""
    return _by_place(len(net.places), net.inputs)


def producers_of(net: Petri) -> list[list[int]]:
    """Place → the transitions that put into it."""
    return _by_place(len(net.places), net.outputs)


def _by_place(count: int, sides: tuple[PetriArcs, ...]) -> list[list[int]]:
    found: list[list[int]] = [[] for _ in range(count)]
    for transition, arcs in enumerate(sides):
        for place, _ in arcs:
            found[place].append(transition)
    return found
