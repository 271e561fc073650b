"""Text copied from the old file, at its column or another, with the comments that stand at it."""

from bisect import bisect_right

from noetl_ir.span import Span
from noetlc.ast.yaml_text import STEP as INDENT
from noetlc.migrate.entries import NodeEntry, Refusal, entries_of
from noetlc.migrate.lines import NewLine, Spot, comments_in, settle
from noetlc.migrate.scalars import Edit, with_edits
from noetlc.source.nodes import Mapping, Node, all_nodes

DEEPER = len(INDENT)


class Copies:
    """The text of a document, where its constructs stand, and what of it was copied so far."""

    def __init__(self, text: str, root: Mapping) -> None:
        self.text = text
        self._nodes = list(all_nodes(root))
        self._spots: list[Spot] = []
        self._copied: set[tuple[int, int]] = set()
        self._mappings: dict[Span, Mapping] = {}
        self._holders: dict[Span, tuple[Mapping, int]] = {}
        self._keys: dict[Span, tuple[Mapping, int]] = {}
        self._entries: dict[int, list[NodeEntry]] = {}
        for node in self._nodes:
            if isinstance(node, Mapping):
                # Of nodes in one place the first, which is the outermost: that is what a construct's span means.
                self._mappings.setdefault(node.span, node)
                for number, (key, value) in enumerate(node.entries):
                    self._holders.setdefault(value.span, (node, number))
                    self._keys.setdefault(key.span, (node, number))

    def mapping_at(self, span: Span) -> Mapping | None:
        """The mapping that stands there."""
        return self._mappings.get(span)

    def holds(self, span: Span) -> bool:
        """Whether the value of some key stands there."""
        return span in self._holders

    def entry_at(self, span: Span) -> NodeEntry | None:
        """The key whose value stands there; None too for one that a merge key brought."""
        if span not in self._holders:
            return None
        mapping, number = self._holders[span]
        try:
            return self.entries(mapping)[number]
        # What a merge key brought has no text of its own to copy, so it is printed.
        except Refusal:
            return None

    def entries(self, mapping: Mapping) -> list[NodeEntry]:
        """The keys of a mapping. Raises Refusal where a merge key brought some."""
        if id(mapping) not in self._entries:
            self._entries[id(mapping)] = entries_of(self.text, mapping)
        return self._entries[id(mapping)]

    def column(self, offset: int) -> int:
        """How far from the beginning of its line an offset is."""
        return offset - self.text.rfind("\n", 0, offset) - 1

    def copy(self, entry: NodeEntry, column: int, edits: list[Edit] | None = None) -> list[NewLine]:
        """The lines of an entry as it stands, with some edits, moved to a column."""
        edits = edits or []
        if (entry.start, entry.stop) in self._copied:  # the comment beside it is told once
            entry = entry._replace(stop=entry.end)
        self._copied.add((entry.start, entry.stop))
        if entry.flow:
            lines = self._unfolded(entry, column, edits)
        else:
            text = with_edits(self.text, entry.start, entry.stop, edits)
            shift = column - self.column(entry.start)
            # Only the beginning of an entry stands behind a margin that is not its own; all lines below it move by
            # one distance.
            first, *others = text.split("\n")
            lines = [NewLine(" " * column + first), *(NewLine(_shifted(line, shift)) for line in others)]
        lines[0].before += self.lead(entry, column)
        self.stands(entry, lines[0])
        return lines

    def _unfolded(self, entry: NodeEntry, column: int, edits: list[Edit]) -> list[NewLine]:
        """The entries that stood in brackets, on lines of its own."""
        # Text in brackets becomes lines: the brackets around it are gone in the new place.
        head, at = "- ", entry.start
        if entry.key is not None:
            at = entry.key.end.index
            head = with_edits(self.text, entry.start, at, [edit for edit in edits if edit.end <= at]) + ": "
        value = with_edits(self.text, at, entry.stop, [edit for edit in edits if edit.start >= at])
        first, *others = value.lstrip().removeprefix(":" if entry.key is not None else "").lstrip().split("\n")
        below = " " * (column + DEEPER)
        return [NewLine(f"{' ' * column}{head}{first}".rstrip()), *(NewLine(below + line.strip()) for line in others)]

    def lead(self, entry: NodeEntry, column: int) -> list[str]:
        """The lines above an entry, once."""
        margin = self.text.rfind("\n", 0, entry.start) + 1
        # One entry may be copied to several places, and its comments only once.
        if entry.flow or entry.lead >= margin or (entry.lead, margin) in self._copied:
            return []
        self._copied.add((entry.lead, margin))
        shift = column - self.column(entry.start)
        return [_shifted(line, shift) for line in self.text[entry.lead : margin - 1].split("\n")]

    def beside(self, entry: NodeEntry) -> str:
        """The text behind the value of an entry of one line."""
        line = self.text.find("\n", entry.start)
        if entry.stop == entry.end or 0 <= line < entry.end:
            return ""
        self._copied.add((entry.end, entry.stop))
        return self.text[entry.end : entry.stop].rstrip()

    def stands(self, entry: NodeEntry, line: NewLine) -> None:
        """Remember the line that an entry became, for the comments at it."""
        # A spot is never empty, or no comment could be found to stand in it.
        self._spots.append(Spot(entry.start, max(entry.stop, entry.start + 1), line))

    def comes_from(self, span: Span, line: NewLine) -> None:
        """Remember the line that the construct became that stood there."""
        first: Node
        last: Node
        holder = self._holders.get(span) or self._keys.get(span)
        if holder is not None:
            first, last = holder[0].entries[holder[1]]
        elif span in self._mappings:
            first = last = self._mappings[span]
        else:
            return
        self._spots.append(Spot(first.start.index, max(last.end.index, first.start.index + 1), line))

    def settle_comments(self, start: int, stop: int) -> None:
        """Put the comments between two offsets that were not copied at the lines that they are about."""
        # Merged, so that one search tells for each comment of a large file whether it was copied.
        copied = _merged(sorted(self._copied))
        starts = [first for first, _ in copied]
        left = []
        for comment in comments_in(self.text, start, stop, self._nodes):
            at = bisect_right(starts, comment.start) - 1
            if at < 0 or comment.start >= copied[at][1]:
                left.append(comment)
        settle(self.text, left, self._spots)


def _shifted(line: str, by: int) -> str:
    """A line moved to the right, or to the left as far as it goes. One of white space moves too: in a block of text the
    blanks behind its margin are text.
    """
    if by >= 0:
        return " " * by + line if line else line
    return line[min(-by, len(line) - len(line.lstrip(" "))) :]


def _merged(ranges: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Sorted ranges, those put together that overlap."""
    found: list[tuple[int, int]] = []
    for start, stop in ranges:
        if found and start <= found[-1][1]:
            found[-1] = (found[-1][0], max(stop, found[-1][1]))
        else:
            found.append((start, stop))
    return found
