"""The workload of an execution: the playbook's values rendered once, with the payload over them (LANGUAGE §1).

A value that the payload replaces is never rendered, at any depth. A value that reads itself, as `x: "{{ x }}"`, has
nothing to read but the payload: without it, and without a `default`, the input must be brought.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import TypeAlias

from noetl.engine.inputs import INVALID, absent, name_faults, value_faults
from noetl.engine.program import Program
from noetl.engine.whole import about, workload_key
from noetl_ir.evaluate import Fault, Scope
from noetl_ir.expr import (
    Attribute,
    Const,
    Expr,
    Item,
    Json,
    Literal,
    MapTemplate,
    Name,
    Template,
    entries_of,
    expressions_of,
    walk,
)
from noetl_ir.records import NamedTuple

MISSING = INVALID
"""The code of an input that must be brought, and of a variable of the environment that is not there."""

ENV = "env"


Scoped: TypeAlias = Callable[[dict[str, Json]], Scope]
"""From the keys that are settled to the names that the next value sees."""


class RenderedWorkload(NamedTuple):
    """The workload, without the keys that have a fault, and those faults in the order in which they were found."""

    workload: dict[str, Json]
    faults: tuple[Fault, ...]


def render(program: Program, payload: dict[str, Json], scope: Scoped) -> RenderedWorkload:
    """The values in dependency order, the payload deep-merged over them; `scope` gives the names that a value sees,
    over the keys that are settled. Declared inputs are what they have to be, or have faults. Raises Fault where the
    workload is no mapping.
    """
    inputs = program.plan.inputs
    if inputs is None:
        return _rendered(program, payload, scope, ())
    if faults := name_faults(inputs, payload):
        return RenderedWorkload({}, faults)
    missing = absent(program, payload)
    rendered = _rendered(program, payload, scope, missing)
    return rendered if rendered.faults else rendered._replace(faults=value_faults(inputs, rendered.workload, missing))


def defaults(program: Program, scope: Scoped) -> dict[str, Json]:
    """The values that nobody has to bring, but for those that read what somebody has to. Raises Fault where the
    workload is no mapping.
    """
    return _rendered(program, {}, scope, ()).workload


def _rendered(program: Program, payload: dict[str, Json], scope: Scoped, missing: tuple[str, ...]) -> RenderedWorkload:
    """The values, those that are `missing` null."""
    parts = _parts(program)
    settled: dict[str, Json] = {key: value for key, value in payload.items() if key not in parts}
    settled.update(dict.fromkeys(missing))
    faults: list[Fault] = []
    # The compiler gives the order in which keys can be settled. Plans from before have none: there file order was the
    # rule.
    for key in program.plan.workload_order or parts:
        try:
            settled[key] = _over(program, parts[key], payload.get(key), key in payload, scope(settled))
        except Fault as fault:
            faults.append(_told(fault, key, parts))
    # The workload keeps the order of the file, whatever order it was settled in: `tojson` of it must not depend on
    # that.
    order = [*(key for key in parts if key in settled), *(key for key in payload if key not in parts), *missing]
    return RenderedWorkload({key: settled[key] for key in order}, tuple(faults))


def variables_of(program: Program) -> tuple[str, ...]:
    """The variables of the environment that the workload reads, sorted: none where a key of it is called `env`."""
    try:
        parts = _parts(program)
    except Fault:
        return ()
    if ENV in parts:
        return ()
    return tuple(sorted({name for part in parts.values() for expr in expressions_of(part) for name in _asked(expr)}))


def _asked(expr: Expr) -> Iterator[str]:
    for part in walk(expr):
        match part:
            case Attribute(of=Name(name="env"), name=name):
                yield name
            case Item(of=Name(name="env"), key=Const(value=str(name))):
                yield name


def _parts(program: Program) -> Mapping[str, Template]:
    """The template of each key. Raises Fault."""
    plan = program.plan
    template = plan.templates[plan.workload] if plan.workload >= 0 else Literal({})
    parts = entries_of(template)
    if parts is None:
        raise Fault("workload", "the workload is no mapping")
    return parts


def _over(program: Program, template: Template, over: Json, is_payload: bool, scope: Scope) -> Json:
    """A value with what the payload gives over it; what is replaced is not rendered."""
    # Not rendered: its template may name an input that nobody brings once the payload gives the value itself.
    if is_payload and not isinstance(over, dict):
        return over
    if isinstance(template, MapTemplate) and isinstance(over, dict):
        made = {key: _over(program, part, over.get(key), key in over, scope) for key, part in template.items}
        return {**made, **{key: value for key, value in over.items() if key not in made}}
    value = template.value if isinstance(template, Literal) else program.part(template)(scope)
    if not isinstance(over, dict):
        return value
    return merged(value, over) if isinstance(value, dict) else over


def merged(inner: Mapping[str, Json], over: Mapping[str, Json]) -> dict[str, Json]:
    """Deep merge: mappings merge, everything else is replaced. Depth is bounded by the decoders' limits."""
    found = dict(inner)
    for key, value in over.items():
        there = found.get(key)
        found[key] = merged(there, value) if isinstance(there, dict) and isinstance(value, dict) else value
    return found


def _told(fault: Fault, key: str, parts: Mapping[str, Template]) -> Fault:
    """A fault of a value, told with its key; where only the payload or the environment could have given what it
    reads, what to do."""
    where = workload_key(key)
    names = fault.path.replace("[", ".").split(".")
    named = names[1:] if names[0] == "workload" else names
    if fault.code != "template.undefined" or not named or not named[0]:
        return about(where, fault)
    if names[0] == ENV and ENV not in parts and len(names) > 1:
        why = f"the environment variable {names[1]} is not set, or not allowed"
        say = f"start with `--env {names[1]}` where it is set, or give `--set {key}=…`"
        return about(where, Fault(MISSING, f"{why}: {say}", fault.path))
    if named[0] == key or named[0] not in parts:
        why = f"the input `{named[0]}` must be brought: give `--set {named[0]}=…`, or `{named[0]}` in the payload"
        return about(where, Fault(MISSING, why, fault.path))
    return about(where, fault)
