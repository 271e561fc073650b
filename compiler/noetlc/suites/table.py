"""Cases by table: one case for each row, with the row's values in the place of `{{ row.name }}`.

    table: [{amount: 10, status: completed}, {amount: 999, status: failed}]
    payload: {amount: "{{ row.amount }}"}

A text that is nothing but the braces becomes the value, of whatever type; in a longer text stands the value's own text.
This is no template: a name is put in, and nothing is evaluated. Other braces stay as they are, since they may be data.
"""

import re

from noetlc.reading.reader import Reader, unknown
from noetlc.source.nodes import Mapping, Node, Scalar, Sequence, mapping_at, scalar_at, sequence_at

NAME = re.compile(r"\{\{\s*row\.([\w-]+)\s*\}\}", re.ASCII)
"""The place of a value of a row, with its name."""

_OTHER = re.compile(r"\{\{[^}]*\brow\b[^}]*\}\}", re.ASCII)


def with_row(r: Reader, node: Node, row: Mapping | None) -> Node:
    """The node with a row's values; reports names that the row does not have, and braces that ask for more than one.

    The values keep their places in the table. Without a row every such brace is reported.
    """
    # Depth is bounded by the reader of YAML.
    if isinstance(node, Mapping):
        entries = [(key, with_row(r, value, row)) for key, value in node.entries]
        # The same node where nothing was put in: a payload of thousands of values is copied for no row that does not
        # name it.
        return mapping_at(entries, node.span) if any(a[1] is not b[1] for a, b in _pairs(entries, node)) else node
    if isinstance(node, Sequence):
        items = [with_row(r, item, row) for item in node.items]
        return sequence_at(items, node.span) if any(map(_differ, items, node.items)) else node
    if not isinstance(node.value, str) or "row" not in node.text or "{{" not in node.text:
        return node
    return _filled(r, node, row)


def has_rows(text: str) -> bool:
    """Whether a text names a value of a row."""
    return NAME.search(text) is not None


def _pairs(entries: list[tuple[Scalar, Node]], node: Mapping) -> "zip[tuple[tuple[Scalar, Node], tuple[Scalar, Node]]]":
    return zip(entries, node.entries, strict=True)


def _differ(one: Node, other: Node) -> bool:
    return one is not other


def _filled(r: Reader, node: Scalar, row: Mapping | None) -> Node:
    whole = NAME.fullmatch(node.text.strip())
    if whole is not None:
        return _cell(r, node, row, whole.group(1)) or node
    # What is left with `row` in it was meant as one, and would be data without a word: `{{ row.n + 1 }}`.
    for braces in _OTHER.findall(NAME.sub("", node.text)):
        help = "write `{{ row.name }}`: a value of a row is put in, and nothing is evaluated"
        r.report("NL104", f"`{braces}` is more than the name of a value", node.span, help=help)

    def text_of(found: re.Match[str]) -> str:
        cell = _cell(r, node, row, found.group(1))
        if cell is not None and not isinstance(cell, Scalar):
            r.report("NL104", f"`{found.group(0)}` is a list or a mapping, which no text can hold", node.span)
        return cell.text if isinstance(cell, Scalar) else found.group(0)

    text = NAME.sub(text_of, node.text)
    return node if text == node.text else scalar_at(text, text, style=node.style, span=node.span, source=node.source)


def _cell(r: Reader, node: Scalar, row: Mapping | None, name: str) -> Node | None:
    if row is None:
        r.report("NL104", f"`row.{name}`: this case has no `table`", node.span, help="write `table: [{name: value}]`")
        return None
    cell = row.get(name)
    if cell is None:
        known = tuple(row.index)
        unknown(r, "NL104", f"`row.{name}`: this row has no `{name}`", node.span, name=name, known=known)
    return cell
