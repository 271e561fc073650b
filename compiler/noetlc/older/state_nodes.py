"""Sugar of assignments: `vars`, `set_ctx`, `set`, `result`."""

from noetl_ir.span import Span
from noetlc.ast.playbook import Value
from noetlc.ast.sugar import Sugar

Pairs = tuple[tuple[str, Value], ...]


class Assign(Sugar):
    """What a task, or the last task of a step, sets when it succeeds; `word` is how it was written."""

    word: str
    set_ctx: Pairs
    set_iter: Pairs
    span: Span


class StepSet(Sugar):
    """What a step sets once, when all of it is done."""

    word: str
    set_ctx: Pairs
    set_iter: Pairs
    span: Span


class Result(Sugar):
    """`result`: the value that a step gives instead of its tool's."""

    value: Value
    span: Span


class ArcSet(Sugar):
    """`set` of an arc: what is set when it is taken (D10)."""

    set_ctx: Pairs
    span: Span


class StepArgs(Sugar):
    """`args` or `input` of a step: defaults under those of the token."""

    word: str
    pairs: Pairs
    span: Span


class RootVars(Sugar):
    """Root `vars` or `ctx` of a playbook."""

    word: str
    pairs: Pairs
    span: Span
