"""Where the parts of a mapping or list stand in the text: what belongs to each, and the lines above it."""

from re import compile as pattern

from noetl_ir.records import NamedTuple
from noetlc.source.nodes import Mapping, Node, Scalar, Sequence

_ALIAS = pattern(r":?\s*\*[^\s,\[\]{}]+")
_REST = pattern(r"[ \t]*(?:#[^\n]*)?(?=\n|$)")


class Refusal(Exception):
    """A file that cannot be rewritten: what is in the way, and where."""

    def __init__(self, message: str, node: Node) -> None:
        super().__init__(message)
        self.node = node


class NodeEntry(NamedTuple):
    """A key with its value, or an item of a list (`key` is then the item).

    `lead` is where the lines above it begin, `start` where it begins (for an item: its dash), `end` where its value
    ends, `stop` where what else stands in that line ends. `flow`: inside of brackets. `shared`: an alias.
    """

    key: Scalar | None
    value: Node
    lead: int
    start: int
    end: int
    stop: int
    flow: bool
    shared: bool


def is_flow(text: str, node: Mapping | Sequence) -> bool:
    """Whether it is written in brackets."""
    return text[node.end.index - 1 : node.end.index] in ("}", "]") and text[node.start.index] in "{["


def entries_of(text: str, mapping: Mapping) -> list[NodeEntry]:
    """The keys of a mapping with their values."""
    flow, found = is_flow(text, mapping), list[NodeEntry]()
    above = mapping.start.index
    for key, value in mapping.entries:
        # What a merge key brought stands at its anchor: to rewrite it here would change what else uses the anchor.
        if not mapping.start.index <= key.start.index < mapping.end.index:
            raise Refusal("a merge key `<<` in a construct that changes: write out what it brings", mapping)
        # The reader gives an alias the node of its anchor, so a value from elsewhere in the file is one.
        shared = not key.end.index <= value.start.index <= mapping.end.index
        end = _end_of_alias(text, key.end.index) if shared else max(key.end.index, end_of(text, value))
        found.append(_entry(text, key, value, above, key.start.index, end, flow=flow, shared=shared))
        above = found[-1].stop
    return found


def items_of(text: str, listed: Sequence) -> list[NodeEntry]:
    """The items of a list."""
    flow, found = is_flow(text, listed), list[NodeEntry]()
    above = listed.start.index
    for item in listed.items:
        shared = not above <= item.start.index <= listed.end.index
        # Items have no key to find an alias by; in brackets it is found behind the comma.
        if shared and not flow:
            raise Refusal("an alias as an item of a list that changes: write out what it stands for", item)
        start = item.start.index if flow else _dash(text, above)
        end = _end_of_alias(text, above) if shared else max(start + (not flow), end_of(text, item))
        found.append(_entry(text, None, item, above, start, end, flow=flow, shared=shared))
        above = found[-1].stop
    return found


def _entry(
    text: str, key: Scalar | None, value: Node, above: int, start: int, end: int, *, flow: bool, shared: bool
) -> NodeEntry:
    # In brackets what follows on the line belongs to the next entry.
    rest = None if flow else _REST.match(text, end)
    margin = text.rfind("\n", 0, start) + 1
    # Comments above belong to what they stand above, from the end of the line of the entry before.
    lead = min(above if above == 0 or text[above - 1] == "\n" else text.find("\n", above) + 1 or start, margin)
    return NodeEntry(key, value, max(lead, 0), start, end, rest.end() if rest else end, flow, shared)


def end_of(text: str, node: Node) -> int:
    """Where a node ends, without the breaks behind it."""
    start, end = node.start.index, node.end.index
    # A block of text takes the breaks behind it along.
    return start + len(text[start:end].rstrip())


def _end_of_alias(text: str, at: int) -> int:
    found = _ALIAS.search(text, at)
    return found.end() if found else at


def _dash(text: str, above: int) -> int:
    """The dash of the next item behind `above`."""
    while True:
        line = text.find("\n", above)
        found = text.find("-", above, len(text) if line < 0 else line)
        if found >= 0 and not text[above:found].strip():
            return found
        above = line + 1
