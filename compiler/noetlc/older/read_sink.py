"""`sink` and `save` at a step, a task or in `then` (formal §10, v1)."""

from noetlc.older.loose import read_loose_guard
from noetlc.older.sink_nodes import Sink
from noetlc.reading.drafts import StepDraft, TaskDraft
from noetlc.reading.reader import Reader
from noetlc.reading.shapes import is_empty, mapping_of, missing
from noetlc.reading.task import read_single
from noetlc.source.nodes import Mapping, Node, Scalar, Sequence, mapping_at, scalar_at

_HERE = frozenset({"event", "event_log", "events"})
"""Stores that keep every result anyway."""


def read_sink(r: Reader, key: Scalar, node: Node) -> Sink | None:
    """The storage task; None where nothing is stored."""
    r.legacy_seen = True
    mapping = mapping_of(r, node, f"`{key.text}`")
    if mapping is None:
        return None
    tool = mapping.get("tool") or mapping.get("storage")
    if tool is None:
        missing(r, f"the `tool` of `{key.text}`", key.span, help="write `sink: {tool: {kind: postgres}, table: …}`")
        return None
    inner = _tool(tool)
    kind = inner.get("kind")
    if isinstance(kind, Scalar) and kind.text in _HERE:
        r.respelt(key.span, f"`{key.text}` into the event log", "nothing: every result is there")
        return None
    taken = {name.text for name, _ in inner.entries}
    rest = [entry for entry in mapping.entries if entry[0].text not in ("tool", "storage", "when", *taken)]
    task = read_single(r, "__sink", mapping_at([*inner.entries, *rest], mapping.span))
    when = mapping.get("when")
    guard = None if when is None or is_empty(when) else read_loose_guard(r, when, "`when`")
    return None if task is None else Sink(task, guard, key.span)


def _tool(node: Node) -> Mapping:
    """`{kind: …}` of a word or of a mapping with `kind` or `type`."""
    if isinstance(node, Mapping):
        return mapping_at(
            [(_kind(key) if key.text == "type" else key, value) for key, value in node.entries], node.span
        )
    assert isinstance(node, Scalar)
    return mapping_at([(_kind(node), node)], node.span)


def _kind(key: Scalar) -> Scalar:
    return scalar_at("kind", "kind", style="", span=key.span, source=key.source)


def take_sink(r: Reader, draft: StepDraft | TaskDraft, key: Scalar, node: Node) -> None:
    """Take `sink` or `save`; a list is one after the other."""
    items = node.items if isinstance(node, Sequence) else [node]
    draft.extras += [sink for item in items if (sink := read_sink(r, key, item)) is not None]
