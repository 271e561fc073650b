"""A text to its pieces: plain text, expressions, comments, raw text and block tags, as Jinja2 tells them apart.

Two things differ from Jinja2, because text stays text (LANGUAGE §2): line ends stay as written, and so does a
line end at the end of the text. A piece that is wrong stays as written too, beside its error.
"""

import re
from collections.abc import Callable
from typing import TypeAlias

from noetl_ir.expr import Expr
from noetl_ir.records import NamedTuple
from noetlc.expr.errors import TemplateError

Read: TypeAlias = Callable[[str, int], tuple[Expr, int, str]]
"""From a text and the offset behind `{{` to the expression, the offset behind its `}}`, and that closer."""

_OPENING = re.compile(r"\{([{%#])([-+]?)")
_COMMENT_END = re.compile(r"[-+]?#\}")
_RAW = re.compile(r"\{%[-+]?\s*raw\s*(-?)%\}")
_RAW_END = re.compile(r"\{%([-+]?)\s*endraw\s*([-+]?)%\}")
_SPACE = re.compile(r"\s*")
_CLOSERS = {"{": "}}", "#": "#}", "%": "%}"}

MAX_ERRORS = 100
"""How many wrong pieces of a text are told. Each may be looked for up to the end of the text: without a bound the time
would grow with the square of the text's length."""


class Pieces(NamedTuple):
    """The parts in order, no two texts side by side; the errors; and where the first block tag stands, or -1."""

    parts: tuple[str | Expr, ...]
    errors: tuple[TemplateError, ...]
    block: int


def pieces_of(text: str, read: Read) -> Pieces:
    """The pieces of a text; a block tag is text here, and the caller decides."""
    cutter = _Cutter(text, read)
    while cutter.step():
        pass
    return cutter.pieces()


class _Cutter:
    """A position in the text, and what was found before it."""

    def __init__(self, text: str, read: Read) -> None:
        self._text = text
        self._read = read
        self._at = 0
        self._plain: list[str] = []
        self._parts: list[str | Expr] = []
        self._errors: list[TemplateError] = []
        self._block = -1

    def step(self) -> bool:
        """Take the text up to the next opening, and what it opens. False at the end."""
        found = _OPENING.search(self._text, self._at)
        if found is None:
            self._plain.append(self._text[self._at :])
            return False
        before, start = self._text[self._at : found.start()], found.start()
        opened, sign = found.groups()
        # Both forms are kept until the piece is read: a wrong one leaves the text as it was written, its white space
        # too.
        kept = before.rstrip() if sign == "-" else before
        try:
            match opened:
                case "{":
                    expr, end, closer = self._read(self._text, found.end())
                    self._plain.append(kept)
                    self._flush()
                    self._parts.append(expr)
                    self._go(end, closer)
                case "#":
                    self._comment(found.end() - len(sign), kept)
                case _:
                    self._tag(start, before, kept)
        except TemplateError as error:
            self._errors.append(error)
            self._plain.append(before)
            self._at = self._behind_wrong(opened, start)
            self._plain.append(self._text[start : self._at])
        return True

    def _behind_wrong(self, opened: str, start: int) -> int:
        """Where reading goes on after a wrong piece: behind it, or at the end where no more can be told."""
        if len(self._errors) >= MAX_ERRORS:
            return len(self._text)
        # A comment or tag without an end would swallow all that follows; behind its two characters other pieces are
        # still found.
        if opened != "{":
            return start + 2
        closed = self._text.find(_CLOSERS[opened], start + 2)
        return closed + 2 if closed >= 0 else len(self._text)

    def _comment(self, at: int, kept: str) -> None:
        found = _COMMENT_END.search(self._text, at)
        if found is None:
            raise TemplateError(
                "`{#` opens a comment that is never closed", at - 2, at,
                "write `{{ '{#' }}` or put the text between `{% raw %}` and `{% endraw %}`",
            )  # fmt: skip
        self._plain.append(kept)
        self._go(found.end(), found.group())

    def _tag(self, start: int, before: str, kept: str) -> None:
        raw = _RAW.match(self._text, start)
        if raw is None:
            # Tags are text until the whole is known to be a block template: program texts hold `{%` of other
            # languages.
            if self._block < 0:
                self._block = start
            self._plain.append(before + "{%")
            self._at = start + 2
            return
        ended = _RAW_END.search(self._text, raw.end())
        if ended is None:
            raise TemplateError("`{% raw %}` is never ended", start, raw.end(), "add `{% endraw %}`")
        begin = _SPACE.match(self._text, raw.end()).end() if raw.group(1) else raw.end()  # type: ignore[union-attr]
        inner = self._text[min(begin, ended.start()) : ended.start()]
        self._plain += [kept, inner.rstrip() if ended.group(1) == "-" else inner]
        self._go(ended.end(), ended.group(2))

    def _go(self, end: int, closer: str) -> None:
        """Go on behind a closer; one with a minus takes the white space behind it along."""
        self._at = end
        if closer.startswith("-"):
            self._at = _SPACE.match(self._text, end).end()  # type: ignore[union-attr]

    def _flush(self) -> None:
        plain = "".join(self._plain)
        self._plain.clear()
        if plain:
            self._parts.append(plain)

    def pieces(self) -> Pieces:
        self._flush()
        return Pieces(tuple(self._parts), tuple(self._errors), self._block)
