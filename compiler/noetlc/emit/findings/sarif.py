"""SARIF 2.1.0 (OASIS, 27 March 2020), as GitHub's code scanning and editors read it.

Related places are told as `relatedLocations`; of a finding about what can happen (routing and the net, NL6 and NL7)
they are also the steps of a code flow that ends at the finding. Regions are in code points; ends are exclusive.
"""

import json
from collections.abc import Mapping
from urllib.parse import quote

from noetl_ir.expr import Json
from noetl_ir.span import Span
from noetlc.diag.diagnostic import Code, Diagnostic, Fix, Severity
from noetlc.diag.findings import FindingsReport, Reported, fingerprints

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
FINGERPRINT = "noetlcAddress/v1"
_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "note"}
_STORIES = ("NL6", "NL7")


def emitted(report: FindingsReport, codes: Mapping[str, Code]) -> str:
    """One run: the rules that found something, and their results."""
    used = sorted({one.diagnostic.code for one in report.findings})
    index = {code: number for number, code in enumerate(used)}
    results = [
        _result(one, index[one.diagnostic.code], fingerprint)
        for one, fingerprint in zip(report.findings, fingerprints(report), strict=True)
    ]
    driver: Json = {"name": "noetlc", "rules": [_rule(code, codes.get(code)) for code in used]}
    run: Json = {
        "tool": {"driver": driver},
        # The default of SARIF is UTF-16 code units: behind an emoji every column would be one too far to the left.
        "columnKind": "unicodeCodePoints",
        "artifacts": [{"location": {"uri": _uri(name)}} for name in report.files],
        "results": results,
    }
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=1) + "\n"


def _rule(code: str, entry: Code | None) -> Json:
    if entry is None:
        return {"id": code}
    return {
        "id": code,
        "name": entry.slug,
        "shortDescription": {"text": f"{entry.title}."},
        "fullDescription": {"text": " ".join(entry.why.split())},
        "help": {"text": "\n\n".join(f"{heading}\n{body}" for heading, body in entry.sections)},
        "defaultConfiguration": {"level": _LEVELS[entry.severity]},
    }


def _result(one: Reported, index: int, fingerprint: str) -> Json:
    diagnostic = one.diagnostic
    text = f"{diagnostic.message}; {diagnostic.help}" if diagnostic.help else diagnostic.message
    place = _location(one.file, diagnostic.span)
    if one.address:
        place["logicalLocations"] = [{"fullyQualifiedName": one.address}]
    result: dict[str, Json] = {
        "ruleId": diagnostic.code,
        "ruleIndex": index,
        "level": _LEVELS[diagnostic.severity],
        "message": {"text": text},
        "locations": [place],
        "partialFingerprints": {FINGERPRINT: fingerprint},
    }
    if diagnostic.related:
        result["relatedLocations"] = [
            {"id": number, **_location(one.file, item.span), "message": {"text": item.message}}
            for number, item in enumerate(diagnostic.related)
        ]
        if diagnostic.code.startswith(_STORIES):
            result["codeFlows"] = [_flow(one.file, diagnostic)]
    # A fix without a place has no region to delete, which SARIF requires.
    if diagnostic.fix is not None and diagnostic.fix.span.line:
        result["fixes"] = [_fix(one.file, diagnostic.fix)]
    return result


def _flow(file: str, diagnostic: Diagnostic) -> Json:
    """The related places in order, and the finding at the end."""
    spots = [*((item.span, item.message) for item in diagnostic.related), (diagnostic.span, diagnostic.message)]
    steps: list[Json] = [{"location": {**_location(file, span), "message": {"text": text}}} for span, text in spots]
    return {"threadFlows": [{"locations": steps}]}


def _fix(file: str, fix: Fix) -> Json:
    replacements: list[Json] = [
        {"deletedRegion": _region(span), "insertedContent": {"text": text}} for span, text in fix.edits
    ]
    change: Json = {"artifactLocation": {"uri": _uri(file)}, "replacements": replacements}
    return {"description": {"text": fix.title}, "artifactChanges": [change]}


def _location(file: str, span: Span) -> dict[str, Json]:
    physical: dict[str, Json] = {"artifactLocation": {"uri": _uri(file)}}
    if span.line:
        physical["region"] = _region(span)
    return {"physicalLocation": physical}


def _region(span: Span) -> Json:
    return {
        "startLine": span.line, "startColumn": span.column, "endLine": span.end_line, "endColumn": span.end_column,
    }  # fmt: skip


def _uri(file: str) -> str:
    """A name of a file as a URI, relative as it was given, else with its scheme (RFC 3986)."""
    # File names are bytes, and may be no text. `surrogatepass` writes what came in instead of failing the whole
    # report.
    path = quote(file.replace("\\", "/"), safe="/~", errors="surrogatepass")
    return f"file://{path}" if path.startswith("/") else path
