"""A list of findings as JSON: everything they know."""

import json
from collections.abc import Mapping

from noetl_ir.expr import Json
from noetl_ir.span import Span
from noetlc.diag.diagnostic import Code, Diagnostic, Fix
from noetlc.diag.findings import FindingsReport


def emitted(report: FindingsReport, codes: Mapping[str, Code]) -> str:
    """A list of `{file code slug severity message span help related fix address}`."""
    del codes
    rows = [{**diagnostic_json(one.diagnostic, one.file, one.slug), "address": one.address} for one in report.findings]
    return json.dumps(rows, indent=1) + "\n"


def diagnostic_json(diagnostic: Diagnostic, file: str, slug: str) -> dict[str, Json]:
    """`{file code slug severity message span help related fix}`, keys always there and always in this order.

    `slug` is that of the code, `fix` null when there is none.
    Lines and columns count from 1, in code points; ends are exclusive; a span of zeros is no place. The `edits` of a
    fix are made together or not at all.
    """
    return {
        "file": file,
        "code": diagnostic.code,
        "slug": slug,
        "severity": str(diagnostic.severity),
        "message": diagnostic.message,
        "span": _span_json(diagnostic.span),
        "help": diagnostic.help,
        "related": [{"span": _span_json(item.span), "message": item.message} for item in diagnostic.related],
        "fix": None if diagnostic.fix is None else _fix_json(diagnostic.fix),
    }


def _fix_json(fix: Fix) -> Json:
    edits: list[Json] = [{"span": _span_json(span), "text": text} for span, text in fix.edits]
    return {"span": _span_json(fix.span), "text": fix.text, "title": fix.title, "safe": fix.safe, "edits": edits}


def _span_json(span: Span) -> Json:
    return {
        "line": span.line,
        "column": span.column,
        "end_line": span.end_line,
        "end_column": span.end_column,
    }
