"""Annotations of GitHub Actions: workflow commands on standard output.

GitHub shows ten annotations a level for a step and drops the others without a word, so that the ten worst are written
here and the rest is counted. Escapes as in actions/toolkit, `packages/core/src/command.ts`.
"""

from collections.abc import Mapping

from noetlc.diag.diagnostic import Code, Severity
from noetlc.diag.findings import FindingsReport, Reported

MOST = 10
_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "notice"}


def emitted(report: FindingsReport, codes: Mapping[str, Code]) -> str:
    """At most ten lines a level, errors first, and a line with the count of the others."""
    del codes
    lines: list[str] = []
    rest: list[str] = []
    for severity, level in _LEVELS.items():
        found = [one for one in report.findings if one.diagnostic.severity is severity]
        lines += [_command(level, one) for one in found[:MOST]]
        more = len(found) - MOST
        if more > 0:
            rest.append(f"{more} more {level}{'s' if more > 1 else ''}")
    if rest:
        lines.append(f"not shown as annotations: {', '.join(rest)}")
    return "".join(f"{line}\n" for line in lines)


def _command(level: str, one: Reported) -> str:
    diagnostic = one.diagnostic
    span = diagnostic.span
    properties = {"file": one.file}
    # A finding about the whole file has no line; an invented one would point at text that is not to blame.
    if span.line:
        properties |= {"line": str(span.line), "endLine": str(max(span.line, span.end_line))}
        if span.end_line == span.line:  # GitHub has columns only inside of one line, the last one included
            properties |= {"col": str(span.column), "endColumn": str(max(span.column, span.end_column - 1))}
    properties["title"] = f"{diagnostic.code} {one.slug}"
    listed = ",".join(f"{key}={_property(value)}" for key, value in properties.items())
    text = f"{diagnostic.message}\n{diagnostic.help}" if diagnostic.help else diagnostic.message
    return f"::{level} {listed}::{_data(text)}"


def _data(text: str) -> str:
    # The percent sign goes first, or it would escape the escapes. A line break in a message would begin a new
    # workflow command, written by whoever wrote the playbook.
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    # Properties stand between commas and colons: a file's name with one of these would end its property, and what
    # follows could be read as another.
    return _data(text).replace(":", "%3A").replace(",", "%2C")
