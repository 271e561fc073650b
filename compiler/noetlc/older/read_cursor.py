"""`loop.cursor` and `loop.spec.frame` (D11)."""

from noetl_ir.expr import ListOf
from noetlc.expr.generated import computed
from noetlc.older.loop_nodes import Cursor, Frame
from noetlc.reading.drafts import LoopDraft
from noetlc.reading.field import read_field
from noetlc.reading.kinds import kind_of
from noetlc.reading.reader import Reader, stray_key
from noetlc.reading.shapes import choice_of, mapping_of, missing, text_of
from noetlc.reading.values import read_value
from noetlc.source.nodes import Node, Scalar

_FRAME = ("max_rows", "process", "max_seconds", "max_bytes", "lease_seconds", "heartbeat_seconds", "row_concurrency")


def take_cursor(r: Reader, draft: LoopDraft, key: Scalar, node: Node) -> None:
    """`cursor: {kind, auth, claim}`: the fields are those of the kind, `claim` is its command."""
    r.legacy_seen = True
    mapping = mapping_of(r, node, "`cursor`")
    if mapping is None:
        return
    word = mapping.get("kind")
    name = text_of(r, word, "`kind`") if word is not None else None
    kind = kind_of(name) if name is not None else None
    if name is None or kind is None or mapping.get("claim") is None:
        missing(r, "the `kind` or `claim` of the cursor", key.span, help="write `cursor: {kind: postgres, claim: SQL}`")
        return
    fields = []
    for entry, value in mapping.entries:
        field = "command" if entry.text == "claim" else entry.text
        if field in kind.fields:
            fields.append((field, read_field(r, kind.fields[field], field, value)))
        elif field not in ("kind", "options"):
            stray_key(r, "loop", entry, ("kind", "claim", "options", *kind.fields))
    draft.items = computed(ListOf(()), key.span)
    draft.extras.append(Cursor(name, tuple(fields), key.span))


def take_frame(r: Reader, draft: LoopDraft, key: Scalar, node: Node) -> None:
    """`frame: {max_rows, process}`; leases are the workers' affair."""
    mapping = mapping_of(r, node, "`frame`")
    if mapping is None:
        return
    for entry, _ in mapping.entries:
        if entry.text not in _FRAME:
            stray_key(r, "loop_spec", entry, _FRAME)
    rows, process = mapping.get("max_rows"), mapping.get("process")
    how = choice_of(r, process, "`process`", ("row", "frame")) if process is not None else None
    draft.extras.append(Frame(read_value(r, rows) if rows is not None else None, how or "row", key.span))
