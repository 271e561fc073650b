"""The findings of a text that is no YAML at the moment: the syntax error, and those of the last good text that still
hold.

The parser reports one error and nothing about the rest of a broken text, so that all other findings would vanish while
somebody types. A finding of the last good text is kept if the text without the broken lines (`repair`) has it, too, and
if it is not in one of these lines.
"""

from collections.abc import Callable

from noetl_ir.records import NamedTuple
from noetlc.lsp.project import Looked
from noetlc.lsp.repair import BROKEN, edited_lines, repaired


class Whole(NamedTuple):
    """The last text of a file that could be read, and its findings."""

    text: str
    looked: Looked


def with_lasting(text: str, now: Looked, before: Whole, look: Callable[[str], Looked]) -> Looked:
    """The findings `now` of a broken text and those of `before` that still hold; `look` finds those of a text."""
    whole = repaired(text, edited_lines(before.text, text))
    if whole is None:
        return now
    # By code and words, not by place: the lines below what is typed move.
    known = {(one.diagnostic.code, one.diagnostic.message) for one in before.looked.findings}
    told = {one.diagnostic.order for one in now.findings}
    lasting = look(whole.text)
    # A finding must be in both texts: one that only the blanked lines cause was not there before, and one that was
    # mended meanwhile is not there now.
    kept = [
        one
        for one in lasting.findings
        if (one.diagnostic.code, one.diagnostic.message) in known
        and one.diagnostic.order not in told
        and whole.blanked.isdisjoint(range(one.diagnostic.span.line, one.diagnostic.span.end_line + 1))
    ]
    found = sorted((*now.findings, *kept), key=lambda one: one.diagnostic.order)
    # The reading without the broken lines is what names are looked up in; calls are those of the text as it is.
    return Looked(tuple(found), now.children, lasting.compiled)


def is_broken(looked: Looked) -> bool:
    """Whether a file could not be read to its end."""
    return any(one.diagnostic.code in BROKEN for one in looked.findings)
