"""Parts of a drawing that do not hang together, and where they go on the page."""

from collections.abc import Sequence

from noetlc.emit.pictures.shapes import Point, Size

APART = 48.0


def parts_of(count: int, ends: Sequence[tuple[int, int]]) -> list[list[int]]:
    """The nodes of each part, parts and nodes in ascending order."""
    near: list[list[int]] = [[] for _ in range(count)]
    for source, target in ends:
        near[source].append(target)
        near[target].append(source)
    seen = [False] * count
    parts = []
    for root in range(count):
        if seen[root]:
            continue
        seen[root] = True
        part = [root]
        for node in part:  # grows while it is walked
            for other in near[node]:
                if not seen[other]:
                    seen[other] = True
                    part.append(other)
        parts.append(sorted(part))
    return parts


def packed(sizes: Sequence[Size]) -> tuple[list[Point], Size]:
    """The upper left corner of each part, in shelves from left to right, and the size of the whole."""
    area = sum((size.width + APART) * (size.height + APART) for size in sizes)
    most = max(1.4 * area**0.5, *(size.width for size in sizes)) if sizes else 0.0
    corners, x, y, shelf, width = list[Point](), 0.0, 0.0, 0.0, 0.0
    for size in sizes:
        if x and x + size.width > most:
            x, y, shelf = 0.0, y + shelf + APART, 0.0
        corners.append((x, y))
        width, shelf = max(width, x + size.width), max(shelf, size.height)
        x += size.width + APART
    return corners, Size(width, y + shelf)
