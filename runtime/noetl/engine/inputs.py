"""Declared inputs of a start: which names a payload may have, and what the values must be (EXTENSIONS.md §2).

Names and what is required are held against the payload, values against the workload when it is rendered and merged.
All of it is before the first event of a start that can be refused; a start that was recorded all the same fails.
"""

from collections.abc import Callable, Mapping

from noetl.engine.program import Program
from noetl.engine.whole import KeyedFault, input_key
from noetl_ir.evaluate import Fault
from noetl_ir.expr import Json, entries_of
from noetl_ir.nearest import nearest
from noetl_ir.plan import Input, Plan

INVALID = "inputs.invalid"
"""The code of a start that brings what may not be, or not what must be."""

_MOST = 20
"""Names that are told one by one, and names that a help lists."""
_LONGEST = 200


def name_faults(inputs: tuple[Input, ...], payload: Mapping[str, Json]) -> tuple[Fault, ...]:
    """The names of a payload that are no inputs, and the required inputs that it lacks."""
    known = dict.fromkeys(one.name for one in inputs)
    strange = [name for name in payload if name not in known]
    # A payload may have as many names as its bytes allow: near ones are looked for only for those that are told.
    found = [_unknown(name, (*known,)) for name in strange[:_MOST]]
    if len(strange) > _MOST:
        found.append(Fault(INVALID, f"so are {len(strange) - _MOST} other names of the payload"))
    return (*found, *(_lacking(one) for one in inputs if one.required and one.name not in payload))


def _unknown(name: str, known: tuple[str, ...]) -> Fault:
    near = nearest(name, known)
    listed = ", ".join(f"`{each}`" for each in known[:_MOST]) + (", …" if len(known) > _MOST else "")
    help = f"did you mean `{near}`?" if near else f"known are {listed}" if known else "there is none"
    return Fault(INVALID, f"`{name[:_LONGEST]}` is no input of this playbook: {help}")


def _lacking(one: Input) -> Fault:
    said = one.schema.get("description")
    about = f" ({' '.join(said.split())[:_LONGEST]})" if isinstance(said, str) else ""
    give = f"give `--set {one.name}=…`, or `{one.name}` in the payload"
    said = f"the input `{one.name}`{about} must be brought: {give}"
    return KeyedFault(INVALID, said, key=input_key(one.name))


def absent(program: Program, payload: Mapping[str, Json]) -> tuple[str, ...]:
    """The inputs that are null: neither given nor in `workload`, and not required."""
    there = {*payload, *keys_of(program.plan)}
    return tuple(one.name for one in program.plan.inputs or () if one.name not in there)


def value_faults(inputs: tuple[Input, ...], workload: Mapping[str, Json], absent: tuple[str, ...]) -> tuple[Fault, ...]:
    """The inputs whose values are not what their schemas say; those that are `absent` are null whatever these say."""
    from noetl_ir.schemas import faults  # most playbooks declare nothing

    found, checked = list[Fault](), workload.keys() - {*absent}
    for one in inputs:
        if one.name in checked:
            key, told = input_key(one.name), faults(one.schema, workload[one.name], one.name)
            found += [KeyedFault(INVALID, f"the input {said}", key=key) for said in told]
    return tuple(found)


def undeclared(program: Program, payload: Mapping[str, Json]) -> tuple[str, ...]:
    """A sentence for each name of a payload that is no key of `workload`, where nothing declares inputs."""
    if program.plan.inputs is not None:
        return ()
    known = keys_of(program.plan)
    strange = [name for name in payload if name not in known]
    told = [f"`{name[:_LONGEST]}` is no key of `workload`{_meant(name, known)}" for name in strange[:_MOST]]
    if len(strange) > _MOST:
        told.append(f"nor are {len(strange) - _MOST} other names of the payload")
    return tuple(told)


def _meant(name: str, known: tuple[str, ...]) -> str:
    near = nearest(name, known)
    return f"; did you mean `{near}`?" if near else ""


def texts_of(plan: Plan) -> Callable[[tuple[str, ...]], bool]:
    """Whether the schema of an input says `string` of the value at a path: its key, then keys inside it."""
    schemas = {one.name: one.schema for one in plan.inputs or ()}

    def is_text(path: tuple[str, ...]) -> bool:
        from noetl_ir.schemas import is_text

        return path[0] in schemas and is_text(schemas[path[0]], path[1:])

    return is_text


def keys_of(plan: Plan) -> tuple[str, ...]:
    """The keys of `workload` as written."""
    return tuple(entries_of(plan.templates[plan.workload]) or ()) if plan.workload >= 0 else ()
