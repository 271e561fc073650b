"""Texts that are no YAML, with the lines blanked that are in the way."""

import pytest

from noetlc.lsp.repair import edited_lines, repaired


@pytest.mark.parametrize(
    ("broken", "blanked"),
    [
        ("a: 1\nb: 2\n", set()),
        ("a: 1\nb: [2\nc: 3\n", {2, 3}),
        ("a: 1\nb: 2: 3\nc: 3\n", {2}),
        ("a: 1\n  b: 2\nc: 3\n", {2}),
        ("a: *b\nc: 3\n", {1}),
        ("a:\n  - {x: 1\n  - y\nc: 3\n", {2, 3, 4}),
    ],
)
def test_the_broken_lines_are_blanked_and_nothing_moves(broken: str, blanked: set[int]) -> None:
    found = repaired(broken)
    assert found is not None
    assert found.blanked == blanked
    assert [len(line) for line in found.text.split("\n")] == [len(line) for line in broken.split("\n")]


def test_an_open_quote_is_looked_for_where_one_types() -> None:
    before = "a: 1\nb: fine\n" + "c: 3\n" * 50
    after = before.replace("fine", '"fine')
    found = repaired(after, edited_lines(before, after))
    assert found is not None
    assert found.blanked == {2}


@pytest.mark.parametrize(
    ("before", "after", "lines"),
    [
        ("a\nb\nc\n", "a\nx\nc\n", [2]),
        ("a\nb\n", "a\nx\ny\nb\n", [2, 3]),
        ("a\nb\nc\n", "a\nc\n", [2]),
        ("a\n", "a\nb", [2]),
        ("a\n", "a\n", [2]),
    ],
)
def test_which_lines_were_edited(before: str, after: str, lines: list[int]) -> None:
    assert list(edited_lines(before, after)) == lines
