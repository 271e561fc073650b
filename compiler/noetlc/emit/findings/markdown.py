"""Findings as a Markdown table, for comments of reviews and summaries of jobs."""

from collections import Counter
from collections.abc import Mapping

from noetl_cli.excerpts import printable
from noetlc.diag.diagnostic import Code, Severity
from noetlc.diag.findings import FindingsReport, Reported

_SPECIAL = str.maketrans({char: f"\\{char}" for char in "\\`*_{}[]<>#|~"} | {"&": "&amp;", "\n": " ", "\r": " "})
_CODE_SPECIAL = str.maketrans({"|": "\\|", "\n": " ", "\r": " "})


def emitted(report: FindingsReport, codes: Mapping[str, Code]) -> str:
    """A line with the counts, then a row for each finding."""
    del codes
    files = f"{len(report.files)} file{'' if len(report.files) == 1 else 's'}"
    counts = Counter(one.diagnostic.severity for one in report.findings)
    listed = [_counted(counts[each], str(each)) for each in sorted(Severity, reverse=True) if counts[each]]
    out = [f"**{', '.join(listed) or 'Nothing found'}** in {files}"]
    if report.findings:
        out += ["", "| | place | code | finding |", "|---|---|---|---|"]
        out += [_row(one) for one in report.findings]
    return "\n".join([*out, ""])


def marked(text: str) -> str:
    """A message in Markdown: what stands between back quotes stays code, all else is plain text."""
    parts = printable(text).split("`")
    # An odd number of back quotes leaves one open, behind which Markdown would be read. Such a text is written
    # without any code in it.
    if len(parts) % 2 == 0:
        return _escaped(text)
    return "".join(
        f"`{part.translate(_CODE_SPECIAL)}`" if number % 2 and part else part.translate(_SPECIAL)
        for number, part in enumerate(parts)
    )


def _counted(count: int, word: str) -> str:
    return f"{count} {word}{'s' if count > 1 else ''}"


def _row(one: Reported) -> str:
    diagnostic = one.diagnostic
    span = diagnostic.span
    place = f"{one.file}:{span.line}:{span.column}" if span.line else one.file
    cells = (
        str(diagnostic.severity), _escaped(place), f"{diagnostic.code} {one.slug}", marked(diagnostic.message),
    )  # fmt: skip
    return f"| {' | '.join(cells)} |"


def _escaped(text: str) -> str:
    return printable(text).translate(_SPECIAL)
