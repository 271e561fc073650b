"""The concrete syntax tree of a YAML document: a span for every key and every value.

Duplicate keys and their order are kept, aliases are already followed (an aliased node keeps the span of its
anchor), and nothing is interpreted beyond YAML itself. Mutable only while the reader builds it.
"""

from typing import TypeAlias

from noetl_ir.expr import Json
from noetl_ir.span import Span


class Scalar:
    """A scalar: `value` as YAML 1.1 reads it (timestamps stay text), `text` as its characters are after unescaping.

    `style` is YAML's: `''` plain, `'`, `"`, `|` or `>`. `source` is (offset, end) of the token in the file's text,
    so that a place inside the value can be mapped back into the file (`Source.inner_span`).
    """

    __slots__ = ("source", "span", "style", "text", "value")

    def __init__(self, value: None | bool | int | float | str, text: str, style: str, span: Span, source: tuple[int, int]) -> None:
        self.value = value
        self.text = text
        self.style = style
        self.span = span
        self.source = source


class Mapping:
    """A mapping: `entries` in file order, duplicates included; keys are text as written."""

    __slots__ = ("entries", "span")

    def __init__(self, entries: "list[tuple[Scalar, Node]]", span: Span) -> None:
        self.entries = entries
        self.span = span

    def get(self, key: str) -> "Node | None":
        """The value of the last entry under `key`, or None."""
        found: Node | None = None
        for name, node in self.entries:
            if name.text == key:
                found = node
        return found

    def key(self, key: str) -> Scalar | None:
        """The key node of the last entry under `key`, or None."""
        found: Scalar | None = None
        for name, _ in self.entries:
            if name.text == key:
                found = name
        return found


class Sequence:
    """A list of nodes."""

    __slots__ = ("items", "span")

    def __init__(self, items: "list[Node]", span: Span) -> None:
        self.items = items
        self.span = span


Node: TypeAlias = Scalar | Mapping | Sequence


def value_of(node: Node) -> Json:
    """The plain value of a node; of duplicate keys the last wins. Depth is bounded by the reader."""
    if isinstance(node, Scalar):
        return node.value
    if isinstance(node, Sequence):
        return [value_of(item) for item in node.items]
    return {key.text: value_of(item) for key, item in node.entries}
