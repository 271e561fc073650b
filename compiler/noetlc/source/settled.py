"""Findings about the text of a file, settled by what its documents turned out to be, and fixes that leave anchors."""

import re
from collections.abc import Iterable, Iterator, Mapping

from noetl_ir.span import Span
from noetlc.diag.diagnostic import Diagnostic, Fix
from noetlc.source.text import Source

_DIFFERS = frozenset({"NL016", "NL017"})
_PROPERTIES = re.compile(r"(?:[&!][^\s,\[\]{}]*[ \t]+)+")


def as_meant(found: Iterable[Diagnostic], meant: Mapping[Span, str]) -> Iterator[Diagnostic]:
    """The findings without those about a name, which is taken as written, and with `true` and `false` as the advice
    where quotes would be wrong.
    """
    for one in found:
        what = meant.get(one.span) if one.code in _DIFFERS else None
        if what is None:
            yield one
        elif what == "boolean":
            word = "true" if "is read as true" in one.message else "false"
            fix = Fix(one.fix.span if one.fix else one.span, word, f"write `{word}`")
            yield one._replace(help=f"write `{word}`", fix=fix)


def besides_anchors(source: Source, found: Iterable[Diagnostic]) -> Iterator[Diagnostic]:
    """The findings, with fixes that replace a value and leave its anchor and tag, which its span takes in."""
    is_anchored = "&" in source.text or "!" in source.text
    for one in found:
        fix = one.fix
        if is_anchored and fix is not None and fix.text and fix.span.line and fix.text[:1] not in "&!":
            start = source.offset_of(*fix.span[:2])
            ahead = _PROPERTIES.match(source.text, start)
            if ahead is not None:
                span = Span(*source.span_of(ahead.end(), ahead.end())[:2], *fix.span[2:])
                one = one._replace(fix=fix._replace(span=span))
        yield one
