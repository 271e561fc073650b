"""The order in which findings are told."""

from collections.abc import Iterable

from noetlc.diag.diagnostic import Diagnostic, Severity


def sorted_findings(diagnostics: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
    """By place, then code, then message; what is told twice is told once."""
    found: dict[tuple[int, int, str, str], Diagnostic] = {}
    for diagnostic in diagnostics:
        found.setdefault(diagnostic.order, diagnostic)
    return tuple(found[order] for order in sorted(found))


def without_consequences(diagnostics: Iterable[Diagnostic]) -> list[Diagnostic]:
    """The findings less those that another one is the cause of: an iterator is not known behind a loop that could not
    be read.
    """
    found = list(diagnostics)
    if not any(one.code == "NL903" for one in found):
        return found
    return [one for one in found if one.code not in ("NL303", "NL304")]


def hides(diagnostic: Diagnostic) -> bool:
    """Whether a finding says that a part of the playbook could not be read: what is there, no rule sees."""
    return diagnostic.severity is Severity.ERROR and diagnostic.code.startswith(_UNREAD)


_UNREAD = ("NL0", "NL101", "NL102", "NL104", "NL114", "NL117", "NL118", "NL302", "NL90")
