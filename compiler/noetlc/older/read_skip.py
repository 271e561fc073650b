"""`when` and `pass` of a step (v1)."""

from noetl_ir.expr import Const
from noetlc.expr.generated import guard
from noetlc.expr.shorthand import negated
from noetlc.older.loose import read_loose_guard
from noetlc.older.skip_nodes import Skip
from noetlc.reading.drafts import StepDraft
from noetlc.reading.reader import Reader
from noetlc.source.nodes import Node, Scalar


def take_when(r: Reader, draft: StepDraft, key: Scalar, node: Node) -> None:
    """`when`: the tool runs only when it is true."""
    r.legacy_seen = True
    found = read_loose_guard(r, node, "the step's `when`")
    if found is not None:
        draft.extras.append(Skip("when", found, key.span))


def take_pass(r: Reader, draft: StepDraft, key: Scalar, node: Node) -> None:
    """`pass`: the tool runs only when it is false."""
    r.legacy_seen = True
    found = read_loose_guard(r, node, "`pass`")
    if found is not None and found.expr != Const(False):
        draft.extras.append(Skip("pass", guard(negated(found.expr), found.span), key.span))
