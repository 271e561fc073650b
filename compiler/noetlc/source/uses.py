"""Findings in what aliases stand for, told where they belong: at the anchor, or at the use that is wrong.

An alias gives the very node of its anchor, so that a finding about it has the place of the anchor, though what is
wrong may be a use of it. So a file with such a finding is looked at once more with a copy of the node for each use,
at whose place all of the copy stands. A finding that is there at the anchor, too, is about what stands there; one
that is only at uses is told at the first of them.
"""

from collections.abc import Callable, Iterable, Sequence

from noetl_ir.records import NamedTuple
from noetl_ir.span import Span
from noetlc.diag.diagnostic import Diagnostic, Related
from noetlc.source.nodes import Mapping, Mark, Node, Scalar
from noetlc.source.nodes import Sequence as SequenceNode


class Use(NamedTuple):
    """An alias: its name, where it stands, and the node of its anchor."""

    name: str
    span: Span
    node: Node


def copied(root: Node, start: Mark, end: Mark) -> Node:
    """A copy of a node, all of which stands between two marks; what stands in it several times is copied each time."""
    top = _empty(root, start, end)
    waiting = [(root, top)]
    while waiting:
        node, copy = waiting.pop()
        if isinstance(node, Mapping) and isinstance(copy, Mapping):
            for key, value in node.entries:
                entry = _scalar(key, start, end), _empty(value, start, end)
                copy.entries.append(entry)
                copy.index[key.text] = entry
                waiting.append((value, entry[1]))
        elif isinstance(node, SequenceNode) and isinstance(copy, SequenceNode):
            for item in node.items:
                copy.items.append(_empty(item, start, end))
                waiting.append((item, copy.items[-1]))
    return top


def at_their_uses(
    found: Sequence[Diagnostic], uses: Sequence[Use], again: Callable[[], Iterable[Diagnostic]]
) -> Iterable[Diagnostic]:
    """The findings of a file, those of them at uses that are about uses; `again` gives them with copied nodes."""
    nodes = list({id(use.node): use.node.span for use in uses}.values())
    # Nearly always nothing lies in an anchor, and the file need not be looked at twice.
    if not any(one.span.is_inside(node) for one in found for node in nodes):
        return found
    copies: dict[tuple[str, str], list[Diagnostic]] = {}
    for one in again():
        copies.setdefault((one.code, one.message), []).append(one)
    return [_moved(one, copies.get((one.code, one.message), []), uses) for one in found]


def _moved(one: Diagnostic, copies: list[Diagnostic], uses: Sequence[Use]) -> Diagnostic:
    # The copied reading keeps the anchor's own node in its place, so a finding that is still there is about that
    # node.
    if any(copy.span == one.span for copy in copies):
        return one
    places = {use.span: use for use in uses if one.span.is_inside(use.node.span)}
    there = [copy for copy in copies if copy.span in places]
    if not there:
        return one
    use = places[there[0].span]
    about = Related(one.span, f"what `*{use.name}` stands for")
    others = [Related(copy.span, "and here") for copy in there[1:]]
    # No fix: its place is that of the alias, which it would overwrite with a part of what that stands for.
    return there[0]._replace(related=(*there[0].related, about, *others), fix=None)


def _scalar(node: Scalar, start: Mark, end: Mark) -> Scalar:
    scalar = Scalar()
    scalar.value, scalar.text, scalar.style = node.value, node.text, node.style
    scalar.start, scalar.end = start, end
    return scalar


def _empty(node: Node, start: Mark, end: Mark) -> Node:
    """A node like another, without what it holds."""
    if isinstance(node, Scalar):
        return _scalar(node, start, end)
    if isinstance(node, Mapping):
        mapping = Mapping()
        mapping.entries, mapping.index = [], {}
        mapping.start, mapping.end = start, end
        return mapping
    sequence = SequenceNode()
    sequence.items = []
    sequence.start, sequence.end = start, end
    return sequence
