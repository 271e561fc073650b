"""The order in which named things that read each other can be made, and the circles that have none."""

from collections.abc import Mapping


def order_of(needs: Mapping[str, tuple[str, ...]]) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
    """(order, circles): every name after what it needs, ties in the mapping's order; and each circle once.

    A circle is a path of names that begins with its first name in the mapping's order and does not repeat it.
    Names in a circle keep the mapping's order. Iterative: as deep as there are names.
    """
    done: dict[str, None] = {}
    circles: list[tuple[str, ...]] = []
    for root in needs:
        if root not in done:
            _visit(root, needs, done, circles)
    position = {name: place for place, name in enumerate(needs)}
    # One circle is found from each of its members that is met again, each time at another beginning.
    unique = {_rotated(circle, position) for circle in circles}
    return tuple(done), tuple(sorted(unique, key=lambda circle: [position[name] for name in circle]))


def _visit(
    root: str, needs: Mapping[str, tuple[str, ...]], done: dict[str, None], circles: list[tuple[str, ...]]
) -> None:
    path: dict[str, None] = {root: None}
    waiting = [iter(needs[root])]
    while waiting:
        for name in waiting[-1]:
            # The path is a mapping, so that this costs the same for a chain of ten and of ten thousand.
            if name in path:
                names = list(path)
                circles.append(tuple(names[names.index(name) :]))
            elif name in needs and name not in done:
                path[name] = None
                waiting.append(iter(needs[name]))
                break
        else:
            waiting.pop()
            name, _ = path.popitem()
            done[name] = None


def _rotated(circle: tuple[str, ...], position: Mapping[str, int]) -> tuple[str, ...]:
    first = min(range(len(circle)), key=lambda place: position[circle[place]])
    return circle[first:] + circle[:first]
