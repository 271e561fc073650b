"""How wide text is. Widths are those of DejaVu Sans, one of the widest common faces: in any other text takes less."""

import re
import unicodedata
from typing import Final

_PLAIN = (
    32, 40, 46, 84, 64, 95, 78, 27, 39, 39, 50, 84, 32, 36, 32, 34, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 34, 34,
    84, 84, 84, 53, 100, 68, 69, 70, 77, 63, 58, 77, 75, 29, 29, 66, 56, 86, 75, 79, 60, 79, 69, 63, 61, 73, 68, 99,
    69, 61, 69, 39, 34, 39, 84, 50, 50, 61, 63, 55, 63, 62, 35, 63, 63, 28, 28, 58, 28, 97, 63, 61, 63, 63, 41, 52,
    39, 63, 59, 82, 59, 59, 52, 64, 34, 64, 84,
)  # fmt: skip
"""Of the characters from space to tilde, in hundredths of the size."""

OTHER, WIDE, BOLD = 84, 108, 1.14
MORE = "…"


def width_of(text: str, size: float) -> float:
    """The width of a line of text, in the unit of `size`."""
    return sum([_advance(char) for char in text]) * size / 100


def bold_width_of(text: str, size: float) -> float:
    """The width of a line in bold."""
    return width_of(text, size) * BOLD


def clipped(text: str, most: int) -> str:
    """The text in one line, its end left out when it has more than `most` characters."""
    line = " ".join(text.split())
    return line if len(line) <= most else line[: most - 1] + MORE


def wrapped(text: str, most: int, lines: int) -> tuple[str, ...]:
    """The text in lines of `most` characters, broken at spaces where there are some, else behind dots and operators;
    a word that is longer ends in `…`, as does the last line where more follows.
    """
    found: list[str] = []
    rest = " ".join(text.split())
    while len(rest) > most and len(found) < lines - 1:
        # A break in the first third is no good place: the line would be nearly empty.
        cut = rest.rfind(" ", most // 3, most + 1)
        if cut < 0:
            breaks = [each.end() for each in _BREAK.finditer(rest)]
            cut = max([each for each in breaks if most // 3 <= each <= most], default=0)
            # No part of a word reads like a word: one that does not fit is cut where everybody sees it.
            cut = cut or min([each for each in breaks if each > most], default=len(rest))
        found.append(clipped(rest[:cut], most))
        rest = rest[cut:].lstrip()
    return (*found, clipped(rest, most)) if rest else tuple(found)


_BREAK: Final = re.compile(r"[.,()\[\]|+*/%~-]+|[<>=!]=?|\s")


def _advance(char: str) -> int:
    if " " <= char <= "~":
        return _PLAIN[ord(char) - 32]
    # Combining marks stand over the character before them, and take no room.
    if unicodedata.combining(char):
        return 0
    return WIDE if unicodedata.east_asian_width(char) in "WF" else OTHER
