"""Every diagnostic code: the tables of the stages put together, looked up by number or by slug.

The first digit says what it is about: 0 source, 1 shape, 2 names, 3 expressions, 4 data flow, 5 pipelines,
6 routing, 7 net and bounds, 8 tools and security, 9 lowering and legacy. Numbers are never given out twice.
Codes of lint rules stand in the rules themselves.
"""

from noetl_ir.span import Span
from noetlc.diag.codes_form import FORM_CODES
from noetlc.diag.codes_meaning import MEANING_CODES
from noetlc.diag.diagnostic import Code, Diagnostic, Fix, Related

CODES: dict[str, Code] = FORM_CODES | MEANING_CODES
"""Code → what it means."""


def finding(
    code: str,
    message: str,
    span: Span,
    *,
    help: str = "",
    related: tuple[Related, ...] = (),
    fix: Fix | None = None,
) -> Diagnostic:
    """A diagnostic with the severity that the table gives its code."""
    return Diagnostic(code, CODES[code].severity, message, span, help, related, fix)


def page(code: str, entry: Code) -> str:
    """The page that `noetlc explain` prints: one form for all codes."""
    # Imported here: `lint` prints no pages, and has a bar for its start.
    from textwrap import indent

    parts = [f"{code} {entry.slug} ({entry.severity})", "", f"{entry.title}."]
    for heading, body in entry.sections:
        parts += ["", heading, indent(body, "    ")]
    return "\n".join(parts) + "\n"
