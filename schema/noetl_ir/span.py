"""Where in a file something was written."""

from noetl_ir.records import NamedTuple


class Span(NamedTuple):
    """A range of text: lines and columns count from 1, in code points; the end is exclusive.

    The file is not part of a span: a plan and a diagnostic each name it once.
    """

    line: int
    column: int
    end_line: int
    end_column: int

    def is_inside(self, outer: "Span") -> bool:
        """Whether all of it stands in another range of the same file."""
        # Tuples compare by line first, then column, which is the order of a file.
        return outer[:2] <= self[:2] and self[2:] <= outer[2:]

    def __str__(self) -> str:
        return f"{self.line}:{self.column}"


NOWHERE = Span(0, 0, 0, 0)
"""The span of an element that no source text stands for; such an element names its maker instead."""
