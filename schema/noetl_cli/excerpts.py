"""Lines of a file as errors show them: the line, carets below what is meant, and what to write instead.

Whatever stands in a file is shown on one terminal column per column: tabs as spaces, wide characters counted
as two, invisible and control characters as escapes, so that no file can write to the terminal.
"""

from collections.abc import Iterator
from typing import Protocol

from noetl_ir.records import NamedTuple
from noetl_ir.span import Span

_WIDTH = 100
_LEAD = 30
_LEAST = 10
_FAR = 4 * _WIDTH
_TAB = 4
_INVISIBLE = frozenset(("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"))


class Lines(Protocol):
    """A file: its name and its lines, counted from 1, without their breaks."""

    @property
    def name(self) -> str: ...
    def line_text(self, line: int) -> str: ...


class Palette(NamedTuple):
    """Escape sequences around the parts of what is shown; `reset` ends each. `columns` are those of the terminal, 0
    where it is none or does not say.
    """

    error: str = ""
    warning: str = ""
    note: str = ""
    strong: str = ""
    faint: str = ""
    reset: str = ""
    columns: int = 0

    def room(self, gutter: int) -> int:
        """How many columns of a file's line fit beside its number."""
        # The bar with its spaces takes three, the dots of a line that is cut one.
        return max(self.columns - gutter - 4, _LEAD) if self.columns else _WIDTH

    @property
    def least(self) -> int:
        """How many columns of what is marked are shown, however little room is left."""
        return _LEAST if self.columns else _LEAD


PLAIN = Palette()
ANSI = Palette("\x1b[1;31m", "\x1b[1;33m", "\x1b[1;36m", "\x1b[1m", "\x1b[34m", "\x1b[0m")


def printable(text: str) -> str:
    """`text` on one line with everything invisible escaped."""
    return "".join(_cell(char) for char in text) if not _is_simple(text) else text


def place_of(name: str, span: Span) -> str:
    """`file:line:column`."""
    # Line 0 is a finding about the whole file.
    return printable(name) if span.line == 0 else f"{printable(name)}:{span.line}:{span.column}"


def edge(gutter: int, sign: str, palette: Palette) -> str:
    """The margin of a line that is none of the file, `gutter` columns wide, and its sign."""
    return f"{palette.faint}{' ' * gutter} {sign}{palette.reset}"


def excerpt(span: Span, file: Lines, gutter: int, colour: str, palette: Palette) -> Iterator[str]:
    """The span's first line with carets, and its last one when it goes over several."""
    if span.line == 0:
        return
    yield edge(gutter, "|", palette)
    first = file.line_text(span.line)
    if span.end_line <= span.line:
        yield from _shown(span.line, first, (span.column, span.end_column), gutter, colour, palette)
        return
    yield from _shown(span.line, first, (span.column, len(first) + 1), gutter, colour, palette)
    last_line = span.end_line if span.end_column > 1 else span.end_line - 1
    # A block's span reaches over the blank lines behind it, which show nothing.
    while last_line > span.line and not file.line_text(last_line).strip():
        last_line -= 1
    if last_line <= span.line:
        return
    if last_line > span.line + 1:
        yield f"{palette.faint}{'.' * gutter}.. {palette.reset}".rstrip()
    last = file.line_text(last_line)
    begin = len(last) - len(last.lstrip()) + 1
    end = span.end_column if last_line == span.end_line else len(last) + 1
    yield from _shown(last_line, last, (begin, end), gutter, colour, palette)


def _shown(line: int, text: str, columns: tuple[int, int], gutter: int, colour: str, palette: Palette) -> Iterator[str]:
    start = min(max(columns[0], 1), len(text) + 1) - 1
    end = max(min(columns[1] - 1, len(text)), start)
    near = min(end, start + _FAR)
    parts = (text[max(0, start - _FAR) : start], text[start:near], text[near : near + _FAR])
    # Cut before they are made to cells: a line may be megabytes of JSON, and a terminal shows a hundred columns of
    # it.
    before, marked, after = (_cells(part) for part in parts)
    room = palette.room(gutter)
    before, lead = _cut_left(before, _width(marked), room)
    marked, after = _cut_right(marked, after, max(room - lead, palette.least))
    # An empty span, as of something that is missing, still has a place to point to.
    carets = "^" * max(_width(marked), 1)
    number = f"{palette.faint}{line:>{gutter}} |{palette.reset}"
    yield f"{number} {''.join((*before, *marked, *after))}".rstrip()
    yield f"{edge(gutter, '|', palette)} {' ' * lead}{colour}{carets}{palette.reset if colour else ''}"


def _cut_left(before: list[str], marked: int, room: int) -> tuple[list[str], int]:
    """The text before the mark, shortened when the line is long; and its width."""
    width = _width(before)
    if width + marked <= room or width <= _LEAD:
        return before, width
    kept: list[str] = []
    taken = 0
    for cell in reversed(before):
        taken += _width([cell])
        if taken > _LEAD:
            break
        kept.append(cell)
    # The dots take a column of the lead, so that carets stay below what they mark.
    kept.append("…")
    kept.reverse()
    return kept, _width(kept)


def _cut_right(marked: list[str], after: list[str], room: int) -> tuple[list[str], list[str]]:
    cells: list[str] = []
    width = 0
    for cell in (*marked, *after):
        width += _width([cell])
        if width > room:
            cells.append("…")
            break
        cells.append(cell)
    return cells[: len(marked)], cells[len(marked) :]


def replaced_lines(span: Span, text: str, file: Lines, gutter: int, palette: Palette) -> Iterator[str]:
    """The lines of the span as they are with `text` in its place; at most six."""
    start = span.column - 1
    shown = file.line_text(span.line)[max(0, start - _FAR) : start]
    room = palette.room(gutter)
    before, _ = _cut_left(_cells(shown), min(_width(list(text[:_FAR])), room - _LEAD), room)
    after = file.line_text(span.end_line)[span.end_column - 1 :][:_FAR]
    lines = (text + after).split("\n")
    for line in lines[:6]:
        cells, _ = _cut_right(_cells(line[:_FAR]), [], max(room - _width(before), palette.least))
        yield "".join((*before, *cells))
        before = []
    if len(lines) > 6:
        yield "…"


def _cells(text: str) -> list[str]:
    return list(text) if _is_simple(text) else [_cell(char) for char in text]


def _cell(char: str) -> str:
    """The text that stands for one character of the file."""
    if char == "\t":
        return " " * _TAB
    if char.isprintable() or char == " ":
        return char
    from unicodedata import category

    if category(char) not in _INVISIBLE:  # white space of other widths
        return char
    code = ord(char)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _width(cells: list[str]) -> int:
    text = "".join(cells)
    # The module of Unicode's tables is imported only for a file that needs it.
    if text.isascii():
        return len(text)
    from unicodedata import combining, east_asian_width

    return sum(0 if combining(char) else 2 if east_asian_width(char) in "WF" else 1 for char in text)


def _is_simple(text: str) -> bool:
    return text.isascii() and text.isprintable()
