"""`kind: iterator` (v1): a loop that was a tool, with the task inside."""

from noetlc.reading.drafts import StepDraft
from noetlc.reading.loop import read_loop
from noetlc.reading.reader import Reader
from noetlc.source.nodes import Mapping, Node, Scalar, mapping_at, scalar_at

_LOOP = frozenset({
    "collection", "items", "in", "element", "iterator", "mode", "concurrency", "where", "filter", "limit", "chunk",
    "order_by", "enumerate",
})  # fmt: skip


def unfolded(r: Reader, draft: StepDraft, node: Mapping) -> Node | None:
    """The task of an iterator, whose loop becomes that of the step; any other tool as it is."""
    kind = node.get("kind")
    if not isinstance(kind, Scalar) or kind.text != "iterator":
        return node
    r.respelt(kind.span, "`iterator` as a tool", "the step's `loop`")
    keys = [(key, value) for key, value in node.entries if key.text in _LOOP]
    if not any(key.text in ("element", "iterator") for key, _ in keys):
        item = scalar_at("item", "item", style="", span=kind.span, source=(0, 0))
        keys.append((scalar_at("iterator", "iterator", style="", span=kind.span, source=(0, 0)), item))
    draft.loop = read_loop(r, mapping_at(keys, node.span))
    task = node.get("task") or node.get("tool")
    if not isinstance(task, Mapping):
        return task
    # What the task was called is told by the step; as a name it could be the one of the workbook.
    entries = [(_named(key), value) for key, value in task.entries]
    return mapping_at(entries, task.span)


def _named(key: Scalar) -> Scalar:
    if key.text != "task":
        return key
    return scalar_at("name", "name", style="", span=key.span, source=key.source)
