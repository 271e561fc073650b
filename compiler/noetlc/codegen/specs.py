"""Effective specs: what a task inherits from the specs around it (LANGUAGE §1, v10 §3.1).

Inner wins, mappings merge deeply, lists replace. Only knobs that the kind declares come down.
"""

from collections.abc import Container, Sequence

from noetl_ir.expr import Template
from noetlc.ast.playbook import Playbook, Step, Task, Value
from noetlc.ast.workbook import pairs_of, template_of_pairs
from noetlc.reading.kinds import kind_of

Named = tuple[tuple[str, Value], ...]


def knobs_of(playbook: Playbook, step: Step, task: Task) -> Named:
    """The knobs of a task, in the order in which they were first written, outermost spec first."""
    outer = [playbook.executor.knobs, step.spec.knobs]
    loop = step.loop
    while loop is not None:
        outer.append(loop.knobs)
        loop = loop.inner
    if not any(outer):
        return task.knobs
    kind = kind_of(task.kind)
    if kind is None or not kind.knobs:
        return task.knobs
    return overlaid([*[_declared(level, kind.knobs) for level in outer], task.knobs])


def timeout_of(step: Step, task: Task) -> Value | None:
    """The timeout of one attempt: the task's own over the step's."""
    outer, inner = step.spec.timeout, task.timeout
    if outer is None or inner is None:
        return inner or outer
    return Value(merged(outer.template, inner.template), inner.span, inner.node)


def overlaid(levels: Sequence[Named]) -> Named:
    """Several levels of named values as one, later levels over earlier ones."""
    found: dict[str, Value] = {}
    for level in levels:
        for name, value in level:
            outer = found.get(name)
            if outer is not None:
                value = value._replace(template=merged(outer.template, value.template))
            found[name] = value
    return tuple(found.items())


def merged(outer: Template, inner: Template) -> Template:
    """`inner` over `outer`: deep where both are mappings."""
    below, above = pairs_of(outer), pairs_of(inner)
    if below is None or above is None:
        return inner
    for name, value in above.items():
        below[name] = merged(below[name], value) if name in below else value
    return template_of_pairs(below)


def _declared(level: Named, knobs: Container[str]) -> Named:
    return tuple([(name, value) for name, value in level if name in knobs])
