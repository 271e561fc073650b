"""Strongly connected components of a graph of integers (Tarjan 1972, without recursion)."""

from collections.abc import Iterator, Sequence


def components_of(targets: Sequence[Sequence[int]]) -> Iterator[list[int]]:
    """The components, each after all that it leads to; `targets[v]` are the successors of v."""
    seen = [0] * len(targets)  # 0: not seen; else order of discovery, from 1
    low = [0] * len(targets)
    closed = bytearray(len(targets))
    open_: list[int] = []
    count = 0
    for root in range(len(targets)):
        if seen[root]:
            continue
        count += 1
        seen[root] = low[root] = count
        open_.append(root)
        # The path holds its own iterators: a chain of 20,000 steps would exhaust Python's stack.
        path = [(root, iter(targets[root]))]
        while path:
            node, rest = path[-1]
            for target in rest:
                if not seen[target]:
                    count += 1
                    seen[target] = low[target] = count
                    open_.append(target)
                    path.append((target, iter(targets[target])))
                    break
                if not closed[target] and seen[target] < low[node]:
                    low[node] = seen[target]
            else:
                path.pop()
                if path and low[node] < low[path[-1][0]]:
                    low[path[-1][0]] = low[node]
                if low[node] == seen[node]:
                    yield _closed(node, open_, closed)


def terminal_components(targets: Sequence[Sequence[int]]) -> Iterator[list[int]]:
    """The components that nothing leads out of."""
    home = [-1] * len(targets)
    for number, members in enumerate(components_of(targets)):
        for node in members:
            home[node] = number
        if all(home[target] == number for node in members for target in targets[node]):
            yield members


def _closed(head: int, open_: list[int], closed: bytearray) -> list[int]:
    members = []
    while True:
        member = open_.pop()
        closed[member] = 1
        members.append(member)
        if member == head:
            return members
