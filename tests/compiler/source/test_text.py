"""Offsets, lines and columns of a file agree."""

from hypothesis import given
from hypothesis import strategies as st

from noetl_ir.span import Span
from noetlc.source.text import Source, lines_of


def test_lines_end_where_editors_end_them() -> None:
    source = Source("t", "a\nbb\r\nc\rd\x85e\u2028f\x0cg")
    assert [source.line_text(line) for line in range(6)] == ["", "a", "bb", "c", "d\x85e\u2028f\x0cg", ""]
    assert source.line_count == 4
    assert lines_of(source.text) == ["a\n", "bb\r\n", "c\r", "d\x85e\u2028f\x0cg"]


def test_spans_count_from_one_in_code_points() -> None:
    source = Source("t", "é😀x\nyz\n")
    assert source.span_of(2, 3) == Span(1, 3, 1, 4)
    assert source.span_of(0, 6) == Span(1, 1, 2, 3)
    assert source.span_of(7, 7) == Span(3, 1, 3, 1)


def test_ranges_outside_are_clipped() -> None:
    assert Source("t", "").span_of(-3, 9) == Span(1, 1, 1, 1)
    assert Source("t", "ab").span_of(5, 1) == Span(1, 3, 1, 3)


@given(st.text("ab\n\ré"), st.data())
def test_a_span_leads_back_to_its_text(text: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text)))
    line, column, _, _ = Source("t", text).span_of(start, start)
    rest = Source("t", text).line_text(line)[column - 1 :]
    assert text[start:].startswith(rest) or text[start - 1 : start + 1] == "\r\n"
