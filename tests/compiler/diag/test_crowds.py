"""Findings of one code that come in crowds are told as one in files of older dialects, and only there."""

import pytest

from noetl_ir.span import Span
from noetlc.diag.diagnostic import Diagnostic, Severity
from noetlc.diag.findings import gathered


def found(code: str, count: int, severity: Severity = Severity.WARNING, first: int = 1) -> list[Diagnostic]:
    return [Diagnostic(code, severity, f"{code} at {n}", Span(n, 1, n, 2)) for n in range(first, first + count)]


def told(rows: list[Diagnostic]) -> list[str]:
    return [one.message for _, one in gathered(rows)]


def test_six_of_a_code_are_one_with_a_count_beside_an_older_form() -> None:
    assert told([*found("NL809", 6), *found("NL912", 1, first=9)]) == [
        "NL809 at 1 — and 5 more of NL809 in this file, in lines 2, 3, 4, 5, 6",
        "NL912 at 9",
    ]


@pytest.mark.parametrize("rows", [[*found("NL809", 5), *found("NL912", 1)], found("NL809", 30)])
def test_five_are_told_and_so_is_everything_in_a_canonical_file(rows: list[Diagnostic]) -> None:
    assert told(rows) == [one.message for one in rows]


def test_notes_that_one_migration_does_away_with_are_counted_together() -> None:
    rows = [*found("NL910", 4), *found("NL911", 2), *found("NL912", 1)]
    assert told(rows) == [
        "NL910 at 1 — and 3 more of NL910 in this file, in lines 2, 3, 4",
        "NL911 at 1 — and 1 more of NL911 in this file, in line 2",
        "NL912 at 1",
    ]


def test_an_error_is_not_hidden_behind_a_warning_of_its_code() -> None:
    rows = [*found("NL303", 6), *found("NL303", 2, Severity.ERROR, 20), *found("NL910", 1)]
    assert [one.severity for _, one in gathered(rows)] == [
        Severity.WARNING,
        Severity.ERROR,
        Severity.ERROR,
        Severity.WARNING,
    ]


def test_many_lines_are_cut() -> None:
    (only,) = told(found("NL910", 40))
    assert only == "NL910 at 1 — and 39 more of NL910 in this file, in lines 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, …"


def test_of_older_forms_each_is_counted() -> None:
    """The first form names the note; the others would be taken for more of it."""
    forms = ["`next`", "`next`", "`with`", "`a`", "`b`", "`with`", "`c`", "`d`"]
    rows = [
        one._replace(message=f"an older form, {form}, is read as what it is")
        for one, form in zip(found("NL910", len(forms)), forms, strict=True)
    ]
    assert told(rows) == [
        "an older form, `next`, is read as what it is — and 7 more of NL910 in this file, in lines 2, 3, 4, 5, 6, 7, 8"
        " (`with` 2 times, `next` 1 time, `a` 1 time, `b` 1 time, and 2 other forms)"
    ]
