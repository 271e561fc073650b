"""A change that lowering made to a construct, or could not make, and the finding that reports it."""

from collections.abc import Callable
from typing import Literal, TypeAlias

from noetl_ir.records import NamedTuple
from noetl_ir.span import Span
from noetlc.diag.codes import finding
from noetlc.diag.diagnostic import Diagnostic

ChangeClass: TypeAlias = Literal["exact", "safe", "review", "refused"]
"""`exact`: means the same; `safe`: differs only where the old engines disagreed; `review`: look at it; `refused`:
could not be lowered.
"""


class Change(NamedTuple):
    """`by` is the pass, `construct` the legacy spelling in back quotes; `message` says what it became, for `review`
    what to look at, for `refused` why not.
    """

    by: str
    span: Span
    construct: str
    klass: ChangeClass
    message: str


RecordChange: TypeAlias = Callable[[Change], None]
"""Where a pass tells its changes."""


_CODE_OF_CLASS = {"exact": "NL910", "safe": "NL911", "review": "NL912", "refused": "NL903"}


def change_finding(change: Change) -> Diagnostic:
    """The finding about a change: a note, or an error where the construct was refused."""
    if change.klass == "refused":
        return finding("NL903", f"{change.construct} cannot be run as written: {change.message}", change.span)
    from noetlc.diag.forms import rewriting  # canonical files need none of it

    message = f"an older form, {change.construct}, is read as {change.message}"
    return finding(_CODE_OF_CLASS[change.klass], message, change.span, help=rewriting(change.construct, change.message))
