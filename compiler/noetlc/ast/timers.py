"""The timers of a `wait`, as far as the playbook has them written out."""

from collections.abc import Iterator

from noetl_ir.expr import Literal, MapTemplate, Template
from noetl_ir.span import Span
from noetlc.ast.playbook import Task


def timers_of(task: Task) -> Iterator[tuple[str, Template, Span]]:
    """The timers of a wait by name, as far as they are written out."""
    value = dict(task.fields).get("timers") if task.kind == "wait" else None
    if value is None:
        return
    match value.template:
        case MapTemplate(items=items):
            for name, template in items:
                yield name, template, value.span
        case Literal(value=dict(timers)):
            for name, timer in timers.items():
                yield name, Literal(timer), value.span
