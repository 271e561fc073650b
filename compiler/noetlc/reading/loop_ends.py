"""How a loop ends before its items are over (EXTENSIONS.md §5): what is enough, and what becomes of the rest."""

from noetl_ir.expr import Literal, Native
from noetlc.reading.drafts import LoopDraft
from noetlc.reading.reader import Reader
from noetlc.reading.shapes import choice_of
from noetlc.reading.values import read_count
from noetlc.source.nodes import Node, Scalar

_FORMS = 'write a number of successes, as in `enough: 3`, or a condition, as in `enough: "{{ event.done >= 3 }}"`'


def take_enough(r: Reader, draft: LoopDraft, key: Scalar, node: Node) -> None:
    """Take `enough`: how many iterations have to succeed, or a condition over how many ended how."""
    message = "`enough` is a whole number of at least 1, or a condition"
    value = read_count(r, node, "NL513", "enough", message, help=_FORMS)
    if value is not None and not isinstance(value.template, Literal | Native):
        r.report("NL513", "`enough` is one number, or one condition in braces", node.span, help=_FORMS)
    elif value is not None:
        draft.enough = value


def take_rest(r: Reader, draft: LoopDraft, key: Scalar, node: Node) -> None:
    """Take `rest`: what becomes of the iterations that still run."""
    from noetl_ir.plan import RESTS  # few loops have it, and lint starts without plans

    draft.rest = choice_of(r, node, "`rest`", RESTS) or ""
    draft.rest_span = node.span


def check_ends(r: Reader, draft: LoopDraft) -> None:
    """Say what of a level and the one inside it cannot be as it is written; that one has said it of its own."""
    ends = draft.enough is not None or any(signal.verb == "complete" for signal in draft.signals)
    if draft.rest and not ends and draft.rest_span is not None:
        help = "write `enough` beside it, or leave it out: without one the loop ends when all items are over"
        r.report("NL516", "`rest` without `enough`: nothing ends the loop before its items are over",
                 draft.rest_span, help=help)  # fmt: skip
    inner = draft.inner
    if inner is not None and inner.rest == "swallow" and inner.rest_span is not None:
        help = "write `cancel` or `finish`, or `swallow` at the outermost loop of the step"
        message = "`rest: swallow` in an inner loop: its iterations end with the iteration around them"
        r.report("NL517", message, inner.rest_span, help=help)
