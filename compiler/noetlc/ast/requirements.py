"""The packages that a python task asks to have installed, each with its place."""

from noetl_ir.span import Span
from noetlc.ast.playbook import Task
from noetlc.source.nodes import Scalar, Sequence


def requirements_of(task: Task) -> tuple[tuple[str, Span], ...]:
    """The texts of a literal list and where they stand; none where there is no such list."""
    value = dict(task.fields).get("requirements") if task.kind == "python" else None
    node = value.node if value is not None else None
    if not isinstance(node, Sequence):
        return ()
    return tuple(
        (item.value, item.span) for item in node.items if isinstance(item, Scalar) and isinstance(item.value, str)
    )
