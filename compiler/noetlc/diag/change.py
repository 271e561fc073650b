"""What lowering did to a construct, or why it could not."""

from collections.abc import Callable
from typing import Literal, TypeAlias

from noetl_ir.rows import NamedTuple
from noetl_ir.span import Span

Class: TypeAlias = Literal["exact", "safe", "review", "refused"]
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
    klass: Class
    message: str


Note: TypeAlias = Callable[[Change], None]
"""Where a pass tells its changes."""
