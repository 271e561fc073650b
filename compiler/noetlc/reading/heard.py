"""Signals and timers that act from outside on what runs: a loop (EXTENSIONS.md §5), or the runs of a step (§3)."""

from noetl_ir.expr import MapTemplate, Native, Template
from noetl_ir.records import NamedTuple
from noetlc.ast.playbook import Value
from noetlc.reading.reader import Reader, Table, take_all
from noetlc.reading.shapes import is_duration, is_empty, is_misspelt, mapping_of, missing, name_of
from noetlc.reading.values import read_value
from noetlc.source.nodes import Mapping, Node, Scalar, Sequence


class HeardNames(NamedTuple):
    """Names of signals, each once, and a mapping of names of timers to durations."""

    events: tuple[str, ...]
    timers: Value | None


class HeardDraft:
    """The signals and timers that something listens for, while they are read.

    `written` says that a name was written, even if it could not be read. `since` says, in words for messages, from when
    on timers count.
    """

    __slots__ = ("events", "since", "timers", "written")

    def __init__(self, since: str) -> None:
        self.events: list[str] = []
        self.since = since
        self.timers: Value | None = None
        self.written = False


def read_heard(
    r: Reader, scope: str, table: Table[HeardDraft], key: Scalar, node: Node, *, what: str, since: str
) -> HeardNames | None:
    """The signals and timers under a key, whose own keys `table` takes; `what` names the listener in messages.

    None, and a finding, where there are none.
    """
    mapping = mapping_of(r, node, f"`{key.text}`")
    draft = HeardDraft(since)
    # Whoever wrote the key wants something to be heard: with nothing behind it, nothing ever would be.
    draft.written = mapping is None and not is_empty(node)
    if mapping is not None:
        take_all(r, scope, table, draft, mapping)
    if draft.events or draft.timers is not None:
        return HeardNames(tuple(dict.fromkeys(draft.events)), draft.timers)
    misspelt = mapping is not None and any(is_misspelt(mapping, name, table) for name in table)
    if not draft.written and not misspelt:
        timers = " or `timers: {late: 5m}`" if "timers" in table else ""
        missing(r, f"what {what} listens for", key.span, help=f"write `events: [NAME]`{timers}")
    return None


def _events(r: Reader, draft: HeardDraft, key: Scalar, node: Node) -> None:
    items = node.items if isinstance(node, Sequence) else (node,)
    draft.written = draft.written or bool(items)
    for item in items:
        name = name_of(r, item, "a signal")
        if name is not None:
            draft.events.append(name)


def _timers(r: Reader, draft: HeardDraft, key: Scalar, node: Node) -> None:
    mapping = mapping_of(r, node, "`timers`")
    draft.written = draft.written or (not is_empty(node) if mapping is None else bool(mapping.entries))
    if mapping is None:
        return
    value = read_value(r, mapping)
    for name, timer in mapping.entries:
        if not _is_length(r, draft, name, timer, value.template):
            return
    draft.timers = value if mapping.entries else None


def _is_length(r: Reader, draft: HeardDraft, name: Scalar, timer: Node, template: Template) -> bool:
    """Whether a timer is a duration, or a template that may give one; reports it otherwise."""
    items = dict(template.items) if isinstance(template, MapTemplate) else {}
    if name_of(r, name, "a timer") is None:
        return False
    if isinstance(items.get(name.text), Native):
        return True
    if isinstance(timer, Scalar) and is_duration(timer.value):
        return True
    told = "a time of day is for `wait` alone" if isinstance(timer, Mapping) else f"it counts from {draft.since}"
    r.report("NL119", f"timer `{name.text}` is no duration", timer.span, help=f"write seconds, `5m` or `2h`: {told}")
    return False


EVENTS: Table[HeardDraft] = {"events": _events}
BOTH: Table[HeardDraft] = {"events": _events, "timers": _timers}
