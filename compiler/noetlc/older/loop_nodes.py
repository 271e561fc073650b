"""Sugar of loops: what is done to the items, and cursors."""

from noetl_ir.span import Span
from noetlc.ast.playbook import Guard, Value
from noetlc.ast.sugar import Sugar


class Slicing(Sugar):
    """`order_by`, `limit`, `chunk` or `batch_size` of a loop; `value` is how many, or by what."""

    word: str
    value: Value
    span: Span


class Where(Sugar):
    """`where` or `filter`: an item for which it is false is left out."""

    when: Guard
    span: Span


class LoopOnError(Sugar):
    """`on_error` of a loop."""

    mode: str
    span: Span


class EndLoop(Sugar):
    """`end_loop: name`: the steps between that step, which has a loop, and this one are the loop's body (v1)."""

    loop: str
    span: Span


class Cursor(Sugar):
    """`loop.cursor`: rows that workers claim, one or a frame at a time, until none is left (D11)."""

    kind: str
    fields: tuple[tuple[str, Value], ...]
    span: Span


class Frame(Sugar):
    """`loop.spec.frame`: how many rows a claim takes, and whether a pass of the tasks has one row or the frame."""

    max_rows: Value | None
    process: str
    span: Span
