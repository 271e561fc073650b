"""Findings are told in the order of the file, each once."""

import itertools

from noetl_ir.span import Span
from noetlc.diag.diagnostic import Diagnostic, Severity
from noetlc.diag.findings import sorted_findings


def test_order_does_not_depend_on_who_found_first() -> None:
    found = [
        Diagnostic("NL002", Severity.ERROR, "b", Span(1, 2, 1, 3)),
        Diagnostic("NL003", Severity.NOTE, "a", Span(1, 2, 1, 3)),
        Diagnostic("NL001", Severity.ERROR, "a", Span(1, 10, 1, 11)),
        Diagnostic("NL001", Severity.ERROR, "a", Span(2, 1, 2, 2)),
    ]
    for order in itertools.permutations(found):
        assert sorted_findings(order) == tuple(found)


def test_what_is_found_twice_is_told_once() -> None:
    first = Diagnostic("NL001", Severity.ERROR, "a", Span(1, 1, 1, 2), help="x")
    again = Diagnostic("NL001", Severity.ERROR, "a", Span(1, 1, 1, 2))
    assert sorted_findings([first, again]) == (first,)
