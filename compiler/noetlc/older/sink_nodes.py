"""Sugar of storing: `sink` and `save`."""

from noetl_ir.span import Span
from noetlc.ast.playbook import Guard, Task
from noetlc.ast.sugar import Sugar


class Sink(Sugar):
    """A storage task that runs after the task or step it stands at; `when` says whether it does."""

    task: Task
    when: Guard | None
    span: Span
