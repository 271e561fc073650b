"""Lines of the rewritten file, and comments that look for a place in it.

Whatever is copied from the old text takes its comments along. The others are told beside the line of the construct
that came from their place.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from re import compile as pattern

from noetl_ir.records import NamedTuple
from noetlc.source.nodes import Node, Scalar

_HASH = pattern(r"#[^\n]*")


class NewLine:
    """A line of the new file, with its indentation. `before` are lines that were copied above it, `comments` comments
    that found their place above it. `is_new` says that the line did not stand in this place before.
    """

    __slots__ = ("before", "comments", "is_new", "text")

    def __init__(self, text: str, before: Iterable[str] = (), *, is_new: bool = False) -> None:
        self.text = text
        self.is_new = is_new
        self.before = list(before)
        self.comments: list[str] = []

    def all(self) -> Iterator[str]:
        """The line with everything above it."""
        yield from self.before
        margin = self.text[: len(self.text) - len(self.text.lstrip(" "))]
        yield from (margin + comment for comment in self.comments)
        yield self.text


class Spot(NamedTuple):
    """The line of the new file that the old text between two offsets became."""

    start: int
    stop: int
    line: NewLine


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
            # A `#` directly behind a word is part of it: `a#b` is text in YAML.
            if place == 0 or text[place - 1] in " \t\n[{,":
                margin = text[text.rfind("\n", 0, place) + 1 : place]
                # A dash alone before a comment is the beginning of an item, and nothing that the comment is about.
                beside = place - (len(margin) - len(margin.rstrip())) - 1 if margin.strip(" \t-") else place
                yield Comment(place, found.group().rstrip(), beside)
        at = max(at, last)


def _insides(text: str, nodes: Iterable[Node]) -> Iterator[tuple[int, int]]:
    """Where the text of scalars stands; the header of a block may have a comment."""
    for node in nodes:
        if isinstance(node, Scalar):
            start, stop = node.source
            if node.style in ("|", ">"):
                # The comment behind `|` is none of the block's text.
                start = max(start, text.find("\n", start))
            yield start, stop


def settle(text: str, comments: Iterable[Comment], spots: list[Spot]) -> None:
    """Put each comment above the line of the construct that it was about.

    A comment at the end of a line is about the first construct that begins in that line, else about the first one that
    belongs to the line and stands below, else about the construct around it. A comment on a line of its own is about
    the next construct within the one around it.
    """
    # An outer spot before the inner ones that begin with it, as `_around` wants them.
    ordered = sorted(spots, key=lambda spot: (spot.start, -spot.stop))
    starts = [spot.start for spot in ordered]
    for comment in comments:
        chosen = _around(ordered, bisect_right(starts, comment.beside), comment.beside)
        alone = comment.beside == comment.start
        first = bisect_left(starts, comment.start if alone else text.rfind("\n", 0, comment.start) + 1)
        following = ordered[first] if first < len(ordered) else None
        if alone:
            fits = following is not None and (chosen is None or following.start < chosen.stop)
        else:
            fits = following is not None and (
                following.start <= comment.beside or _is_below(text, comment.start, following.start)
            )
        # No comment is lost: one that fits nothing goes to the last line.
        (following if fits and following is not None else chosen or ordered[-1]).line.comments.append(comment.text)


def _is_below(text: str, offset: int, inner: int) -> bool:
    """Whether all lines from that of `offset` down to that of `inner` are indented deeper than the first, so that
    `inner` belongs to it.
    """
    first, stop = text.rfind("\n", 0, offset) + 1, text.find("\n", inner)
    head, *lines = text[first : stop if stop >= 0 else len(text)].split("\n")
    return all(
        _depth(line) > _depth(head) for line in lines if line.strip(" ") and not line.lstrip(" ").startswith("#")
    )


def _depth(line: str) -> int:
    """Where the first key of a line stands, the dashes of lists before it aside."""
    return len(line) - len(line.lstrip(" -"))


def _around(spots: list[Spot], before: int, offset: int) -> Spot | None:
    """The innermost spot around an offset; of equal ones the first. They stand inside of each other or apart."""
    found: Spot | None = None
    for number in range(before - 1, -1, -1):
        spot = spots[number]
        if found is not None and spot[:2] != found[:2]:
            break
        if spot.stop > offset:
            found = spot
    return found
