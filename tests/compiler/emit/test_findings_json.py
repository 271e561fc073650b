"""The JSON form of a diagnostic holds everything, in one order."""

import json

from noetl_ir.span import NOWHERE, Span
from noetlc.diag.diagnostic import Diagnostic, Fix, Related, Severity
from noetlc.emit.findings.json import diagnostic_json


def test_everything_is_there() -> None:
    span = Span(2, 1, 2, 5)
    found = Diagnostic(
        "NL004",
        Severity.ERROR,
        "twice",
        span,
        help="keep one",
        related=(Related(Span(1, 1, 1, 5), "first"),),
        fix=Fix(span, "x", "do it", safe=False),
    )
    place = '{"line": 2, "column": 1, "end_line": 2, "end_column": 5}'
    assert json.dumps(diagnostic_json(found, "a.yaml", "duplicate-key")) == (
        '{"file": "a.yaml", "code": "NL004", "slug": "duplicate-key", "severity": "error", "message": "twice", '
        f'"span": {place}, "help": "keep one", '
        '"related": [{"span": {"line": 1, "column": 1, "end_line": 1, "end_column": 5}, "message": "first"}], '
        f'"fix": {{"span": {place}, "text": "x", "title": "do it", "safe": false, '
        f'"edits": [{{"span": {place}, "text": "x"}}]}}}}'
    )


def test_what_is_missing_is_empty() -> None:
    found = diagnostic_json(Diagnostic("NL999", Severity.NOTE, "m", NOWHERE), "a", "")
    assert (found["slug"], found["help"], found["related"], found["fix"]) == ("", "", [], None)
