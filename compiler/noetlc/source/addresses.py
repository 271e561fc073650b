"""The address of a place in a document: the names that lead to it, as `workflow/step fetch/next/arcs/step store`.

It says where something is without lines, so that it stays when lines move. An item of a list is called by the key that
names it and its value, else by its number. In a file of several documents the first part is `document N`.
"""

from bisect import bisect_right
from collections.abc import Sequence as Items
from itertools import pairwise

from noetl_ir.span import Span
from noetlc.source.nodes import Mapping, Node, Scalar, Sequence

_NAMING = ("step", "name", "key", "id")
"""The keys that name an item of a list, the first that is there."""

_Place = tuple[int, int]


class Addresses:
    """The addresses in the documents of one file."""

    def __init__(self, documents: Items[Node]) -> None:
        self._documents = documents
        self._parts: dict[int, tuple[list[_Place], list[_Part]]] = {}

    def address_of(self, span: Span) -> str:
        """The address of what is written where a span begins, or before it in its line; "" outside of all documents."""
        place = (span.line - 1, span.column - 1)
        # A finding may stand between two documents, as one about a `---` does: it belongs to the document before.
        number = bisect_right([_begin(root) for root in self._documents], place) - 1
        if number < 0:
            return ""
        names = self._inside(self._documents[number], place)
        return "/".join([f"document {number}", *names] if len(self._documents) > 1 else names)

    def _inside(self, node: Node, place: _Place) -> list[str]:
        names: list[str] = []
        while not isinstance(node, Scalar):
            found = self._part(node, place)
            if found is None:
                break
            names.append(found[0])
            node = found[1]
        return names

    def _part(self, node: Mapping | Sequence, place: _Place) -> tuple[str, Node] | None:
        """The name and the node of the part of a node that a place is in."""
        # Each node is sorted once: a baseline of a thousand findings asks for places in the same lists again and
        # again.
        if id(node) not in self._parts:
            self._parts[id(node)] = _parts(node)
        begins, parts = self._parts[id(node)]
        at = bisect_right(begins, place) - 1
        if at < 0:
            return None
        key, part = parts[at]
        # A place behind an entry in its last line, as a comma or a comment, still counts as the entry's own.
        end = _end(key, part)
        if place > end and place[0] != end[0]:
            return None
        return (key.text if isinstance(key, Scalar) else _called(part, key)), part


_Part = tuple[Scalar | int, Node]
"""A part of a node: the key of an entry or the number of an item, and the node to go on in."""


def _parts(node: Mapping | Sequence) -> tuple[list[_Place], list[_Part]]:
    """Where each part of a node begins, and the parts, both in the order of the file."""
    parts: list[_Part]
    if isinstance(node, Mapping):
        parts = [*node.entries]
        begins = [_begin(key) for key, _ in node.entries]
    else:
        parts = [*enumerate(node.items)]
        begins = [_begin(item) for item in node.items]
    # What a merge key brought in stands first in `entries` and elsewhere in the file.
    if any(before > begin for before, begin in pairwise(begins)):
        order = sorted(range(len(parts)), key=begins.__getitem__)
        parts, begins = [parts[at] for at in order], [begins[at] for at in order]
    return begins, parts


def _called(item: Node, number: int) -> str:
    if isinstance(item, Mapping):
        for key in _NAMING:
            value = item.get(key)
            if isinstance(value, Scalar) and value.text:
                return f"{key} {value.text}"
    return str(number)


def _end(key: Scalar | int, value: Node) -> _Place:
    """Where a part ends; an entry whose value is an alias, and stands elsewhere, ends with its key."""
    end = (key if isinstance(key, Scalar) and _begin(value) < _begin(key) else value).end
    return end.line, end.column


def _begin(node: Node) -> _Place:
    return node.start.line, node.start.column
