"""The text of a file and the places in it: offsets ⇄ lines and columns, and into the values of scalars.

A line ends at `\\n`, `\\r` or `\\r\\n`, as editors and `grep -n` count. YAML 1.1 ends lines at U+0085, U+2028 and
U+2029, too, so that the marks of its parser are placed anew where a file holds one of them.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from itertools import accumulate, count
from operator import add
from typing import TYPE_CHECKING

from noetl_ir.patterns import LatePattern
from noetl_ir.span import Span
from noetlc.source.nodes import NoMark, Scalar

if TYPE_CHECKING:
    from noetlc.source.inside import CharacterPlaces

_BREAK = re.compile("\r\n|[\n\r]")
_LINE = LatePattern("[^\n\r]*(?:\r\n|[\n\r])|[^\n\r]+$")
_BREAKS_OF_YAML = re.compile("[\x85\u2028\u2029]")


def lines_of(text: str) -> list[str]:
    """The lines of a text, each with its break; `str.splitlines` ends lines at ten characters more."""
    return _LINE.findall(text)


class Source:
    """A file's `name`, its `text` without byte order mark, and the index of its lines, made when asked."""

    __slots__ = ("_inside", "_starts", "name", "text")

    def __init__(self, name: str, text: str) -> None:
        self.name = name
        self.text = text
        self._starts: list[int] | None = None
        # A second reading of a long script costs as much as the first, and its findings come one after another.
        self._inside: tuple[Scalar, CharacterPlaces | None] | None = None  # the scalar that was asked about last

    @property
    def line_count(self) -> int:
        """How many lines there are; an empty text has one, and so has what follows the last break."""
        return len(self._line_starts())

    @property
    def has_breaks_of_yaml(self) -> bool:
        """Whether there are characters that end a line for YAML 1.1 and for nobody else."""
        return _BREAKS_OF_YAML.search(self.text) is not None

    def mark_at(self, offset: int) -> NoMark:
        """The mark of an offset, clipped to the text."""
        line, column = self._place(offset)
        return NoMark(offset, line - 1, column - 1)

    def line_text(self, line: int) -> str:
        """Line `line` (from 1) without its break; "" outside the file."""
        starts = self._line_starts()
        if not 1 <= line <= len(starts):
            return ""
        end = starts[line] if line < len(starts) else len(self.text)
        return self.text[starts[line - 1] : end].rstrip("\n\r")

    def span_of(self, start: int, end: int) -> Span:
        """The span of a range of offsets in the text, in code points from 0; clipped to the text."""
        line, column = self._place(start)
        end_line, end_column = self._place(max(start, end))
        return Span(line, column, end_line, end_column)

    def offset_of(self, line: int, column: int) -> int:
        """The offset of a place in the text, both counted from 1."""
        return self._line_starts()[line - 1] + column - 1

    def inner_span(self, scalar: Scalar, start: int, end: int) -> Span:
        """The span of characters `start` to `end` of `scalar.text`; escapes, folding and indentation undone.

        A character that the file does not hold as such (a folded break, an escape) has the place of what
        stands for it. Where the text cannot be found in the file the span is that of the whole scalar.
        """
        found = self._places(scalar)
        if found is None:
            return scalar.span
        offset = self.offset_of(*scalar.span[:2])
        first, last = found.place(start, max(start, end))
        return self.span_of(offset + first, offset + last)

    def _places(self, scalar: Scalar) -> CharacterPlaces | None:
        """Where the characters of a scalar stand; kept for the next question, which is mostly about the same one."""
        if self._inside is None or self._inside[0] is not scalar:
            # Needed for findings within a scalar only, which most files have none of.
            from noetlc.source.inside import inside

            # By lines, and not by the offsets of its marks, which the text may have moved since (`rereading`).
            line, column, end_line, end_column = scalar.span
            written = self.text[self.offset_of(line, column) : self.offset_of(end_line, end_column)]
            self._inside = scalar, inside(written, scalar.style, scalar.text)
        return self._inside[1]

    def _place(self, offset: int) -> tuple[int, int]:
        starts = self._line_starts()
        offset = min(max(offset, 0), len(self.text))
        # The index of lines is made once a file; counting breaks for each place would be quadratic in a file full of
        # findings.
        line = bisect_right(starts, offset)
        return line, offset - starts[line - 1] + 1

    def _line_starts(self) -> list[int]:
        if self._starts is None:
            if "\r" in self.text:
                self._starts = [0, *(match.end() for match in _BREAK.finditer(self.text))]
            else:  # a third of the time
                lengths = accumulate(map(len, self.text.split("\n")[:-1]))
                self._starts = [0, *map(add, lengths, count(1))]
        return self._starts
