"""The names of signals and timers that a `wait` or an `interrupt` listens for, as far as the playbook has them."""

from noetl_ir.expr import ListTemplate, Literal, MapTemplate, Template
from noetlc.ast.playbook import Interrupt, Task


def names_of_wait(task: Task) -> tuple[tuple[str, ...], tuple[str, ...]] | None:
    """The names of signals and of timers; None where they are computed."""
    fields = dict(task.fields)
    signals: list[str] = []
    if (events := fields.get("events")) is not None:
        template = events.template
        parts = template.items if isinstance(template, ListTemplate) else (template,)
        for part in parts:
            if not isinstance(part, Literal):
                return None
            signals += map(str, part.value if isinstance(part.value, list) else [part.value])
    timers = _keys(fields["timers"].template) if "timers" in fields else ()
    return None if timers is None else (tuple(signals), timers)


def names_of_interrupt(interrupt: Interrupt) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The names of signals and of timers."""
    timers = () if interrupt.timers is None else _keys(interrupt.timers.template)
    return interrupt.events, timers or ()


def _keys(template: Template) -> tuple[str, ...] | None:
    match template:
        case MapTemplate(items=items):
            return tuple([name for name, _ in items])
        case Literal(value=dict(timers)):
            return tuple(timers)
        case _:
            return None
