"""The tool kinds there are: ours by module, others by entry point; each loaded when a playbook names it."""

from functools import cache

from noetl_ir import registry
from noetl_ir.kinds import Field, FieldText, Kind
from noetl_ir.records import NamedTuple
from noetlc.ast.playbook import Playbook, Step, Task, Value

PACKAGE = "noetl_ir.kinds"

WORKBOOK = Kind(
    name="workbook",
    summary="Stands for a task of the playbook's workbook, and is replaced by it before the net is built.",
    fields={"task": Field(shapes=("text",), text="literal", required=True, doc="the entry's name")},
    result="that of the entry",
)
"""Not a kind that runs (LANGUAGE §6): only the compiler knows it."""


@cache
def kind_of(name: str) -> Kind | None:
    """The kind of that name, or None."""
    # First, so that no installed package can take the name.
    if name == WORKBOOK.name:
        return WORKBOOK
    try:
        return registry.load(PACKAGE, name, "KIND", Kind)
    # A kind that is not installed is unknown; one that is broken raises, and is told as a mistake of its package.
    except registry.MissingPart:
        return None


@cache
def kind_names() -> tuple[str, ...]:
    """The names of all kinds, sorted."""
    return tuple(sorted({*registry.names(PACKAGE, registry.GROUPS[PACKAGE]), WORKBOOK.name}))


@cache
def knobs_of_any_kind() -> dict[str, Field]:
    """Every knob that some kind declares; a step's or the executor's spec may set those for its tasks."""
    found: dict[str, Field] = {}
    for name in kind_names():
        kind = kind_of(name)
        if kind is not None:
            # Kinds are taken in the order of their names, and of one knob the first declaration counts: what is asked
            # here is only whether it is a knob, and its shape.
            found.update({knob: field for knob, field in kind.knobs.items() if knob not in found})
    return found


class ProgramField(NamedTuple):
    """A task's field that its kind reads as code, SQL or a command."""

    step: Step
    task: Task
    value: Value


def programs_of(playbook: Playbook) -> dict[FieldText, list[ProgramField]]:
    """The programs of a playbook by what their kinds read them as, in file order."""
    found: dict[FieldText, list[ProgramField]] = {text: [] for text in _PROGRAMS}
    for step in playbook.steps:
        for task in step.tasks:
            fields = _program_fields(task.kind)
            for name, value in task.fields if fields else ():
                if name in fields:
                    found[fields[name]].append(ProgramField(step, task, value))
    return found


def languages_of(kind: str) -> frozenset[str]:
    """The languages of the programs that a kind runs: `code`, `sql`, `shell`."""
    return frozenset(_program_fields(kind).values())


@cache
def _program_fields(name: str) -> dict[str, FieldText]:
    kind = kind_of(name)
    fields = {} if kind is None else kind.fields
    return {name: field.text for name, field in fields.items() if field.text in _PROGRAMS}


_PROGRAMS: tuple[FieldText, ...] = ("code", "sql", "shell")
