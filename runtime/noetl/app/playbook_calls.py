"""The playbooks that a playbook calls, as far as its plan tells, and all that these call."""

from __future__ import annotations

from collections.abc import Iterator

from noetl.app.programs import Programs
from noetl.engine.program import Program
from noetl.server.children import NotFound
from noetl_ir.kinds.playbook import called_path
from noetl_ir.plan import Plan
from noetl_ir.plan_format import PlanError


def calls_of(plan: Plan) -> list[str]:
    """The paths of the playbooks that a plan calls, each once; "" for what only a run tells."""
    fields = [task.fields for task in plan.tasks if task.kind == "playbook"]
    return [*dict.fromkeys(called_path(plan.templates[at]) if at >= 0 else "" for at in fields)]


def reached_from(programs: Programs, program: Program) -> Iterator[tuple[Program, bool]]:
    """A program and all that it and these call, as calls lead now, each once; with each whether it has a call of which
    only a run tells where it leads, or that leads nowhere.
    """
    seen, ahead = {program.digest}, [program]
    while ahead:
        current = ahead.pop()
        called = [called_by(programs, current, path) for path in calls_of(current.plan)]
        yield current, None in called
        for found in called:
            if found is not None and found.digest not in seen:
                seen.add(found.digest)
                ahead.append(found)


def called_by(programs: Programs, caller: Program, path: str) -> Program | None:
    """The program that a call leads to now; None where it leads nowhere."""
    try:
        return programs.find(caller, path) if path else None
    except (NotFound, PlanError):
        return None
