"""Lines of the rewritten file, and comments that look for a place in it.

Whatever is copied from the old text takes its comments along. The others are told beside the line of the construct
that came from their place.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from re import compile as pattern
from typing import NamedTuple

from noetlc.source.nodes import Mapping, Node, Scalar

_HASH = pattern(r"#[^\n]*")


class Line:
    """A line with its indentation: `before` are lines copied above it, `notes` are comments put there."""

    __slots__ = ("before", "notes", "text")

    def __init__(self, text: str, before: Iterable[str] = ()) -> None:
        self.text = text
        self.before = list(before)
        self.notes: list[str] = []

    def all(self) -> Iterator[str]:
        """The line with everything above it."""
        yield from self.before
        margin = self.text[: len(self.text) - len(self.text.lstrip(" "))]
        yield from (margin + note for note in self.notes)
        yield self.text


class Spot(NamedTuple):
    """A line for what stood between two offsets of the old text."""

    start: int
    stop: int
    line: Line


class Comment(NamedTuple):
    """A comment, where it begins, and the last thing before it in its line (itself if it has a line of its own)."""

    start: int
    text: str
    beside: int


def comments_in(text: str, start: int, stop: int, nodes: Iterable[Node]) -> Iterator[Comment]:
    """The comments between two offsets, outside of the scalars among `nodes`."""
    at = start
    for first, last in [*sorted(_insides(text, nodes)), (stop, stop)]:
        for found in _HASH.finditer(text, at, max(at, min(first, stop))):
            place = found.start()
            if place == 0 or text[place - 1] in " \t\n[{,":
                margin = text[text.rfind("\n", 0, place) + 1 : place]
                beside = place - (len(margin) - len(margin.rstrip())) - 1 if margin.strip(" \t-") else place
                yield Comment(place, found.group().rstrip(), beside)
        at = max(at, last)


def _insides(text: str, nodes: Iterable[Node]) -> Iterator[tuple[int, int]]:
    """Where the text of scalars stands; the header of a block may have a comment."""
    for node in nodes:
        if isinstance(node, Scalar):
            start, stop = node.source
            if node.style in ("|", ">"):
                start = max(start, text.find("\n", start))
            yield start, stop


def all_nodes(root: Node) -> Iterator[Node]:
    """Every node of a document, keys too; an aliased one once."""
    seen: set[int] = set()
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        yield node
        if isinstance(node, Mapping):
            waiting += [part for entry in node.entries for part in entry]
        elif not isinstance(node, Scalar):
            waiting += node.items


def settle(comments: Iterable[Comment], spots: list[Spot]) -> None:
    """Put each comment above the line of the construct that it was about.

    That is the one it stood beside or inside of, or the next one where it had a line of its own.
    """
    ordered = sorted(spots, key=lambda spot: (spot.start, -spot.stop))
    starts = [spot.start for spot in ordered]
    for comment in comments:
        around = [spot for spot in ordered if spot.start <= comment.beside < spot.stop]
        chosen = min(around, key=lambda spot: spot.stop - spot.start) if around else None
        if comment.beside == comment.start or chosen is None:
            after = bisect_right(starts, comment.start)
            following = ordered[after] if after < len(ordered) else None
            if following is not None and (chosen is None or following.start < chosen.stop):
                chosen = following
        (chosen or ordered[-1]).line.notes.append(comment.text)
