"""Makes a playbook on which two sides differ as small as it can: drops keys and items while they still do."""

from collections.abc import Callable, Iterator
from copy import deepcopy
from typing import Any

from translation.crossing import Crossed

_WHOLE = frozenset({"retry", "collect", "next_call", "poll"})


def smallest(crossed: Crossed, differs: Callable[[Crossed], bool]) -> Crossed:
    """A value with every key and item dropped without which `differs` still holds."""
    shrunk = True
    while shrunk:
        shrunk = False
        for path in list(_paths(crossed)):
            less = _without(crossed, path) if path[0] == 0 or len(path) < 4 else None  # an answer keeps its shape
            if less is not None and differs(less):
                crossed, shrunk = less, True
    return crossed


def _paths(node: Any, before: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where something can be dropped, the largest parts first."""
    entries = (
        list(node.items())
        if isinstance(node, dict)
        else list(enumerate(node))
        if isinstance(node, list | tuple)
        else []
    )
    for key, _ in reversed(entries):
        if before:
            yield (*before, key)
    for key, item in entries:
        yield from _paths(item, (*before, key))


def _without(crossed: Crossed, path: tuple[Any, ...]) -> Crossed | None:
    if path[0] == 1 and (len(path) < 3 or len(crossed.outcomes[path[1]]) < 2):
        return None  # every tool keeps an answer
    if path[:3] == (0, "workflow", 0) or path[:2] == (0, "workload"):
        return None  # what begins and sets what everything reads
    if len(path) > 3 and (_WHOLE & set(path[3:-1]) or path[-1] == "page"):
        return None  # without one of its parts it is another construct
    copy = deepcopy(crossed)
    node: Any = copy
    try:
        for key in path[:-1]:
            node = node[key]
        if "then" in path and (path[-1] in _WHOLE or (isinstance(node, list) and _WHOLE & set(node[path[-1]]))):
            return None
        if isinstance(node, list) and len(node) == 1:
            return None
        del node[path[-1]]
    except (KeyError, IndexError, TypeError):
        return None
    return copy
