"""The signals of a loop (EXTENSIONS.md §5): those that bring items, and what closes or completes it."""

from noetlc.ast.playbook import LoopSignal
from noetlc.reading.drafts import LoopDraft
from noetlc.reading.heard import BOTH, EVENTS, HeardDraft, read_heard
from noetlc.reading.reader import Reader, Table, Take
from noetlc.source.nodes import Node, Scalar


def grows(draft: LoopDraft) -> bool:
    """Whether items come while a loop runs."""
    return any(signal.verb == "more" for signal in draft.signals)


def _taken(verb: str, table: Table[HeardDraft]) -> Take[LoopDraft]:
    def take(r: Reader, draft: LoopDraft, key: Scalar, node: Node) -> None:
        what, since = f"the loop's `{verb}`", "the start of the loop"
        heard = read_heard(r, "loop_signal", table, key, node, what=what, since=since)
        if heard is not None:
            draft.signals.append(LoopSignal(verb, heard.events, heard.timers, key.span))

    return take


take_more = _taken("more", EVENTS)
take_close = _taken("close", BOTH)
take_complete = _taken("complete", BOTH)


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
