"""The signals of a loop (EXTENSIONS.md §5): those that bring items, and what closes or completes it."""

from noetl_ir.expr import MapTemplate, Native, Template
from noetlc.ast.playbook import LoopSignal, Value
from noetlc.reading.drafts import LoopDraft
from noetlc.reading.reader import Reader, Table, Take, take_all
from noetlc.reading.shapes import is_duration, mapping_of, missing, name_of
from noetlc.reading.values import read_value
from noetlc.source.nodes import Mapping, Node, Scalar, Sequence


class SignalDraft:
    """One of `more`, `close` and `complete`; `written` says that a key stands there, also one that
    could not be read."""

    __slots__ = ("events", "timers", "written")

    def __init__(self) -> None:
        self.events: list[str] = []
        self.timers: Value | None = None
        self.written = False


def grows(draft: LoopDraft) -> bool:
    """Whether items come while a loop runs."""
    return any(signal.verb == "more" for signal in draft.signals)


def _taken(verb: str, table: Table[SignalDraft]) -> Take[LoopDraft]:
    def take(r: Reader, draft: LoopDraft, key: Scalar, node: Node) -> None:
        mapping = mapping_of(r, node, f"`{verb}`")
        if mapping is None:
            return
        signal = SignalDraft()
        take_all(r, "loop_signal", table, signal, mapping)
        if not signal.events and signal.timers is None:
            if not signal.written:
                timers = " or `timers: {late: 5m}`" if "timers" in table else ""
                missing(r, f"what the loop's `{verb}` listens for", key.span, help=f"write `events: [NAME]`{timers}")
            return
        draft.signals.append(LoopSignal(verb, tuple(dict.fromkeys(signal.events)), signal.timers, key.span))

    return take


def _events(r: Reader, draft: SignalDraft, key: Scalar, node: Node) -> None:
    draft.written = True
    for item in node.items if isinstance(node, Sequence) else (node,):
        name = name_of(r, item, "a signal")
        if name is not None:
            draft.events.append(name)


def _timers(r: Reader, draft: SignalDraft, key: Scalar, node: Node) -> None:
    draft.written = True
    mapping = mapping_of(r, node, "`timers`")
    if mapping is None:
        return
    value = read_value(r, mapping)
    for name, timer in mapping.entries:
        if not _is_length(r, name, timer, value.template):
            return
    draft.timers = value if mapping.entries else None


def _is_length(r: Reader, name: Scalar, timer: Node, template: Template) -> bool:
    """Whether a timer is a duration, or may be one when it is asked; else it is told."""
    items = dict(template.items) if isinstance(template, MapTemplate) else {}
    if name_of(r, name, "a timer") is None:
        return False
    if isinstance(items.get(name.text), Native):
        return True
    if isinstance(timer, Scalar) and is_duration(timer.value):
        return True
    told = "a time of day is for `wait` alone" if isinstance(timer, Mapping) else "it counts from the start of the loop"
    r.report("NL119", f"timer `{name.text}` is no duration", timer.span, help=f"write seconds, `5m` or `2h`: {told}")
    return False


_EVENTS: Table[SignalDraft] = {"events": _events}
_BOTH: Table[SignalDraft] = {"events": _events, "timers": _timers}
take_more = _taken("more", _EVENTS)
take_close = _taken("close", _BOTH)
take_complete = _taken("complete", _BOTH)


def check_signals(r: Reader, draft: LoopDraft) -> None:
    """Say which signals of a loop mean nothing, or two things."""
    known = {signal.verb: signal for signal in draft.signals}
    close, more = known.get("close"), known.get("more")
    if close is not None and more is None:
        help = "write `more: {events: [NAME]}` beside it, or `complete` to end the loop from outside"
        r.report("NL518", "`close` of a loop that nothing adds items to", close.span, help=help)
    seen: dict[str, str] = {}
    for verb in ("complete", "close", "more"):
        for name in known[verb].events if verb in known else ():
            if name in seen:
                message = f"the signal `{name}` is for `{seen[name]}` and for `{verb}`, and `{seen[name]}` takes it"
                r.report("NL519", message, known[verb].span, help="give each its own signal")
            seen.setdefault(name, verb)


def without_idle(draft: LoopDraft) -> tuple[LoopSignal, ...]:
    """The signals of a loop in the order of their verbs, without a `close` that closes nothing."""
    kept = [signal for signal in draft.signals if signal.verb != "close" or grows(draft)]
    return tuple(sorted(kept, key=lambda signal: signal.verb))
