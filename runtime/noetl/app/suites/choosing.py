"""The fewest cases that reach everything that all of them reach: a smallest set cover."""

from __future__ import annotations

from collections.abc import Sequence

MOST_TRIED = 200_000
"""Steps of the search after which what it has is taken: it is good by then, and perhaps not the smallest."""


def fewest(rows: Sequence[frozenset[int]]) -> list[int]:
    """The numbers of the rows that together hold what all rows hold, as few as are found, in their order."""
    return sorted(_Search(rows).found())


class _Search:
    def __init__(self, rows: Sequence[frozenset[int]]) -> None:
        self._rows = rows
        self._whole = frozenset().union(*rows) if rows else frozenset()
        self._best = self._greedy()
        self._tried = 0

    def found(self) -> list[int]:
        self._search([], self._whole)
        return self._best

    def _greedy(self) -> list[int]:
        """The row that holds most of what is left, again and again: never far from the smallest (Chvátal 1979)."""
        left, chosen = self._whole, list[int]()
        while left:
            number = max(range(len(self._rows)), key=lambda each: (len(self._rows[each] & left), -each))
            chosen.append(number)
            left -= self._rows[number]
        return chosen

    def _search(self, chosen: list[int], left: frozenset[int]) -> None:
        self._tried += 1
        if not left:
            if len(chosen) < len(self._best):
                self._best = list(chosen)
            return
        most = max(len(row & left) for row in self._rows)
        # So many rows are needed at least, as none holds more than `most` of what is left.
        if len(chosen) + -(-len(left) // most) >= len(self._best) or self._tried > MOST_TRIED:
            return
        # Something must hold it: the part that the fewest rows hold leaves the fewest ways to try.
        holders = {part: [n for n, row in enumerate(self._rows) if part in row] for part in left}
        rarest = min(left, key=lambda part: (len(holders[part]), part))
        for number in sorted(holders[rarest], key=lambda each: -len(self._rows[each] & left)):
            chosen.append(number)
            self._search(chosen, left - self._rows[number])
            chosen.pop()
