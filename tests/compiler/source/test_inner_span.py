"""Places inside of a scalar's value are found in the file, whatever the style."""

from time import process_time

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from noetlc.source.nodes import Mapping, Scalar, Sequence
from noetlc.source.yaml_reader import Reading, read_yaml

CHARS = st.text("ab '\"\\:#{}-|\n\t\u00e9\u2028\U0001f600", max_size=25)


def read(text: str) -> Reading:
    return read_yaml("t.yaml", text.encode())


def scalars(reading: Reading) -> list[Scalar]:
    """Every scalar of a file, keys included."""
    found: list[Scalar] = []
    waiting = list(reading.documents)
    while waiting:
        match waiting.pop():
            case Scalar() as scalar:
                found.append(scalar)
            case Mapping() as mapping:
                found += [key for key, _ in mapping.entries]
                waiting += [value for _, value in mapping.entries]
            case Sequence() as sequence:
                waiting += sequence.items
    return found


def place_of(text: str, part: str) -> tuple[str, str]:
    """Where `part` of the value of the only value in `text` is: `line:column` and what is written there."""
    reading = read(text)
    scalar = next(item for item in scalars(reading) if part in item.text)
    start = scalar.text.index(part)
    span = reading.source.inner_span(scalar, start, start + len(part))
    lines = text.splitlines(keepends=True)
    offset = sum(map(len, lines[: span.line - 1])) + span.column - 1
    end = sum(map(len, lines[: span.end_line - 1])) + span.end_column - 1
    return str(span), text[offset:end]


@pytest.mark.parametrize(
    ("text", "part", "place", "written"),
    [
        ("a: one two", "two", "1:8", "two"),
        ("a: one\n  two\n  six", "two s", "2:3", "two\n  s"),
        ("a: one\n\n  two", "two", "3:3", "two"),
        ("a: 'it''s so'", "s so", "1:9", "s so"),
        ("a: 'it''s so'", "'", "1:7", "''"),
        ("a: 'one\n  two'", "two", "2:3", "two"),
        ('a: "x\\ty z"', "z", "1:10", "z"),
        ('a: "x\\u00e9z"', "é", "1:6", "\\u00e9"),
        ('a: "one \\\n   two"', "two", "2:4", "two"),
        ('a: "one\n\n   two"', "two", "3:4", "two"),
        ("a: |\n  one\n    two\n", "  two", "3:3", "  two"),
        ("a: |2\n    one\n   two\n", "two", "3:4", "two"),
        ("- - |1\n    one\n", " one", "2:4", " one"),
        ("a: >\n  one\n  two\n\n  six\n", "six", "5:3", "six"),
        ("a: >-\n\n  one\n   two\n", "two", "4:4", "two"),
        ("a: |+ # note\n  one\n\n", "\n\n", "2:6", "\n\n"),
        ("a: !!str &x one two", "two", "1:17", "two"),
        ("a: &x # note\n  one two", "two", "2:7", "two"),
        ("{a: 'x', b: [one two]}", "two", "1:18", "two"),
    ],
)
def test_a_part_of_a_value_is_found(text: str, part: str, place: str, written: str) -> None:
    assert place_of(text, part) == (place, written)


def test_an_alias_leads_to_its_anchor() -> None:
    reading = read("a: &x 'one two'\nb: *x\n")
    (document,) = reading.documents
    assert isinstance(document, Mapping)
    alias = document.get("b")
    assert isinstance(alias, Scalar)
    assert str(reading.source.inner_span(alias, 4, 7)) == "1:12"


def test_ends_and_empty_ranges_have_a_place() -> None:
    reading = read("a: 'one'")
    scalar = next(item for item in scalars(reading) if item.text == "one")
    assert reading.source.inner_span(scalar, 3, 3)[:2] == (1, 8)
    assert reading.source.inner_span(scalar, 0, 0) == (1, 5, 1, 5)
    assert reading.source.inner_span(scalar, 99, 120)[:2] == (1, 8)


@st.composite
def written(draw: st.DrawFn) -> str:
    """A value in some style, as PyYAML writes it, at some depth."""
    value = draw(CHARS)
    style = draw(st.sampled_from(["", "'", '"', "|", ">"]))
    width = draw(st.sampled_from([4, 20, 1000]))
    tree = draw(st.sampled_from([lambda v: {"k": v}, lambda v: [v], lambda v: {"k": [{"m": v}]}]))(value)
    text: str = yaml.dump(tree, default_style=style, width=width, allow_unicode=True)
    return text


@given(written())
@example("k: |2\n   x\n  y\n")
def test_every_character_of_a_value_is_found(text: str) -> None:
    reading = read(text)
    for scalar in scalars(reading):
        _, end = scalar.source
        for place, char in enumerate(scalar.text):
            span = reading.source.inner_span(scalar, place, place + 1)
            if scalar.style in ("'", "|", "") and char.isalnum():
                line = reading.source.line_text(span.line)
                assert line[span.column - 1] == char
            assert scalar.span[:2] <= span[:2] < span[2:] <= reading.source.span_of(end, end)[:2]
            assert span != scalar.span or len(scalar.text) == 1  # the fall-back was not needed


@given(st.text("ab \n\"'|>-+#:012\t\r\u2028", max_size=40))
def test_text_of_any_shape_is_found_or_given_up(text: str) -> None:
    reading = read("k: " + text)
    for scalar in scalars(reading):
        for place in range(len(scalar.text)):
            span = reading.source.inner_span(scalar, place, place + 1)
            assert scalar.span[:2] <= span[:2] <= span[2:]


def test_many_places_in_one_long_value_take_time_in_proportion() -> None:
    text = "x = {{ a }} " * 20_000
    reading = read(f'a: "{text}"')
    scalar = next(item for item in scalars(reading) if len(item.text) > 1)
    begun = process_time()
    for at in range(0, len(text), 12):
        assert reading.source.inner_span(scalar, at, at + 1)[:2] == (1, 5 + at)
    assert process_time() - begun < 20  # reading the value again for each takes an hour
