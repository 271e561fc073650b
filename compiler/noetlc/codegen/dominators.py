"""Immediate dominators of a graph: the last node that every way from the entry to a node goes through.

Cooper, Harvey and Kennedy, "A Simple, Fast Dominance Algorithm" (2001).
"""

from collections.abc import Mapping, Sequence


def dominators_of(entry: str, after: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """Node → its immediate dominator, for every node but the entry that can be reached from it."""
    if entry not in after:
        return {}
    order = _postorder(entry, after)
    rank = {node: index for index, node in enumerate(order)}
    before: dict[str, list[str]] = {node: [] for node in order}
    for node in order:
        for target in after[node]:
            before[target].append(node)
    found = {entry: entry}
    changed = True
    while changed:
        changed = False
        for node in reversed(order[:-1]):
            head = ""
            for source in before[node]:
                if source in found:
                    head = _meeting(head, source, found, rank) if head else source
            if found.get(node) != head:
                found[node] = head
                changed = True
    del found[entry]
    return found


def _meeting(one: str, other: str, found: dict[str, str], rank: dict[str, int]) -> str:
    while one != other:
        while rank[one] < rank[other]:
            one = found[one]
        while rank[other] < rank[one]:
            other = found[other]
    return one


def _postorder(entry: str, after: Mapping[str, Sequence[str]]) -> list[str]:
    order: list[str] = []
    seen = {entry}
    path = [(entry, iter(after[entry]))]
    while path:
        node, rest = path[-1]
        target = next(rest, None)
        if target is None:
            path.pop()
            order.append(node)
        elif target not in seen:
            seen.add(target)
            path.append((target, iter(after[target])))
    return order
