"""Fixes for findings that say which name was meant: `did you mean …?` becomes an edit of the word where it stands.

In one place, for all codes: whoever finds a slip names it and what looks like it, and the edit follows from that.
Where the word does not stand in the file as such, or stands twice at the place of the finding, there is none.
"""

import re
from typing import Protocol

from noetl_ir.nearest import nearest
from noetl_ir.patterns import LatePattern
from noetl_ir.span import Span
from noetlc.diag.diagnostic import Diagnostic, Fix


class TextPlaces(Protocol):
    """A file's text, and its places."""

    text: str

    def offset_of(self, line: int, column: int) -> int: ...
    def span_of(self, start: int, end: int) -> Span: ...


_MEANT = LatePattern(r"did you mean `([^`]+)`\?")
_QUOTED = LatePattern(r"`([^`]+)`")
_NAME = LatePattern(r"[\w./-]+")


def with_suggestion(source: TextPlaces, found: Diagnostic) -> Diagnostic:
    """The finding with a fix that writes what was meant, where it says so and has no fix of its own."""
    if found.fix is not None or not found.span.line:
        return found
    told = found.help if "did you mean" in found.help else found.message
    meant = list(dict.fromkeys(one[1] for one in _MEANT.finditer(told)))
    # A name that would need quotes stands otherwise in expressions than elsewhere.
    if len(meant) != 1 or _NAME.fullmatch(meant[0]) is None:
        return found
    start = source.offset_of(found.span.line, found.span.column)
    written = source.text[start : source.offset_of(found.span.end_line, found.span.end_column)]
    for name in (one[1] for one in _QUOTED.finditer(found.message) if _may_mean(one[1], meant[0])):
        for word, text in _forms(name, meant[0]):
            places = [one.start() for one in re.finditer(rf"(?<![\w-]){re.escape(word)}(?![\w-])", written)]
            if len(places) == 1:
                span = source.span_of(start + places[0], start + places[0] + len(word))
                return found._replace(fix=Fix(span, text, f"write `{meant[0]}`", safe=False))
    return found


def _may_mean(name: str, meant: str) -> bool:
    """Whether a name of a message is the slip: it looks like what was meant, or is the same in another scope."""
    last, right = name.rpartition(".")[2], meant.rpartition(".")[2]
    return name != meant and (last == right or bool(nearest(last, (right,))))


def _forms(name: str, meant: str) -> list[tuple[str, str]]:
    """The words that may stand for a name, each with what stands there once it is right: `ctx.totl` whole, or its last
    key.
    """
    above, dot, last = name.rpartition(".")
    whole = meant if "." in meant or not dot else f"{above}.{meant}"
    return [(name, whole), *([(last, meant.rpartition(".")[2])] if dot else [])]
