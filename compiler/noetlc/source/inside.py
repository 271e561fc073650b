"""Where each character of a scalar's value stands in the text that wrote it.

The scanner's rules are read a second time (YAML 1.1 §9, as libyaml applies them), noting places; what comes
out is compared with the value that the parser gave, so a place is either right or not given.
"""

import re
from collections.abc import Iterator

from noetl_ir.records import NamedTuple

_BREAKS = "\n\r\x85\u2028\u2029"
_BLANKS = " \t"
_PROPERTIES = re.compile(rf"(?:[&!][^\s]*(?:[{_BLANKS}{_BREAKS}]|#[^{_BREAKS}]*)*)*")
_HEADER = re.compile(rf"[|>]([-+0-9]*)[{_BLANKS}]*(?:#[^{_BREAKS}]*)?(?:\r\n|[{_BREAKS}]|$)")
_ESCAPES = {
    "0": "\0", "a": "\x07", "b": "\b", "t": "\t", "\t": "\t", "n": "\n", "v": "\v", "f": "\f", "r": "\r",
    "e": "\x1b", " ": " ", '"': '"', "/": "/", "\\": "\\",
    "N": "\x85", "_": "\xa0", "L": "\u2028", "P": "\u2029",
}  # fmt: skip
_HEX = {"x": 2, "u": 4, "U": 8}

_Piece = tuple[str, int, int]


class CharacterPlaces(NamedTuple):
    """For each character of the value, where its writing starts and ends; `end` is where the value ends."""

    starts: list[int]
    ends: list[int]
    end: int

    def place(self, start: int, end: int) -> tuple[int, int]:
        """Where the characters from `start` to `end` of the value are written."""
        size = len(self.starts)
        if start >= size:  # after the last character
            return self.end, self.end
        first = self.starts[max(start, 0)]
        return first, first if end <= start else self.ends[min(end, size) - 1]


def inside(written: str, style: str, text: str) -> CharacterPlaces | None:
    """The places of the characters of `text` in `written`, tag and anchor included; None when they differ."""
    begin = _PROPERTIES.match(written).end()  # type: ignore[union-attr]  # matches the empty text
    if style in ("|", ">"):
        candidates = _block_candidates(written, begin, style)
    elif style in ("'", '"'):
        # The quotes at both ends are no part of the value.
        candidates = iter((list(_flow(written, begin + 1, len(written) - 1, style)),))
    else:
        candidates = iter((list(_flow(written, begin, len(written), style)),))
    for pieces in candidates:
        # The check makes the second reading safe: where the rules here and in libyaml differ, no place is given and
        # findings fall back to the whole scalar.
        if "".join(piece[0] for piece in pieces) == text:
            # One piece may be several characters, as the breaks of blank lines are: all have the place of the piece.
            starts = [start for chars, start, _ in pieces for _ in chars]
            ends = [end for chars, _, end in pieces for _ in chars]
            return CharacterPlaces(starts, ends, ends[-1] if ends else begin + (1 if style in ("'", '"') else 0))
    return None


def _flow(written: str, at: int, stop: int, style: str) -> Iterator[_Piece]:
    """Plain, single- and double-quoted text: white space around breaks folds."""
    while at < stop:
        char = written[at]
        if char in _BLANKS or char in _BREAKS:
            fold, after = _fold(written, at, stop)
            if fold is None:
                yield from ((written[place], place, place + 1) for place in range(at, after))
            else:
                yield fold, at, after
            at = after
        elif style == "'" and char == "'":
            yield "'", at, at + 2
            at += 2
        elif style == '"' and char == "\\":
            value, after = _escape(written, at, stop)
            yield value, at, after
            at = after
        else:
            yield char, at, at + 1
            at += 1


def _fold(written: str, at: int, stop: int) -> tuple[str | None, int]:
    """The text that a run of white space becomes (None: itself) and where it ends."""
    first = ""
    rest: list[str] = []
    while at < stop and (written[at] in _BLANKS or written[at] in _BREAKS):
        if written[at] in _BLANKS:
            at += 1
            continue
        value, at = _line_break(written, at)
        if first:
            rest.append(value)
        else:
            first = value
    # White space without a break stays as it is, character by character.
    if not first:
        return None, at
    return ("".join(rest) or " ") if first == "\n" else first + "".join(rest), at


def _escape(written: str, at: int, stop: int) -> tuple[str, int]:
    char = written[at + 1 : at + 2]
    if char and char in _BREAKS:  # the break and the indentation after it are nothing, blank lines are breaks
        _, after = _line_break(written, at + 1)
        rest = ""
        while after < stop and (written[after] in _BLANKS or written[after] in _BREAKS):
            if written[after] in _BLANKS:
                after += 1
            else:
                value, after = _line_break(written, after)
                rest += value
        return rest, after
    if char in _HEX:
        after = at + 2 + _HEX[char]
        return chr(int(written[at + 2 : after], 16)), after
    return _ESCAPES.get(char, char), at + 2


def _line_break(written: str, at: int) -> tuple[str, int]:
    """The text that one break stands for and where it ends; U+2028 and U+2029 stand for themselves."""
    if written.startswith("\r\n", at):
        return "\n", at + 2
    char = written[at]
    return (char if char in "\u2028\u2029" else "\n"), at + 1


def _block_candidates(written: str, begin: int, style: str) -> Iterator[list[_Piece]]:
    """The readings of a block scalar, one for each indentation that it might have.

    An indentation indicator counts from the parent's indentation, which the scalar itself does not show.
    """
    header = _HEADER.match(written, begin)
    if header is None:
        return
    chomping = "+" if "+" in header[1] else "-" if "-" in header[1] else ""
    lines = re.split(rf"\r\n|[{_BREAKS}]", written[header.end() :])
    widths = [len(line) - len(line.lstrip(" ")) for line in lines if line.strip(" ")]
    # Without an indicator the first line with text gives the indentation, so that the first candidate is nearly
    # always right.
    deepest = widths[0] if widths else max(map(len, lines))
    # With an indicator the text may be deeper than its indentation, so narrower ones are tried until the value fits.
    for indent in range(deepest, -1, -1):
        yield list(_block(written, header.end(), indent, style + chomping))


def _block(written: str, at: int, indent: int, mode: str) -> Iterator[_Piece]:
    """Port of libyaml's `yaml_parser_scan_block_scalar` after the header; `mode` is style and chomping."""
    pending: list[_Piece] = []  # the break after the line before
    breaks, line, at = _blank_lines(written, at, indent)
    was_blank = False
    while at - line == indent and at < len(written) and written[at] not in _BREAKS:
        is_blank = written[at] in _BLANKS
        # A folded text joins two lines by a space, unless one of them begins with a blank: such lines keep their
        # breaks.
        if mode[0] == ">" and pending and pending[0][0] == "\n" and not was_blank and not is_blank:
            if not breaks:
                yield " ", pending[0][1], at
        else:
            yield from pending
        yield from breaks
        was_blank = is_blank
        while at < len(written) and written[at] not in _BREAKS:
            yield written[at], at, at + 1
            at += 1
        if at == len(written):
            return
        value, after = _line_break(written, at)
        pending = [(value, at, after)]
        breaks, line, at = _blank_lines(written, after, indent)
    if not mode.endswith("-"):
        yield from pending
    if mode.endswith("+"):
        yield from breaks


def _blank_lines(written: str, at: int, indent: int) -> tuple[list[_Piece], int, int]:
    """The breaks of blank lines, where the line after them starts, and the place after its indentation."""
    breaks: list[_Piece] = []
    while True:
        line = at
        while at < len(written) and at - line < indent and written[at] == " ":
            at += 1
        if at == len(written) or written[at] not in _BREAKS:
            return breaks, line, at
        value, after = _line_break(written, at)
        breaks.append((value, at, after))
        at = after
