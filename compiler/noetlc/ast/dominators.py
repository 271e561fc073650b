"""Immediate dominators of a graph: the last node that every way from the entry to a node goes through.

Cooper, Harvey and Kennedy, "A Simple, Fast Dominance Algorithm" (2001).
"""

from collections.abc import Hashable, Mapping, Sequence
from typing import TypeVar

_Node = TypeVar("_Node", bound=Hashable)


def dominators_of(entry: _Node, after: Mapping[_Node, Sequence[_Node]]) -> dict[_Node, _Node]:
    """Node → its immediate dominator, for every node but the entry that can be reached from it; dominators first."""
    if entry not in after:
        return {}
    order = _postorder(entry, after)
    rank = {node: index for index, node in enumerate(order)}
    before: dict[_Node, list[_Node]] = {node: [] for node in order}
    for node in order:
        for target in after[node]:
            before[target].append(node)
    found = {entry: entry}
    changed = True
    while changed:
        changed = False
        for node in reversed(order[:-1]):
            # In reverse postorder at least one source of a node is found before the node.
            heads = [source for source in before[node] if source in found]
            head = heads[0]
            for source in heads[1:]:
                head = _meeting(head, source, found, rank)
            if found.get(node) != head:
                found[node] = head
                changed = True
    del found[entry]
    return found


def dominated_of(entry: _Node, dominators: Mapping[_Node, _Node]) -> dict[_Node, range]:
    """Node → numbers, the first of them its own: it dominates the nodes whose own number is among them.

    `dominators` are those of `dominators_of`, in which each node stands behind its immediate dominator.
    """
    sizes = dict.fromkeys((entry, *dominators), 1)
    for node in reversed(tuple(dominators)):
        sizes[dominators[node]] += sizes[node]
    found = {entry: range(sizes[entry])}
    free = {entry: 1}
    for node, head in dominators.items():
        found[node] = range(free[head], free[head] + sizes[node])
        free[head], free[node] = found[node].stop, found[node].start + 1
    return found


def _meeting(one: _Node, other: _Node, found: dict[_Node, _Node], rank: dict[_Node, int]) -> _Node:
    # The two walk up the tree found so far, the deeper one first; a higher postorder number is nearer to the entry.
    while one != other:
        while rank[one] < rank[other]:
            one = found[one]
        while rank[other] < rank[one]:
            other = found[other]
    return one


def _postorder(entry: _Node, after: Mapping[_Node, Sequence[_Node]]) -> list[_Node]:
    order: list[_Node] = []
    seen = {entry}
    path = [(entry, iter(after[entry]))]
    while path:
        node, rest = path[-1]
        for target in rest:
            if target not in seen:
                seen.add(target)
                path.append((target, iter(after[target])))
                break
        else:
            path.pop()
            order.append(node)
    return order
