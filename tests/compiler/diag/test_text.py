"""Diagnostics are shown with their lines and carets, whatever stands in the file."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noetl_cli.excerpts import ANSI, PLAIN, printable
from noetl_ir.span import NOWHERE, Span
from noetlc.diag.diagnostic import Diagnostic, Fix, Related, Severity
from noetlc.diag.text import one_line, rendered
from noetlc.source.text import Source


def shown(text: str, *span: int, message: str = "wrong") -> list[str]:
    """The lines of a plain error about that span, without the first."""
    found = Diagnostic("NL999", Severity.ERROR, message, Span(*span))
    return rendered(found, Source("t.yaml", text)).splitlines()[1:]


def test_everything_is_shown_in_its_place() -> None:
    found = Diagnostic(
        "NL999",
        Severity.WARNING,
        "wrong",
        Span(10, 4, 10, 7),
        help="do it",
        related=(Related(Span(2, 1, 2, 2), "here too"),),
        fix=Fix(Span(10, 4, 10, 7), "two\n   six", "make it right", safe=False),
    )
    text = "x\nb\n" + "\n" * 7 + "a: one, b\n"
    assert rendered(found, Source("t.yaml", text)) == (
        "t.yaml:10:4: warning[NL999] wrong\n"
        "   |\n"
        "10 | a: one, b\n"
        "   |    ^^^\n"
        "   = t.yaml:2:1: here too\n"
        "   |\n"
        " 2 | b\n"
        "   | ^\n"
        "   = help: do it\n"
        "   = fix: make it right (may change the meaning)\n"
        "   + a: two\n"
        "   +    six, b\n"
    )


def test_the_short_form_is_one_line() -> None:
    found = Diagnostic("NL999", Severity.NOTE, "one\ntwo", Span(3, 5, 3, 6))
    assert one_line(found, Source("t.yaml", "")) == "t.yaml:3:5: note[NL999] one\\x0atwo"


def test_a_finding_without_a_place_has_no_lines() -> None:
    found = Diagnostic("NL999", Severity.ERROR, "wrong", NOWHERE)
    assert rendered(found, Source("t.yaml", "a")) == "t.yaml: error[NL999] wrong\n"


@pytest.mark.parametrize(
    ("text", "span", "lines"),
    [
        ("", (1, 1, 1, 1), ["  |", "1 |", "  | ^"]),
        ("ab", (1, 3, 1, 3), ["  |", "1 | ab", "  |   ^"]),
        ("ab\n", (2, 1, 2, 1), ["  |", "2 |", "  | ^"]),
        ("\ta\tb", (1, 4, 1, 5), ["  |", "1 |     a    b", "  |          ^"]),
        ("漢字: x", (1, 5, 1, 6), ["  |", "1 | 漢字: x", "  |       ^"]),
        ("漢字", (1, 1, 1, 3), ["  |", "1 | 漢字", "  | ^^^^"]),
        ("e\u0301x", (1, 3, 1, 4), ["  |", "1 | e\u0301x", "  |  ^"]),
        ("a\x1b[31mb", (1, 7, 1, 8), ["  |", "1 | a\\x1b[31mb", "  |          ^"]),
        ("a\u202eb", (1, 2, 1, 3), ["  |", "1 | a\\u202eb", "  |  ^^^^^^"]),
    ],
)
def test_carets_stand_under_what_they_mean(text: str, span: tuple[int, ...], lines: list[str]) -> None:
    assert shown(text, *span) == lines


def test_spans_over_several_lines_show_the_first_and_the_last() -> None:
    text = "a: [one,\n    two,\n    six]\nb: 1\n"
    assert shown(text, 1, 4, 2, 8) == [
        "  |", "1 | a: [one,", "  |    ^^^^^", "2 |     two,", "  |     ^^^",
    ]  # fmt: skip
    assert shown(text, 1, 4, 3, 9) == [
        "  |", "1 | a: [one,", "  |    ^^^^^", "...", "3 |     six]", "  |     ^^^^",
    ]  # fmt: skip
    assert shown(text, 3, 5, 4, 1) == ["  |", "3 |     six]", "  |     ^^^^"]


def test_long_lines_are_cut_around_the_caret() -> None:
    text = "k: " + "x" * 300 + " wrong " + "y" * 300
    _, line, carets = shown(text, 1, 305, 1, 310)
    assert len(line) <= 110
    assert line.count("…") == 2
    assert line[carets.index("^") : carets.rindex("^") + 1] == "wrong"


def test_a_very_long_mark_is_cut_too() -> None:
    _, line, carets = shown("x" * 1_000_000, 1, 1, 1, 1_000_001)
    assert len(line) <= 110 and len(carets) <= 110


def test_a_very_long_line_of_a_fix_shows_the_fix() -> None:
    text = "x" * 500 + "010" + "y" * 500
    span = Span(1, 501, 1, 504)
    found = Diagnostic("NL999", Severity.ERROR, "wrong", span, fix=Fix(span, '"010"', "quote it"))
    last = rendered(found, Source("t", text)).splitlines()[-1]
    assert '"010"' in last and len(last) <= 110


@given(st.text("ab{}:  ", max_size=300), st.integers(1, 300), st.integers(0, 300), st.integers(60, 140))
def test_an_excerpt_is_no_wider_than_the_terminal(text: str, column: int, length: int, columns: int) -> None:
    column = min(column, len(text) + 1)
    end = min(column + length, len(text) + 1)
    fix = Fix(Span(1, column, 1, end), "x" * length, "write it")
    found = Diagnostic("NL999", Severity.ERROR, "wrong", Span(1, column, 1, end), fix=fix)
    lines = rendered(found, Source("t.yaml", text), PLAIN._replace(columns=columns)).splitlines()[1:]
    assert max(map(len, lines)) <= columns
    assert lines[2].startswith("  | ") and "^" in lines[2]


def test_a_line_that_fits_the_terminal_is_not_cut() -> None:
    text = "x" * 76
    found = Diagnostic("NL999", Severity.ERROR, "wrong", Span(1, 70, 1, 77))
    lines = rendered(found, Source("t.yaml", text), PLAIN._replace(columns=81)).splitlines()
    assert lines[2] == f"1 | {text}"


def test_colours_are_a_palette() -> None:
    found = Diagnostic("NL999", Severity.ERROR, "wrong", Span(1, 1, 1, 2))
    text = rendered(found, Source("t", "a"), ANSI)
    assert "\x1b[1;31merror[NL999]\x1b[0m wrong" in text
    assert "\x1b[1;31m^\x1b[0m" in text


@given(st.text(max_size=40), st.text(max_size=20), *[st.integers(1, 45)] * 4)
def test_nothing_in_a_file_reaches_the_terminal_raw(
    text: str, message: str, line: int, column: int, end_line: int, end_column: int
) -> None:
    out = "\n".join(shown(text, line, column, max(line, end_line), end_column, message=message)) + printable(message)
    assert all(char.isprintable() or char.isspace() for char in out.replace("\n", ""))
    assert "\x1b" not in out and "\u202e" not in out
