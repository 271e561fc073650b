"""The net of a plan in columns: one sequence for each field, indexed by the number of a place or transition.

A run reads a few fields of each place and transition that it comes to, mostly once. Making the whole row (`Place`,
`Transition`), with its name and its position in the source, would cost more than deciding about it.
"""

from array import array
from collections.abc import Callable, Sequence
from itertools import accumulate, compress
from typing import TypeAlias, TypeVar, cast

from noetl.engine.marking import Moves
from noetl_ir.net import Arc, Net, PlaceClass, Transition, Trigger
from noetl_ir.plan_format.packed import PackedTable
from noetl_ir.records import NamedTuple

_R = TypeVar("_R")
_F = TypeVar("_F")
_Arcs: TypeAlias = "tuple[Sequence[int], Sequence[int], Sequence[object]]"


class PlaceColumns(NamedTuple):
    """The fields of the places that decisions ask, named as those of `noetl_ir.net.Place`."""

    roles: Sequence[str]
    steps: Sequence[int]
    tasks: Sequence[int]
    levels: Sequence[int]


class Transitions(NamedTuple):
    """The fields of the transitions that decisions ask, named as those of `noetl_ir.net.Transition`; `by_itself` tells
    which fire without a word from outside.
    """

    roles: Sequence[str]
    by_itself: bytes
    guards: Sequence[int]
    faults: Sequence[int]
    steps: Sequence[int]
    tasks: Sequence[int]
    levels: Sequence[int]
    arcs: Sequence[int]
    outcomes: Sequence[str]


class Columns:
    """The columns of a net: places, transitions, and what firings move."""

    __slots__ = ("_net", "moves", "places", "transitions")

    def __init__(self, net: Net) -> None:
        self._net = net
        rows = net.places
        self.places = PlaceColumns(
            field(rows, 2, lambda place: place.role),
            _numbers(rows, 3, lambda place: place.step),
            _numbers(rows, 4, lambda place: place.task),
            _numbers(rows, 5, lambda place: place.level),
        )
        self.transitions = _transitions(net.transitions)
        self.moves = _moves(net, self.transitions.by_itself)

    def sources(self, number: int) -> Sequence[int]:
        """The places that a transition takes from, in the order of its arcs."""
        place = self.moves.sources[number]
        return (place,) if place >= 0 else [arc.place for arc in self._net.transitions[number].inputs]

    def targets(self, number: int) -> Sequence[int]:
        """The places that a transition puts tokens into, in the order of its arcs."""
        place = self.moves.targets[number]
        return (place,) if place >= 0 else [arc.place for arc in self._net.transitions[number].outputs]


def field(rows: Sequence[_R], number: int, of: Callable[[_R], _F]) -> Sequence[_F]:
    """One field of all rows, `number` in their order: of a packed table no row is made for it."""
    return cast("Sequence[_F]", rows.field(number)) if isinstance(rows, PackedTable) else [of(row) for row in rows]


def _numbers(rows: Sequence[_R], number: int, of: Callable[[_R], int]) -> Sequence[int]:
    """One field of whole numbers, as it lies in memory."""
    return rows.numbers(number) if isinstance(rows, PackedTable) else [of(row) for row in rows]


def _transitions(rows: Sequence[Transition]) -> Transitions:
    now, ctx = Trigger.NOW, Trigger.CTX  # to hash one, or find it by name, takes longer
    triggers = field(rows, 1, lambda transition: transition.trigger)
    return Transitions(
        field(rows, 2, lambda transition: transition.role),
        bytes([trigger is now or trigger is ctx for trigger in triggers]),
        _numbers(rows, 5, lambda transition: transition.guard),
        _numbers(rows, 6, lambda transition: transition.fault),
        _numbers(rows, 7, lambda transition: transition.step),
        _numbers(rows, 8, lambda transition: transition.task),
        _numbers(rows, 9, lambda transition: transition.level),
        _numbers(rows, 10, lambda transition: transition.arc),
        field(rows, 11, lambda transition: transition.outcome),
    )


def _arcs(rows: Sequence[Transition], number: int, of: Callable[[Transition], tuple[Arc, ...]]) -> _Arcs:
    """The arcs of all transitions, one behind the other: how many each has, their places and their weights."""
    if isinstance(rows, PackedTable):
        lengths, (places, weights) = rows.flat(number)
        return lengths, cast("Sequence[int]", places), weights
    arcs = [arc for row in rows for arc in of(row)]
    return [len(of(row)) for row in rows], [arc.place for arc in arcs], [arc.weight for arc in arcs]


def _only(arcs: _Arcs) -> "array[int]":
    """The place of each transition's only arc, of weight 1; -1 where it has other arcs."""
    lengths, places, weights = arcs
    ends = accumulate(lengths)
    return array(
        "i",
        [
            places[end - 1] if length == 1 and weights[end - 1] == 1 else -1
            for length, end in zip(lengths, ends, strict=True)
        ],
    )


def _moves(net: Net, by_itself: bytes) -> Moves:
    inputs = _arcs(net.transitions, 3, lambda transition: transition.inputs)
    outputs = _arcs(net.transitions, 4, lambda transition: transition.outputs)
    sources = _only(inputs)
    follows = bytearray(len(net.places) + 1)  # the last one is for transitions with several arcs
    for place in compress(sources, by_itself):
        follows[place] = 1
    lengths, places, _ = inputs
    for source, length, end in compress(zip(sources, lengths, accumulate(lengths), strict=True), by_itself):
        if source < 0:
            for place in places[end - length : end]:
                follows[place] = 1
    kinds, control = field(net.places, 1, lambda place: place.kind), PlaceClass.CONTROL
    return Moves(sources, _only(outputs), bytes([kind is control for kind in kinds]), bytes(follows[:-1]))
