"""The concrete syntax tree of a YAML document: a span for every key and every value.

Duplicate keys and their order are kept, aliases are already followed (an aliased node keeps the span of its
anchor), and nothing is interpreted beyond YAML itself. Mutable only while the reader builds it.
A node keeps the two marks that the parser made anyway and works its span out when asked: most never are.
Nodes have no constructor, because the reader fills their slots faster by hand; `scalar_at`, `mapping_at` and
`sequence_at` are for everybody else.
"""

from collections.abc import Callable, Iterator
from typing import Protocol, TypeAlias

from noetl_ir.expr import Json
from noetl_ir.span import Span


class Mark(Protocol):
    """A place in the text of a file, all three counted from 0 in code points."""

    @property
    def index(self) -> int: ...
    @property
    def line(self) -> int: ...
    @property
    def column(self) -> int: ...


class NoMark:
    """A mark for nodes that no parser made."""

    __slots__ = ("column", "index", "line")

    def __init__(self, index: int, line: int, column: int) -> None:
        self.index = index
        self.line = line
        self.column = column


_made: Callable[[type[Span], tuple[int, int, int, int]], Span] = tuple.__new__  # half the time of `Span(…)`


class _Written:
    """A node: what stands in a file between two marks."""

    __slots__ = ("end", "start")

    start: Mark
    end: Mark

    @property
    def span(self) -> Span:
        """From the first character (tag and anchor included) to the end of what it holds."""
        start, end = self.start, self.end
        return _made(Span, (start.line + 1, start.column + 1, end.line + 1, end.column + 1))


class Scalar(_Written):
    """A scalar: `value` as YAML 1.1 reads it (timestamps stay text), `text` as it is after unescaping.

    `style` is YAML's: `''` plain, `'`, `"`, `|` or `>`. A key's `value` is its text, whatever it looks like.
    """

    __slots__ = ("style", "text", "value")

    text: str
    style: str
    value: bool | int | float | str | None

    @property
    def source(self) -> tuple[int, int]:
        """(offset, end) of the scalar in the file's text, for `Source.inner_span`."""
        return self.start.index, self.end.index


class Mapping(_Written):
    """A mapping: `entries` in file order, duplicates included; keys are text as written.

    `index` holds the last entry under each key. What a merge key brought in comes first.
    """

    __slots__ = ("entries", "index")

    entries: "list[tuple[Scalar, Node]]"
    index: "dict[str, tuple[Scalar, Node]]"

    def get(self, key: str) -> "Node | None":
        """The value of the last entry under `key`, or None."""
        entry = self.index.get(key)
        return None if entry is None else entry[1]

    def key(self, key: str) -> Scalar | None:
        """The key node of the last entry under `key`, or None."""
        entry = self.index.get(key)
        return None if entry is None else entry[0]


class Sequence(_Written):
    """A list of nodes."""

    __slots__ = ("items",)

    items: "list[Node]"


Node: TypeAlias = Scalar | Mapping | Sequence


def all_nodes(root: Node, *, keys: bool = True) -> Iterator[Node]:
    """Every node of a tree, keys too where they are wanted; an aliased one once."""
    seen: set[int] = set()
    waiting = [root]
    while waiting:
        node = waiting.pop()
        # Aliases give the same node again; a bomb of them is walked once for each node that is written.
        if id(node) in seen:
            continue
        seen.add(id(node))
        yield node
        if isinstance(node, Mapping):
            waiting += [part for entry in node.entries for part in (entry if keys else entry[1:])]
        elif not isinstance(node, Scalar):
            waiting += node.items


def value_of(node: Node) -> Json:
    """The plain value of a node; of duplicate keys the last wins. Depth is bounded by the reader."""
    if isinstance(node, Scalar):
        return node.value
    if isinstance(node, Sequence):
        return [value_of(item) for item in node.items]
    # Recursion is safe here: the reader refused what is deeper than a hundred, aliases followed.
    return {key.text: value_of(item) for key, item in node.entries}


def scalar_at(
    value: bool | int | float | str | None, text: str, *, style: str, span: Span, source: tuple[int, int]
) -> Scalar:
    """A scalar that no parser made; `source` is (offset, end) in the file's text."""
    node = Scalar()
    node.value, node.text, node.style = value, text, style
    node.start, node.end = _marks_of(span, source)
    return node


def key_as(key: Scalar, name: str) -> Scalar:
    """A key under another name, at its place."""
    return scalar_at(name, name, style=key.style, span=key.span, source=key.source)


def mapping_at(entries: list[tuple[Scalar, Node]], span: Span) -> Mapping:
    """A mapping that no parser made."""
    node = Mapping()
    node.entries = entries
    node.index = {entry[0].text: entry for entry in entries}
    node.start, node.end = _marks_of(span, (0, 0))
    return node


def sequence_at(items: list[Node], span: Span) -> Sequence:
    """A list that no parser made."""
    node = Sequence()
    node.items = items
    node.start, node.end = _marks_of(span, (0, 0))
    return node


def _marks_of(span: Span, source: tuple[int, int]) -> tuple[NoMark, NoMark]:
    start = NoMark(source[0], span.line - 1, span.column - 1)
    return start, NoMark(source[1], span.end_line - 1, span.end_column - 1)
