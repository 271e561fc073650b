"""The order in which findings are told."""

from collections.abc import Iterable

from noetlc.diag.diagnostic import Diagnostic


def sorted_findings(diagnostics: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
    """By place, then code, then message; what is told twice is told once."""
    found: dict[tuple[int, int, str, str], Diagnostic] = {}
    for diagnostic in diagnostics:
        found.setdefault(diagnostic.order, diagnostic)
    return tuple(found[order] for order in sorted(found))
