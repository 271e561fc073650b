"""Calls that bring what their child does not take, as far as both are known: against its declared inputs (EXTENSIONS
§2), else names that it neither has in its workload nor reads.
"""

from collections.abc import Iterator

from noetl_ir.expr import Literal, Template, texts_in
from noetl_ir.nearest import nearest
from noetl_ir.python_names import words_of
from noetlc.ast.playbook import Input, Playbook, Task
from noetlc.ast.walk import all_expressions, all_values, blocks_in, tasks_in
from noetlc.ast.workbook import pairs_of
from noetlc.ast.workload import workload_names
from noetlc.codegen.family import FIELD, KIND, Family
from noetlc.diag.codes import finding
from noetlc.diag.diagnostic import Diagnostic
from noetlc.expr.paths import accesses

UNFIT, UNREAD = "NL695", "NL696"
CARRIERS = ("payload", "args")
"""The fields that bring what a child gets; the later one wins."""


def unfit_calls(family: Family, caller: str) -> Iterator[Diagnostic]:
    """The calls of a playbook that its child refuses with `inputs.invalid` whenever they are made, and what calls bring
    that no child reads.
    """
    playbook = family.members[caller].playbook
    for task in tasks_in(playbook) if family.keys else ():
        path = _path(task)
        key = family.keys.get((caller, path)) if path is not None else None
        child = family.members[key].playbook if key is not None else None
        if child is None or path is None:
            continue
        if child.executor.inputs is not None:
            yield from _faults(task, path, child, {one.name: one for one in child.executor.inputs})
        else:
            yield from _unread(task, path, child)


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


def _unread(task: Task, path: str, child: Playbook) -> Iterator[Diagnostic]:
    """The names that a call brings and its child neither has nor reads: the child goes on with its defaults."""
    known = workload_names(child)
    strange = [name for name in _brought(task) or {} if name not in known]
    if not strange:
        return
    read = _words(child)
    for name in strange:
        # Whoever reads all of the workload, or `context`, may mean any name.
        if name not in read and not read & _WHOLE:
            near = nearest(name, tuple(known))
            help = f"did you mean `{near}`?" if near else f"have `{name}` in its `workload`, or leave it out"
            yield finding(UNREAD, f"`{path}` reads no `{name}`", task.span, help=help)


def _words(playbook: Playbook) -> set[str]:
    """Every name that a playbook may read of what it is given: in expressions, blocks, texts and programs. Keys of the
    workload are among them by their own name, `workload` only where it is read as a whole.
    """
    found: set[str] = set()
    for expr, _ in all_expressions(playbook):
        for access in accesses(expr):
            key = access.keys[0] if access.root.name in _SCOPES and access.keys else access.root.name
            found.add(key if isinstance(key, str) else access.root.name)
    for value in all_values(playbook):
        for block in blocks_in(value):
            found |= words_of(block.text)
        if isinstance(value.template, Literal):
            for text in texts_in(value.template.value):
                found |= words_of(text)
    return found


_SCOPES = ("workload", "payload")
_WHOLE = frozenset({*_SCOPES, "context"})


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
