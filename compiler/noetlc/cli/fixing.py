"""Fixes applied to the text of a file, again and again until there is nothing left to apply.

A round applies the fixes of the findings that are reported, first come first served where two overlap. Its result is
taken when it has no more errors than before: fewest first in the source, then in the shape, and so on by the first
digit of a code, because mending one stage uncovers what the later ones have to say. Otherwise the fixes of the round
are tried one by one. A fix of several places, a migration, is applied by itself, when no other is left. The encoding,
the byte order mark and the line ends stay.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import TypeAlias

from noetl_ir.records import NamedTuple
from noetl_ir.span import Span
from noetlc.cli.baseline import BaselineEntry, unknown
from noetlc.cli.cache import CachedFile
from noetlc.cli.inspection import found_in
from noetlc.diag.diagnostic import Fix, Severity
from noetlc.diag.findings import Reported
from noetlc.source.decoding import decode, encode
from noetlc.source.text import Source

Find: TypeAlias = Callable[[str, bytes], CachedFile]

ROUNDS = 20
ANY = "any"


class Mended(NamedTuple):
    """The content of a file after fixes, and how many there were."""

    data: bytes
    fixes: int


def mended(
    name: str,
    data: bytes,
    takes: Callable[[Reported], bool],
    entries: tuple[BaselineEntry, ...],
    mend: str,
    find: Find | None = None,
) -> Mended:
    """The file after the fixes of all findings that `takes` selects and no entry of the baseline knows.

    `find` looks for the findings of a content; `mend` is `safe` or `any`.
    """
    find = find or found_in
    source, trouble = decode(name, data)
    # Text with characters that could not be decoded would be written back with others in their place.
    if trouble is not None:
        return Mended(data, 0)
    kept, count = find(name, data), 0
    # Bounded: two rules whose fixes undo each other would else go on for ever.
    for _ in range(ROUNDS):
        wanted = list(_wanted(kept, takes, entries, mend))
        step = _step(source, data, kept, wanted, find)
        if step is None:
            break
        source, data, kept, applied = step
        count += applied
    return Mended(data, count)


def _wanted(
    kept: CachedFile, takes: Callable[[Reported], bool], entries: tuple[BaselineEntry, ...], mend: str
) -> Iterator[Fix]:
    new, _ = unknown([one for one in kept.findings if takes(one)], entries)
    reported = {id(one) for one in new}
    untouched = {one.diagnostic.fix for one in kept.findings if id(one) not in reported}  # shared with what is not told
    for one in new:
        fix = one.diagnostic.fix
        # A fix that is shared with a finding that is not reported would change what was asked to be left alone.
        if fix is not None and fix.span.line and (fix.safe or mend == ANY) and fix not in untouched:
            yield fix


def _step(
    source: Source, data: bytes, kept: CachedFile, wanted: list[Fix], find: Find
) -> tuple[Source, bytes, CachedFile, int] | None:
    """The file after as many of the fixes as can be applied at once, None where none can."""
    chosen = _apart(source, wanted)
    whole = _tried(source, data, kept, chosen, find)
    if whole is not None:
        return *whole, len(chosen)
    # One bad fix must not keep the others from being applied.
    for fix in chosen if len(chosen) > 1 else ():
        alone = _tried(source, data, kept, [fix], find)
        if alone is not None:
            return *alone, 1
    return None


def _apart(source: Source, wanted: Iterable[Fix]) -> list[Fix]:
    """The fixes that do not touch each other, in file order; equal ones once."""
    out: list[Fix] = []
    end = -1
    wide: list[Fix] = []
    for fix in sorted(set(wanted), key=lambda fix: (fix.span, fix.text)):
        start, stop = _range(source, fix.span)
        if fix.rest:
            wide.append(fix)
        # Strictly behind: two edits that touch might be about the same characters.
        elif start > end:
            out.append(fix)
            end = stop
    return out or wide[:1]


def _tried(
    source: Source, data: bytes, kept: CachedFile, fixes: list[Fix], find: Find
) -> tuple[Source, bytes, CachedFile] | None:
    """The file after these fixes, None where they change nothing or make errors."""
    text = source.text
    newline = "\r\n" if "\r\n" in text else "\n"
    # From the end, so that places before an edit stay where they are.
    for span, new in reversed([edit for fix in fixes for edit in fix.edits]):
        start, stop = _range(source, span)
        text = text[:start] + new.replace("\r\n", "\n").replace("\n", newline) + text[stop:]
    if text == source.text:
        return None
    after = encode(text, data)
    found = find(source.name, after)
    last = max(fix.span.line for fix in fixes)
    return (Source(source.name, text), after, found) if _is_better(found, kept, last) else None


def _is_better(found: CachedFile, kept: CachedFile, last: int) -> bool:
    """Whether there are no more errors than before. A file that is no YAML has one error that ends its reading: after
    a fix of it that is gone, or the next one stands below the `last` line that was mended.
    """
    # Lists are compared from the earliest stage on: one error of syntax less is worth any number that it hid.
    if _errors(found) != _errors(kept):
        return _errors(found) < _errors(kept)
    before = {(one.diagnostic.code, one.diagnostic.message) for one in kept.findings if one.diagnostic.code < "NL1"}
    return all(
        one.diagnostic.span.line > last or (one.diagnostic.code, one.diagnostic.message) in before
        for one in found.findings
        if one.diagnostic.severity is Severity.ERROR and one.diagnostic.code < "NL1"
    )


def _range(source: Source, span: Span) -> tuple[int, int]:
    size = len(source.text)
    end = source.offset_of(span.end_line, span.end_column) if span.end_line <= source.line_count else size
    return source.offset_of(span.line, span.column), min(end, size)


def _errors(kept: CachedFile) -> list[int]:
    """How many errors there are by the first digit of their codes, the earlier stages first."""
    counts = [0] * 10
    for one in kept.findings:
        if one.diagnostic.severity is Severity.ERROR:
            counts[int(one.diagnostic.code[2])] += 1
    return counts
