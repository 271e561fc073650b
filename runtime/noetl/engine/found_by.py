"""The values that an execution is found by (`executor.spec.search`), and its labels: what follows from `workload` and
`ctx`, asked again when these may be others. No event says them: they follow from the log.
"""

from noetl.engine.execution import Execution
from noetl.engine.program import Program
from noetl_ir.evaluate import Fault
from noetl_ir.evaluate.work import SLICE, spent
from noetl_ir.expr import Json
from noetl_ir.scopes.play import PlayScope


def labels_now(program: Program, execution: Execution) -> dict[str, str]:
    """The labels of an execution: those of its playbook, and those of its start over them."""
    return {**dict(program.plan.labels), **execution.labels}


def search_values(program: Program, execution: Execution) -> dict[str, Json]:
    """The values of the search attributes, without those that have none yet."""
    names: dict[str, object] = {
        "ctx": execution.ctx, "workload": execution.workload, "execution_id": execution.execution_id,
    }  # fmt: skip
    found: dict[str, Json] = {}
    # Together no more than others wait for in a turn; what is left out then is always the same.
    until = spent() + SLICE
    for row in program.plan.search:
        if spent() > until:
            break
        try:
            found[row.name] = program.value(row.value)(PlayScope(names))
        except Fault:
            continue  # as long as a key of `ctx` is not there
    return found
