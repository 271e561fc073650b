"""Sugar of routing: where a step leads to, in the forms before routers had arcs."""

from noetl_ir.rows import NamedTuple
from noetl_ir.span import Span
from noetlc.ast.playbook import Arc, Guard
from noetlc.ast.sugar import Sugar


class Target(NamedTuple):
    """A branch of a list: the arcs that it forks into. `when` is None for `else` and where nothing is asked."""

    when: Guard | None
    arcs: tuple[Arc, ...]
    span: Span


class Targets(Sugar):
    """`next: name`, a list of names or steps, or a ladder; `mode` where the step's spec gives one."""

    branches: tuple[Target, ...]
    span: Span
    mode: str = ""


class ImplicitEnd(Sugar):
    """The file has a step `end` that its leaves lead to; `for_work`: if it has work, since the file has arcs."""

    span: Span
    for_work: bool = False


class FirstEntry(Sugar):
    """The file has no step `start` and names no other entry: it begins with its first step."""

    span: Span
