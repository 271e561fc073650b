"""The findings of lint in one file: checked or remembered, less what comments, the selection and the baseline take
out.
"""

from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING

from noetl_cli.excerpts import Lines, Palette
from noetl_ir.records import NamedTuple
from noetlc.cli.cache import Cache, CachedFile
from noetlc.cli.catalogue import Folders
from noetlc.cli.files import Unusable, read_playbook, shown_name
from noetlc.cli.findings import Counts
from noetlc.diag.diagnostic import Severity
from noetlc.diag.findings import Reported, gathered
from noetlc.diag.selection import Selection
from noetlc.diag.text import one_line, rendered

if TYPE_CHECKING:  # most runs have no baseline, and start sooner
    from noetlc.cli.baseline import BaselineEntry


class FileToCheck(NamedTuple):
    """A file to check: what is reported of it and how. `form` is `text`, `full`, or a format of whole reports;
    `mend` is `safe`, `any`, or "" for no fixes. Its children are looked up in `catalogue`.
    """

    name: str
    form: str
    palette: Palette
    selection: Selection
    entries: "tuple[BaselineEntry, ...]"
    cache: Cache | None
    mend: str
    catalogue: Folders


class CheckedFile(NamedTuple):
    """The report on a file, as values and as text. `ignored` counts what its comments took back, `known` what the
    baseline did; `stale` are the entries that matched nothing; `after` is the new content where fixes were applied.
    """

    name: str
    text: str
    findings: tuple[Reported, ...]
    ignored: int
    known: int
    stale: "tuple[BaselineEntry, ...]"
    before: bytes
    after: bytes | None
    fixed: int

    @property
    def counts(self) -> Counts:
        """How many findings there are of each severity."""
        return counts_by_severity(self.findings)


def counts_by_severity(findings: Iterable[Reported]) -> Counts:
    """How many findings there are of each severity."""
    found = [0, 0, 0]
    for one in findings:
        found[Severity.ERROR - one.diagnostic.severity] += 1
    return Counts(*found)


def check(work: FileToCheck) -> CheckedFile:
    """Check a file, and mend what may be mended in what is then reported."""
    try:
        before = data = read_playbook(work.name)
    # One file that cannot be read is a finding; the others are checked.
    except Unusable as problem:
        return unusable(work.name, work.form, work.palette, problem)
    name = shown_name(work.name)
    kept = _looked_up(name, data, work)
    fixed = 0
    if work.mend and any(one.diagnostic.fix is not None for one in kept.findings):
        from noetlc.cli.fixing import mended

        def takes(one: Reported) -> bool:
            return work.selection.takes(one.diagnostic.code)

        made = mended(name, data, takes, work.entries, work.mend, partial(_found, work))
        data, fixed = made.data, made.fixes
        # The mended file is checked as a whole and kept: the next run finds it in the cache.
        kept = _looked_up(name, data, work)
    selected = [one for one in kept.findings if work.selection.takes(one.diagnostic.code)]
    new, stale = _compared(selected, work)
    # Crowds are told as one only now, so that each finding of one was counted, selected and compared by itself.
    told = [new[at]._replace(diagnostic=one) for at, one in gathered([one.diagnostic for one in new])]
    text = _text(work, name, data, told) if told and work.form in ("text", "full") else ""
    after = data if data != before else None
    return CheckedFile(
        work.name, text, tuple(told), kept.ignored, len(selected) - len(new), tuple(stale),
        # The old content goes back to the process that writes only where it is needed: it may be large.
        before if after is not None or (work.mend and work.name == "-") else b"", after, fixed,
    )  # fmt: skip


def unusable(name: str, form: str, palette: Palette, problem: Unusable) -> CheckedFile:
    """A file that cannot be read or written has this one finding, whatever is selected."""
    from noetlc.rules import slug_of
    from noetlc.source.decoding import decode

    found = problem.finding()
    rows = (Reported(shown_name(name), slug_of(found.code), "", found),)
    text = text_of(rows, decode(shown_name(name), b"")[0], form, palette) if form in ("text", "full") else ""
    return CheckedFile(name, text, rows, 0, 0, (), b"", None, 0)


def text_of(findings: Iterable[Reported], file: Lines, form: str, palette: Palette) -> str:
    """Findings of one file as people read them: `text` a line each, `full` with the lines they are about."""
    if form == "text":
        return "\n".join([one_line(one.diagnostic, file, palette) for one in findings])
    return "\n".join([rendered(one.diagnostic, file, palette) for one in findings])


def _looked_up(name: str, data: bytes, work: FileToCheck) -> CachedFile:
    """The findings of a file from the cache; else they are looked for, and put there."""
    kept = work.cache.get(name, data) if work.cache is not None else None
    if kept is None or not _is_current(kept, work):
        kept = _found(work, name, data)
        if work.cache is not None:
            work.cache.put(name, data, kept)
    return kept


def _found(work: FileToCheck, name: str, data: bytes) -> CachedFile:
    from noetlc.cli.inspection import found_in

    return found_in(name, data, work.catalogue)


def _is_current(kept: CachedFile, work: FileToCheck) -> bool:
    """Whether the children that an entry of the cache rests on are unchanged."""
    # Findings about calls follow from the children, whose files are no part of the entry's digest.
    return all(work.catalogue.state_of(path) == state for path, state in kept.children)


def _compared(found: list[Reported], work: FileToCheck) -> "tuple[list[Reported], list[BaselineEntry]]":
    """(findings that the baseline does not know, its entries that matched no finding, of codes that are reported)."""
    if not work.entries:
        return found, []
    from noetlc.cli.baseline import unknown

    new, left = unknown(found, work.entries)
    return new, [entry for entry in left if work.selection.takes(entry.code)]


def _text(work: FileToCheck, name: str, data: bytes, findings: list[Reported]) -> str:
    from noetlc.source.decoding import decode

    return text_of(findings, decode(name, data)[0], work.form, work.palette)
