"""Every diagnostic code: the tables of the stages put together, looked up by number or by slug.

The first digit says what it is about: 0 source, 1 shape, 2 names, 3 expressions, 4 data flow, 5 pipelines,
6 routing, 7 net and bounds, 8 tools and security, 9 lowering and legacy. Numbers are never given out twice.
A new table is a row of `_TABLES`. Codes of lint rules stand in the rules themselves.
"""

from noetl_ir.span import Span
from noetlc.diag.codes_expressions import EXPRESSION_CODES
from noetlc.diag.codes_legacy import LEGACY_CODES
from noetlc.diag.codes_names import NAME_CODES
from noetlc.diag.codes_net import NET_CODES
from noetlc.diag.codes_pipeline import PIPELINE_CODES
from noetlc.diag.codes_shape import SHAPE_CODES
from noetlc.diag.codes_source import SOURCE_CODES
from noetlc.diag.diagnostic import Code, Diagnostic, Fix, Related

_TABLES: tuple[dict[str, Code], ...] = (
    SOURCE_CODES, SHAPE_CODES, NAME_CODES, EXPRESSION_CODES, PIPELINE_CODES, NET_CODES,
    LEGACY_CODES,
)  # fmt: skip

CODES: dict[str, Code] = {code: entry for table in _TABLES for code, entry in table.items()}
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
    from textwrap import indent

    parts = [f"{code} {entry.slug} ({entry.severity})", "", f"{entry.title}."]
    for heading, body in entry.sections:
        parts += ["", heading, indent(body, "    ")]
    return "\n".join(parts) + "\n"
