"""Which of some places may be marked at once, and with how many tokens: by the arcs, and by the markings where few.

    reduce around the places → the relation of `concurrency` → all markings, if they are not many

The relation says too much where tokens are counted; the markings say it exactly.
"""

from noetl_ir.records import NamedTuple
from noetlc.analysis.concurrency import ConcurrencyRelation, bits_of, concurrency_of
from noetlc.analysis.effort import Effort
from noetlc.analysis.packing import is_too_large
from noetlc.analysis.petri import Petri
from noetlc.analysis.reachability import graph_of
from noetlc.analysis.reductions import Reduced, reduced

STATES = 2_000
"""Markings that are looked at."""


class Together(NamedTuple):
    """For each place that was asked about: `beside`, the places that may be marked at the same time, and `most`, the
    most tokens that it can hold, None where that is not known.

    `exact` says that all markings were seen, so that all of it is exact. `small` is the reduced net.
    """

    small: Reduced
    beside: dict[int, frozenset[int]]
    most: dict[int, int | None]
    exact: bool


def together_of(net: Petri, asked: frozenset[int], effort: Effort | int) -> Together:
    """The places that may be marked at once among the places that are asked about."""
    small = reduced(net, asked)
    relation = concurrency_of(small.net)
    at = {place: number for number, place in enumerate(small.places) if place in asked}
    if _is_plain(relation, at) or is_too_large(small.net):
        return _by_arcs(small, relation, at)
    graph = graph_of(small.net, effort if isinstance(effort, int) else effort.states(small.net, most=STATES))
    if not isinstance(effort, int):
        effort.spend(small.net, len(graph.markings))
    # Markings that were not seen may have more at once. The relation still bounds what there can be.
    if not graph.complete:
        return _by_arcs(small, relation, at)
    beside: dict[int, set[int]] = {place: set() for place in asked}
    most: dict[int, int | None] = dict.fromkeys(asked, 0)
    code = graph.code
    # One mask picks the bits of all places that are asked about, so that a marking costs one operation and its marked
    # places.
    owner = {code.shift[number] + bit: place for place, number in at.items() for bit in range(code.bits[number])}
    mask = sum(1 << bit for bit in owner)
    for marking in graph.markings:
        marked = {owner[bit] for bit in bits_of(marking & mask)}
        for place in marked:
            beside[place].update(marked)
            most[place] = max(most[place] or 0, code.tokens(marking, at[place]))
    return Together(small, {place: frozenset(row - {place}) for place, row in beside.items()}, most, True)


def _is_plain(relation: ConcurrencyRelation, at: dict[int, int]) -> bool:
    """Whether no two tokens are ever beside each other: then there is nothing to look at."""
    mask = sum(1 << number for number in at.values())
    return not any(relation.rows[number] & mask for number in at.values())


def _by_arcs(small: Reduced, relation: ConcurrencyRelation, at: dict[int, int]) -> Together:
    beside, most = {}, dict[int, int | None]()
    places = {number: place for place, number in at.items()}
    mask = sum(1 << number for number in places)
    for place, number in at.items():
        row = relation.rows[number]
        beside[place] = frozenset(places[other] for other in bits_of(row & mask)) - {place}
        most[place] = 0 if number not in relation.marked else None if row >> number & 1 else 1
    return Together(small, beside, most, False)
