"""Tables of cases in files of tests: what their cells stand for, and the names of their columns.

A cell stands where its case says `{{ row.NAME }}`, so that it may be a name of the playbook; and NAME is a name itself,
which the keys of the rows declare.
"""

import re
from collections.abc import Iterator

from noetl_ir.records import NamedTuple
from noetl_ir.span import Span
from noetlc.lsp.symbols import Scalars, scalars_in
from noetlc.source.nodes import Mapping, Node, Scalar, Sequence, scalar_at
from noetlc.source.text import Source
from noetlc.suites.table import NAME, has_rows

_COLUMN = re.compile(r"[A-Za-z_][\w-]*", re.ASCII)


class RowColumn(NamedTuple):
    """A place with the name of a column: the case that it is of, counted from 0; `declares` says that it is a key of a
    row.
    """

    case: int
    name: str
    span: Span
    declares: bool


class Filled(NamedTuple):
    """A scalar with what rows put into it. `cell` says that it is one of a cell, in the table; `joined` that its text
    is put together from several, and stands nowhere. `rows` are those with which it is so.
    """

    one: Scalars
    rows: tuple[Mapping, ...]
    cell: bool = False
    joined: bool = False


def rows_of(root: Mapping, one: Scalars) -> tuple[Mapping, ...]:
    """The rows of the case that a scalar is in; none outside of cases, in the table itself, and without a table."""
    path = one.path
    if path[:1] != ("cases",) or len(path) < 3 or path[2] == "table":
        return ()
    case = one.levels[1].node
    item = case.items[int(path[1])] if isinstance(case, Sequence) else case
    return _rows(item)


def filled_by_rows(one: Scalars, rows: tuple[Mapping, ...]) -> Iterator[Filled]:
    """A scalar as it is with each row."""
    if not rows or one.is_key or not has_rows(one.scalar.text):
        yield Filled(one, rows)
        return
    whole = NAME.fullmatch(one.scalar.text.strip())
    for row in rows:
        if whole is None:
            yield Filled(one._replace(scalar=_joined(one.scalar, row)), (row,), joined=True)
        elif (cell := row.get(whole[1])) is not None:
            for inner in scalars_in(cell):
                yield Filled(Scalars(inner.scalar, (*one.levels, *inner.levels), inner.is_key), (row,), cell=True)


def text_with(text: str, row: Mapping) -> str:
    """A text with the cells of a row in it, as far as the row has them."""

    def cell_of(found: re.Match[str]) -> str:
        cell = row.get(found[1])
        return cell.text if isinstance(cell, Scalar) else found[0]

    return NAME.sub(cell_of, text)


def _joined(scalar: Scalar, row: Mapping) -> Scalar:
    text = text_with(scalar.text, row)
    return scalar_at(text, text, style=scalar.style, span=scalar.span, source=scalar.source)


def columns_in(source: Source, root: Mapping) -> Iterator[RowColumn]:
    """Every place with the name of a column."""
    for one in scalars_in(root):
        match one.path:
            case ("cases", int(case), "table", int(), name) if one.is_key:
                yield RowColumn(case, str(name), source.inner_span(one.scalar, 0, len(one.scalar.text)), declares=True)
            case ("cases", int(case), *_) if not one.is_key and rows_of(root, one):
                for found in NAME.finditer(one.scalar.text):
                    span = source.inner_span(one.scalar, found.start(1), found.end(1))
                    yield RowColumn(case, found[1], span, declares=False)


def alike(columns: tuple[RowColumn, ...], asked: RowColumn) -> list[RowColumn]:
    """The places with the name of one column, also of cases that share rows or what they say by an anchor."""
    named = [each for each in columns if each.name == asked.name]
    cases, size = {asked.case}, 0
    while len(cases) > size:
        size = len(cases)
        spans = {each.span for each in named if each.case in cases}
        cases |= {each.case for each in named if each.span in spans}
    return [each for each in named if each.case in cases]


def column_refusal(columns: tuple[RowColumn, ...], asked: RowColumn, new: str) -> str:
    """Why a column cannot have another name; "" where it can."""
    if not _COLUMN.fullmatch(new):
        return f"`{new}` is no name of a column: write letters, digits, `_` and `-`"
    cases = {each.case for each in alike(columns, asked)}
    taken = [each for each in columns if each.case in cases and each.name == new != asked.name]
    if not taken:
        return ""
    first = next((each for each in taken if each.declares), taken[0])
    return f"the table has a column `{new}` already, in line {first.span.line}"


def _rows(case: Node) -> tuple[Mapping, ...]:
    table = case.get("table") if isinstance(case, Mapping) else None
    return tuple([row for row in table.items if isinstance(row, Mapping)]) if isinstance(table, Sequence) else ()
