"""Calls whose children declare inputs and do not take what is brought, as far as both are known (EXTENSIONS §2)."""

from collections.abc import Iterator

from noetl_ir.expr import Literal, Template
from noetl_ir.nearest import nearest
from noetlc.ast.playbook import Input, Playbook, Task
from noetlc.ast.walk import tasks_in
from noetlc.ast.workbook import pairs_of
from noetlc.codegen.family import FIELD, KIND, Family
from noetlc.diag.codes import finding
from noetlc.diag.diagnostic import Diagnostic

UNFIT = "NL695"
CARRIERS = ("payload", "args")
"""The fields that bring what a child gets; the later one wins."""


def unfit_calls(family: Family, caller: str) -> Iterator[Diagnostic]:
    """The calls of a playbook that its child refuses with `inputs.invalid` whenever they are made."""
    playbook = family.members[caller].playbook
    for task in tasks_in(playbook) if family.keys else ():
        path = _path(task)
        key = family.keys.get((caller, path)) if path is not None else None
        child = family.members[key].playbook if key is not None else None
        if child is not None and child.executor.inputs is not None and path is not None:
            yield from _faults(task, path, child, {one.name: one for one in child.executor.inputs})


def _path(task: Task) -> str | None:
    template = dict(task.fields)[FIELD].template if task.kind == KIND and FIELD in dict(task.fields) else None
    return str(template.value) if isinstance(template, Literal) else None


def _faults(task: Task, path: str, child: Playbook, inputs: dict[str, Input]) -> Iterator[Diagnostic]:
    brought = _brought(task)
    if brought is None:
        return
    for name in brought:
        if name not in inputs:
            near = nearest(name, tuple(inputs))
            help = (
                f"did you mean `{near}`?" if near else f"it takes {', '.join(f'`{one}`' for one in inputs) or 'none'}"
            )
            yield finding(UNFIT, f"`{path}` has no input `{name}`", task.span, help=help)
    for name, one in inputs.items():
        if name not in brought:
            if one.required:
                help = f"write `args: {{{name}: …}}`"
                yield finding(UNFIT, f"`{path}` must be given its input `{name}`", task.span, help=help)
        elif (fault := _misfit(one, brought[name], child)) is not None:
            yield finding(
                UNFIT, f"`{path}` does not take this: {fault}", task.span, help="let the value fit its schema"
            )


def _brought(task: Task) -> dict[str, Template] | None:
    """The names that a call brings, each with its value; None where not all of them are known."""
    found: dict[str, Template] = {}
    fields = dict(task.fields)
    for carrier in CARRIERS:
        value = task.args if carrier == "args" else fields.get(carrier)
        pairs = {} if value is None else pairs_of(value.template)
        if pairs is None:
            return None
        found.update(pairs)
    return found


def _misfit(one: Input, template: Template, child: Playbook) -> str | None:
    # A mapping is laid over the one that the child has, and only both together are held against the schema.
    if not isinstance(template, Literal) or (isinstance(template.value, dict) and one.name in dict(child.workload)):
        return None
    from noetl_ir.schemas import faults  # most playbooks call none with declared inputs

    return next((str(fault) for fault in faults(one.schema, template.value, one.name)), None)
