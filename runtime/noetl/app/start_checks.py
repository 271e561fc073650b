"""Looks at what a document would start, before it is due: a playbook that is not there, values that are no inputs."""

from collections.abc import Iterator, Mapping

from noetl.app.runtime import Runtime
from noetl.engine.inputs import name_faults, value_faults
from noetl.engine.program import Program
from noetl.engine.retyped import retyped
from noetl.engine.unread import unread
from noetl.ports import Store
from noetl.ports.catalogue import Versions
from noetl.ports.scopes import scope_now
from noetl.server.children import NotFound
from noetl_ir.expr import Json
from noetl_ir.nearest import nearest
from noetl_ir.plan_format import PlanError
from noetl_ir.records import NamedTuple

_NEAR = 10_000
"""How many paths are looked at for one that is much like a path that is not there."""


class StartSlip(NamedTuple):
    """A slip in a document: the path of its key, and a sentence."""

    key: tuple[str, ...]
    text: str

    def document(self) -> dict[str, Json]:
        """As the API tells it."""
        return {"key": [*self.key], "text": self.text}


def unknown_playbook(store: Store, path: str, version: int | None) -> str:
    """The sentence about a path or version that the catalogue does not have."""
    known = store.plans(Versions(path, newest=True))
    if known:
        return f"playbook `{path}` has no version {version}: the newest is {known[0].version}"
    rows = store.plans(Versions(newest=True, limit=_NEAR, within=scope_now().paths))
    near = nearest(path, [row.path for row in rows])
    return f"no playbook `{path}` is registered" + (f"; did you mean `{near}`?" if near else "")


def start_slips(
    runtime: Runtime,
    playbook: str,
    version: int | None,
    values: Mapping[str, Json],
    keys: Mapping[str, tuple[str, ...]],
) -> tuple[StartSlip, ...]:
    """The slips of a document that starts a playbook. `keys` are the inputs that it brings, each with the path of the
    key that says so; `values` are those whose values are known.
    """
    found = runtime.store.plan_at(playbook, version)
    if found is None:
        # No error: playbooks and what starts them may be given in any order, and it is told again once it is due.
        key = ("spec", "version" if runtime.store.plan_at(playbook) is not None else "playbook")
        return (StartSlip(key, unknown_playbook(runtime.store, playbook, version)),)
    try:
        program = runtime.programs.load(found[0])
    except (NotFound, PlanError) as problem:
        return (StartSlip(("spec", "playbook"), str(problem)),)
    slips = [StartSlip(key, text) for name, key in keys.items() for text in _of_input(program, name, values)]
    declared = program.plan.inputs or ()
    brought = {one.name: None for one in declared if one.name in keys}
    return (*slips, *(StartSlip(("spec",), str(fault)) for fault in name_faults(declared, brought)))


def _of_input(program: Program, name: str, values: Mapping[str, Json]) -> Iterator[str]:
    """Sentences about one input and its value."""
    declared = program.plan.inputs
    known = {name: values[name]} if name in values else {}
    if declared is None:
        yield from unread(program, {name: None})
        yield from retyped(program, known)
    elif name in {one.name for one in declared}:
        yield from map(str, value_faults(declared, known, ()))
    else:
        # The first is about the name; those behind it are about inputs that are lacking.
        yield from map(str, name_faults(declared, {name: None})[:1])
