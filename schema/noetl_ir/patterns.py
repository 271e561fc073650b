"""Regular expressions that are compiled when they are first asked: most commands ask few of those that they import.

To compile one takes 0.05 to 0.3 ms. What nearly every command asks, or asks once for each line of a file, is better
compiled by `re` where it stands.
"""

import re
import sys
from collections.abc import Callable, Iterator


class LatePattern:
    """A pattern with the methods of a compiled one, as far as somebody needs them."""

    __slots__ = ("_compiled", "_flags", "_text")

    def __init__(self, text: str, flags: int = 0) -> None:
        self._text = text
        self._flags = flags
        self._compiled: re.Pattern[str] | None = None

    @property
    def compiled(self) -> re.Pattern[str]:
        """The pattern, compiled now at the latest."""
        # Two threads may compile at once, and get the same: no lock is worth it.
        if self._compiled is None:
            self._compiled = re.compile(self._text, self._flags)
        return self._compiled

    def search(self, text: str, at: int = 0, end: int = sys.maxsize) -> re.Match[str] | None:
        """The first match between two places."""
        return self.compiled.search(text, at, end)

    def match(self, text: str, at: int = 0) -> re.Match[str] | None:
        """The match that begins at `at`."""
        return self.compiled.match(text, at)

    def fullmatch(self, text: str) -> re.Match[str] | None:
        """The match of the whole text."""
        return self.compiled.fullmatch(text)

    def finditer(self, text: str, at: int = 0) -> Iterator[re.Match[str]]:
        """All matches behind `at`, one after the other."""
        return self.compiled.finditer(text, at)

    def findall(self, text: str) -> list[str]:
        """The texts of all matches, of a pattern without groups."""
        return self.compiled.findall(text)

    def split(self, text: str) -> list[str]:
        """The texts between the matches; where the pattern has groups, the texts of those too."""
        return list(self.compiled.split(text))

    def sub(self, replacement: str | Callable[[re.Match[str]], str], text: str) -> str:
        """The text with all matches replaced."""
        return self.compiled.sub(replacement, text)
