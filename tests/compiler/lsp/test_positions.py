"""Lines and columns ⇄ positions, in each way of counting."""

import pytest
from lsprotocol import types

from noetl_ir.span import Span
from noetlc.lsp.positions import Positions
from noetlc.source.text import Source

TEXT = "aé🦊z\r\nsecond\u2028still second\rthird"


@pytest.mark.parametrize(("encoding", "columns"), [("utf-8", 7), ("utf-16", 4), ("utf-32", 3)])
def test_a_column_counts_what_was_agreed(encoding: str, columns: int) -> None:
    at = Positions(Source("a", TEXT), encoding)
    assert at.position(1, 4) == types.Position(0, columns)
    assert at.place(types.Position(0, columns)) == (1, 4)
    assert TEXT[at.offset(types.Position(0, columns))] == "z"


def test_a_line_ends_where_editors_end_it() -> None:
    at = Positions(Source("a", TEXT))
    assert TEXT[at.offset(types.Position(1, 7)) :].startswith("still")
    assert TEXT[at.offset(types.Position(2, 0)) :] == "third"


def test_places_outside_are_clipped() -> None:
    at = Positions(Source("a", TEXT))
    assert at.offset(types.Position(9, 9)) == len(TEXT)
    assert at.place(types.Position(0, 99)) == (1, 5)
    assert at.range(Span(3, 1, 9, 1)) == types.Range(types.Position(2, 0), types.Position(2, 5))


def test_a_position_within_a_pair_of_units_is_before_the_character() -> None:
    at = Positions(Source("a", TEXT))
    assert at.place(types.Position(0, 3)) == (1, 3)
