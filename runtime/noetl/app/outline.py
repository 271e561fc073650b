"""The outline of a plan: what somebody wants to know of a playbook before starting it."""

from __future__ import annotations

from noetl.app.programs import Programs
from noetl.app.sharing import shared_by
from noetl.engine.inputs import keys_of
from noetl.engine.program import Program
from noetl.engine.starting import defaults_of
from noetl.server.workers.tracker import pool_of
from noetl_ir.expr import Json


def outline_document(programs: Programs, program: Program, now: int) -> dict[str, Json]:
    """The needs of a plan: `inputs` with their JSON Schemas (null where none are declared), the values of the
    `workload` that nobody has to bring, as a start at `now` (microseconds since the epoch) would have them, kinds of
    tools, pools, credentials by their names, children by their paths, and what its executions share.
    """
    plan = program.plan
    inputs: Json = None
    if plan.inputs is not None:
        inputs = [{"name": one.name, "required": one.required, "schema": one.schema} for one in plan.inputs]
    names: list[Json] = [*keys_of(plan)]
    return {
        "path": plan.path or plan.name,
        "name": plan.name,
        "source": plan.source,
        "steps": len(plan.steps),
        "tasks": sum(not task.generated for task in plan.tasks),
        "inputs": inputs,
        "keys": names,
        # Defaults are expressions: those that read what must be brought have no values yet.
        "workload": defaults_of(program, now),
        "kinds": [*sorted({task.kind for task in plan.tasks})],
        "pools": [*sorted({pool_of(step) for step in plan.steps})],
        "credentials": [{"name": entry.name, "kind": entry.kind} for entry in plan.keychain],
        "children": [*sorted({child.path for child in plan.children})],
        "shared": [*shared_by(programs, program)],
    }
