"""The migration of a file as the fix of its notes about older forms.

One construct is not rewritten alone: what a `vars` becomes decides how others read it, and a file in which something
older is left is read by other rules than one without. So the notes of a file share one fix, its whole migration. It
is safe where every change is `exact` or `safe`, and there is none where a comment takes one of the notes back.
"""

from collections.abc import Iterator
from difflib import SequenceMatcher

from noetl_ir.span import Span
from noetlc.diag.diagnostic import Diagnostic, Fix, Severity
from noetlc.migrate.migration import migrated
from noetlc.pipeline import Compiled
from noetlc.source.decoding import decode
from noetlc.source.text import lines_of


def with_migration(compiled: Compiled, data: bytes, left: list[Diagnostic], codes: frozenset[str]) -> list[Diagnostic]:
    """The findings that are left of a compiled file; the notes of those codes with the fix that rewrites it."""
    notes = [one for one in left if one.code in codes]
    if compiled.count_of(Severity.ERROR) or len(notes) < sum(one.code in codes for one in compiled.diagnostics):
        return left
    fix = _fix(compiled.source.name, data)
    return [one._replace(fix=fix) if fix and one.code in codes and one.fix is None else one for one in left]


def _fix(name: str, data: bytes) -> Fix | None:
    """The migration of a file, None where it cannot be migrated."""
    made = migrated(name, data)
    if made.after is None or made.after == data:
        return None
    (span, text), *rest = _edits(decode("", data)[0].text, decode("", made.after)[0].text)
    is_safe = all(change.klass in ("exact", "safe") for change in made.changes)
    return Fix(span, text, "migrate the whole file", is_safe, tuple(rest))


def _edits(old: str, new: str) -> Iterator[tuple[Span, str]]:
    """The lines that are replaced, and by what."""
    before, after = lines_of(old), lines_of(new)
    for sign, start, end, first, last in SequenceMatcher(None, before, after).get_opcodes():
        if sign != "equal":
            yield Span(start + 1, 1, end + 1, 1), "".join(after[first:last])
