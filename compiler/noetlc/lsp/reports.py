"""Findings as an editor shows them."""

from collections.abc import Iterable

from lsprotocol import types

from noetlc.diag.diagnostic import Diagnostic, Severity
from noetlc.diag.findings import Reported
from noetlc.lsp.positions import Positions

SOURCE = "noetlc"
_SEVERITIES = {
    Severity.ERROR: types.DiagnosticSeverity.Error,
    Severity.WARNING: types.DiagnosticSeverity.Warning,
    Severity.NOTE: types.DiagnosticSeverity.Information,
}
_FADED = frozenset({"NL110", "NL601", "NL602"})
"""Codes about what has no effect or never runs, which editors show faded."""


def reports_of(found: Iterable[Reported], uri: str, at: Positions) -> list[types.Diagnostic]:
    """The findings of a file, each once, in their order."""
    return [report_of(one.diagnostic, uri, at) for one in found]


def report_of(one: Diagnostic, uri: str, at: Positions) -> types.Diagnostic:
    """A finding with what to write instead, and the other places that it is about."""
    related = [
        types.DiagnosticRelatedInformation(types.Location(uri, at.range(each.span)), each.message)
        for each in one.related
    ]
    return types.Diagnostic(
        range=at.range(one.span),
        # The protocol has no field for help, and what to write instead is worth as much as the finding.
        message=f"{one.message}\n{one.help}" if one.help else one.message,
        severity=_SEVERITIES[one.severity],
        code=one.code,
        source=SOURCE,
        related_information=related or None,
        tags=[types.DiagnosticTag.Unnecessary] if one.code in _FADED else None,
    )
