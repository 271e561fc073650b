"""Places in a text ⇄ positions of the protocol, which count lines from 0 and columns in UTF-16 units or as agreed."""

from lsprotocol import types

from noetl_ir.span import Span
from noetlc.source.text import Source

UTF_8, UTF_16, UTF_32 = "utf-8", "utf-16", "utf-32"


class Positions:
    """The positions in one text. `encoding` is what server and client agreed to count columns in."""

    def __init__(self, source: Source, encoding: str = UTF_16) -> None:
        self.source = source
        self._encoding = encoding

    def position(self, line: int, column: int) -> types.Position:
        """The position of a line and column, both counted from 1; clipped to the text."""
        # A finding may end behind the last line break, where protocols have a line and texts have none.
        if line > self.source.line_count:
            line, column = self.source.line_count, len(self.source.line_text(self.source.line_count)) + 1
        before = self.source.line_text(line)[: column - 1]
        return types.Position(line - 1, _units(before, self._encoding))

    def range(self, span: Span) -> types.Range:
        """The range of a span."""
        return types.Range(self.position(span.line, span.column), self.position(span.end_line, span.end_column))

    def place(self, position: types.Position) -> tuple[int, int]:
        """The line and column of a position, both counted from 1; clipped to the text."""
        line = min(position.line + 1, self.source.line_count)
        if position.line + 1 > line:
            return line, len(self.source.line_text(line)) + 1
        return line, _characters(self.source.line_text(line), position.character, self._encoding) + 1

    def offset(self, position: types.Position) -> int:
        """The offset of a position in the text, in code points."""
        return self.source.offset_of(*self.place(position))

    def between(self, start: int, end: int) -> types.Range:
        """The range of two offsets."""
        return self.range(self.source.span_of(start, end))


def _units(text: str, encoding: str) -> int:
    """The units that a text takes."""
    if encoding == UTF_32 or text.isascii():
        return len(text)
    if encoding == UTF_8:
        return len(text.encode("utf-8", "surrogatepass"))
    # Characters beyond the basic plane take two units in UTF-16.
    return len(text) + sum(char > "\uffff" for char in text)


def _characters(line: str, units: int, encoding: str) -> int:
    """The characters of a line that so many units are; a position within a character is the one before it."""
    if encoding == UTF_32 or line.isascii():
        return min(units, len(line))
    taken = 0
    for count, char in enumerate(line):
        taken += _units(char, encoding)
        if taken > units:
            return count
    return len(line)
