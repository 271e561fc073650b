"""The strongly connected components of a graph, innermost first (Tarjan 1972, without recursion)."""

from collections.abc import Iterator, Mapping, Sequence


def components_of(after: Mapping[str, Sequence[str]]) -> Iterator[tuple[str, ...]]:
    """Each component after all that it leads to; every target must be a key of `after`."""
    seen: dict[str, int] = {}
    low: dict[str, int] = {}
    open_: dict[str, None] = {}
    for root in after:
        if root in seen:
            continue
        path = [(root, iter(after[root]))]
        seen[root] = low[root] = len(seen)
        open_[root] = None
        while path:
            node, rest = path[-1]
            target = next(rest, None)
            if target is None:
                path.pop()
                if path:
                    low[path[-1][0]] = min(low[path[-1][0]], low[node])
                if low[node] == seen[node]:
                    yield _closed(node, open_)
            elif target not in seen:
                seen[target] = low[target] = len(seen)
                open_[target] = None
                path.append((target, iter(after[target])))
            elif target in open_:
                low[node] = min(low[node], seen[target])


def _closed(head: str, open_: dict[str, None]) -> tuple[str, ...]:
    members: list[str] = []
    while True:
        member, _ = open_.popitem()
        members.append(member)
        if member == head:
            return tuple(reversed(members))
