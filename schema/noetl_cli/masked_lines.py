"""A file's lines with some texts masked: an excerpt of a file that holds secrets shows none of them."""

from collections.abc import Iterable

from noetl_cli.excerpts import Lines

_SHORTEST = 4
"""Characters of the shortest line of a text over several lines that is masked: less is a bracket or an indent."""


class MaskedLines:
    """The lines of `file` with a star for each character of the `texts`, so that every column stays where it is."""

    def __init__(self, file: Lines, texts: Iterable[str]) -> None:
        self._file = file
        pieces = {piece.strip() for text in texts for piece in text.splitlines()}
        # The longest first: a text that is part of another one would leave the rest of it to be read.
        self._pieces = sorted((piece for piece in pieces if len(piece) >= _SHORTEST), key=len, reverse=True)

    @property
    def name(self) -> str:
        """The name of the file."""
        return self._file.name

    def line_text(self, line: int) -> str:
        """Line `line` (from 1), masked."""
        return self.masked(self._file.line_text(line))

    def masked(self, text: str) -> str:
        """A text about the file, masked alike."""
        for piece in self._pieces:
            text = text.replace(piece, "*" * len(piece))
        return text
