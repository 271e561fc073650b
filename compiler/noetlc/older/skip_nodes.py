"""Sugar of skipping: `step.when` and `pass`."""

from noetl_ir.span import Span
from noetlc.ast.playbook import Guard
from noetlc.ast.sugar import Sugar


class Skip(Sugar):
    """A step whose tool runs only when the guard is true; `key` is where it was written."""

    key: str
    unless: Guard
    span: Span
