"""Ranks for a layered drawing: which links point up, and on which level each node stands.

Everything is iterative and linear in nodes and links, but for the raising of nodes, which takes a few rounds.
"""

from collections.abc import Sequence

from noetl_ir.records import NamedTuple


class RankedLink(NamedTuple):
    """A link as the ranks see it: from the upper node to the lower one, at least `length` ranks further down."""

    upper: int
    lower: int
    length: int


def turned(count: int, ends: Sequence[tuple[int, int]]) -> list[bool]:
    """For each link, whether it closes a cycle on a walk that begins at the first node: it is drawn upwards."""
    leaving: list[list[int]] = [[] for _ in range(count)]
    for number, (source, _) in enumerate(ends):
        leaving[source].append(number)
    is_turned = [False] * len(ends)
    state = [0] * count  # 0 not seen, 1 on the way, 2 done
    for root in range(count):
        if state[root]:
            continue
        state[root] = 1
        # The walk keeps its own stack: a playbook of thousands of steps in a row would be too deep for calls.
        way = [(root, iter(leaving[root]))]
        while way:
            node, rest = way[-1]
            for number in rest:
                target = ends[number][1]
                if state[target] == 1:
                    # The target is still on the way: the link closes a cycle. Layers need a graph without any, so
                    # that this one is drawn against the direction.
                    is_turned[number] = True
                elif not state[target]:
                    state[target] = 1
                    way.append((target, iter(leaving[target])))
                    break
            else:
                state[node] = 2
                way.pop()
    return is_turned


def ranks_of(count: int, spans: Sequence[RankedLink], loose: Sequence[RankedLink] = ()) -> list[int]:
    """The rank of each node, 0 at the top: as far down as its longest way from above needs, or further where that
    shortens links.

    A loose span has no direction of its own: the node that comes first by the other spans is the upper one, so that no
    cycle can arise.
    """
    below: list[list[RankedLink]] = [[] for _ in range(count)]
    above: list[list[RankedLink]] = [[] for _ in range(count)]
    for span in spans:
        below[span.upper].append(span)
        above[span.lower].append(span)
    order = _downwards(count, above, below)
    at = {node: position for position, node in enumerate(order)}
    for span in loose:
        upper, lower = sorted((span.upper, span.lower), key=at.__getitem__)
        below[upper].append(RankedLink(upper, lower, span.length))
        above[lower].append(below[upper][-1])
    ranks = [0] * count
    for node in order:
        ranks[node] = max((ranks[span.upper] + span.length for span in above[node]), default=0)
    for node in reversed(order):
        # A node is lowered only where that shortens more links than it lengthens.
        if below[node] and len(below[node]) > len(above[node]):
            ranks[node] = max(ranks[node], min(ranks[span.lower] - span.length for span in below[node]))
    lowest = min(ranks, default=0)
    return [rank - lowest for rank in ranks]


def _downwards(count: int, above: list[list[RankedLink]], below: list[list[RankedLink]]) -> list[int]:
    """The nodes so that every span leads from an earlier one to a later one."""
    missing = [len(spans) for spans in above]
    order = [node for node in range(count) if not missing[node]]
    for node in order:  # grows while it is walked
        for span in below[node]:
            missing[span.lower] -= 1
            if not missing[span.lower]:
                order.append(span.lower)
    return order
