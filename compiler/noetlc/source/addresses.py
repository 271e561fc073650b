"""The address of a place in a document: the names that lead to it, as `workflow/step fetch/next/arcs/step store`.

It says where something is without lines, so that it stays when lines move. An item of a list is called by the key that
names it and its value, else by its number. In a file of several documents the first part is `document N`.
"""

from bisect import bisect_right
from collections.abc import Sequence as Items

from noetl_ir.span import Span
from noetlc.source.nodes import Mapping, Node, Scalar, Sequence

_NAMING = ("step", "name", "key", "id")
"""The keys that name an item of a list, the first that is there."""

_Place = tuple[int, int]
_Part = tuple[_Place, _Place, str, Node]


class Addresses:
    """The addresses in the documents of one file."""

    def __init__(self, documents: Items[Node]) -> None:
        self._documents = documents
        self._parts: dict[int, tuple[list[_Place], list[_Part]]] = {}

    def address_of(self, span: Span) -> str:
        """The address of what is written where a span begins, or before it in its line; "" outside of all documents."""
        place = (span.line, span.column)
        # A finding may stand between two documents, as one about a `---` does: it belongs to the document before.
        number = bisect_right([_ends(root)[0] for root in self._documents], place) - 1
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
            # What a merge key brought in stands first in `entries` and elsewhere in the file, so the order of the
            # file is made here.
            parts = sorted(_parts(node), key=lambda part: part[:2])
            self._parts[id(node)] = [part[0] for part in parts], parts
        begins, parts = self._parts[id(node)]
        at = bisect_right(begins, place) - 1
        # A place behind an entry in its last line, as a comma or a comment, still counts as the entry's own.
        if at < 0 or (place > parts[at][1] and place[0] != parts[at][1][0]):
            return None
        return parts[at][2:]


def _parts(node: Mapping | Sequence) -> list[_Part]:
    """The parts of a node: where each begins and ends, its name, and the node to go on in."""
    if isinstance(node, Mapping):
        return [(_ends(key)[0], _end(key, value), key.text, value) for key, value in node.entries]
    return [(*_ends(item), _called(item, number), item) for number, item in enumerate(node.items)]


def _called(item: Node, number: int) -> str:
    if isinstance(item, Mapping):
        for key in _NAMING:
            value = item.get(key)
            if isinstance(value, Scalar) and value.text:
                return f"{key} {value.text}"
    return str(number)


def _end(key: Scalar, value: Node) -> _Place:
    """Where an entry ends; one whose value is an alias, and stands elsewhere, ends with its key."""
    begin, end = _ends(value)
    return end if begin >= _ends(key)[0] else _ends(key)[1]


def _ends(node: Node) -> tuple[_Place, _Place]:
    span = node.span
    return (span.line, span.column), (span.end_line, span.end_column)
