"""Two texts of one file: the lines in which they differ, as edits of the first one."""

from collections.abc import Iterator

from noetl_ir.span import Span
from noetlc.source.text import lines_of


def line_edits(before: str, after: str) -> Iterator[tuple[Span, str]]:
    """The lines that are replaced, in their order, and by what."""
    from difflib import SequenceMatcher

    old, new = lines_of(before), lines_of(after)
    for sign, start, end, first, last in SequenceMatcher(None, old, new).get_opcodes():
        if sign != "equal":
            yield Span(start + 1, 1, end + 1, 1), "".join(new[first:last])
