"""A YAML syntax error says what is wrong in the writer's words, at the place where it is."""

import pytest

from noetlc.source.yaml_reader import read_yaml


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        ("a: b: c", "1:4", "a `: ` inside of a value that is not quoted"),
        ("a: 1\n  b: 2", "2:3", "this line is indented deeper than the one above, which already has a value"),
        (
            "a:\n  b: 1\n c: 2",
            "3:2",
            "the indentation fits nothing above; the keys around it begin in column 1",
        ),
        (
            "- a\n b: 1\n- c",
            "2:2",
            "this line is indented deeper than the one above, which already has a value",
        ),
        ("- a\nb: 1", "2:1", "a key where a list item is expected"),
        ("a: b\n- c", "2:1", "a list item where a key is expected"),
        ("k: v\nname:foo\nb: 1", "2:1", "no space after the colon of `name:`"),
        ("key: value\nother\n", "2:1", "no colon behind `other`"),
        ('a: "x" y', "1:8", 'text after the closing " of a value'),
        ('a: "x\nb: 1', "1:4", 'the quote " that begins here is never closed'),
        ("a: 'x\nb: 1", "1:4", "the quote ' that begins here is never closed"),
        ('a: "\\d"', "1:5", "`\\d` is no escape of a YAML double-quoted text"),
        ('a: "x\\ud800"', "1:6", "`\\u` needs the hexadecimal digits of a Unicode character"),
        ("a: @x", "1:4", "the character @ cannot begin a value"),
        ("a: `x`", "1:4", "the character ` cannot begin a value"),
        ("a: *.txt", "1:4", "`*` begins an alias, and no name follows"),
        ("a: & b", "1:4", "`&` begins an anchor, and no name follows"),
        ("a: | text", "1:6", "text after `|` or `>`"),
        ("a: - b", "1:4", "a list item where none can stand"),
        ("a: [1, 2\nb: 3", "2:2", "no `,` or `]` after an item in brackets"),
        ("a: {b: 1\nc: 3", "2:2", "no `,` or `}` after an entry in braces"),
        ("a: ]", "1:4", "a value is missing here"),
        ('"a" "b"', "1:5", "text after the end of the document"),
        ("%YAML 2.0\n---\na", "1:1", "this `%YAML` version is not read"),
        ("!foo!bar x", "1:1", "`!` begins a tag, and this is none: found undefined tag handle"),
    ],
)
def test_a_syntax_error_names_cause_and_place(text: str, place: str, message: str) -> None:
    found = read_yaml("t.yaml", text.encode()).diagnostics
    assert [(item.code, str(item.span), item.message) for item in found] == [("NL003", place, message)]


@pytest.mark.parametrize(
    ("text", "span"),
    [
        ("a: {{ x }} y", (1, 4, 1, 13)),
        ("- {{ x }}/c", (1, 3, 1, 12)),
        ('a: {{ "x" if y else "z" }}\nb: 1', (1, 4, 1, 27)),
    ],
)
def test_a_template_without_quotes_is_recognised(text: str, span: tuple[int, int, int, int]) -> None:
    (found,) = read_yaml("t.yaml", text.encode()).diagnostics
    assert (found.code, found.span) == ("NL020", span)


def test_a_template_without_quotes_may_go_over_lines() -> None:
    found = read_yaml("t.yaml", b"url: {{ a\n  }} b\n").diagnostics
    assert [(item.code, str(item.span)) for item in found] == [("NL020", "1:6"), ("NL003", "2:6")]


@pytest.mark.parametrize("text", ["a:\n\tb: 1", "a:\n  - x\n\t- y", "\ta: 1"])
def test_a_tab_in_the_indentation_is_recognised(text: str) -> None:
    (found,) = read_yaml("t.yaml", text.encode()).diagnostics
    assert found.code == "NL021"
    assert "\t" not in (found.fix.text if found.fix else "\t")


def test_what_the_place_belongs_to_is_shown_too() -> None:
    (found,) = read_yaml("t.yaml", b"a: [1,\n  2\nb: 3").diagnostics
    assert [(str(item.span), item.message) for item in found.related] == [("1:4", "the list in brackets begins here")]


@pytest.mark.parametrize(
    "fixed", ["a: b: c", "a: {{ x }}", "a: {{ x }} y", "k: v\nname:foo\nb: 1", "w:\n  -step: a", "a: 010"]
)
def test_a_fix_makes_the_finding_go_away(fixed: str) -> None:
    reading = read_yaml("t.yaml", fixed.encode())
    (found,) = reading.diagnostics
    assert found.fix is not None
    lines = fixed.split("\n")
    span = found.fix.span
    line = lines[span.line - 1]
    lines[span.line - 1] = line[: span.column - 1] + found.fix.text + line[span.end_column - 1 :]
    after = read_yaml("t.yaml", "\n".join(lines).encode()).diagnostics
    assert found.code not in [item.code for item in after]
