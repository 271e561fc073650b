"""An execution that is over, as the expressions of a trigger read it."""

from noetl.app.documents import standing_of
from noetl.app.runtime import Runtime
from noetl.app.snapshots import UnreadableExecution, result_of, snapshot_of
from noetl.ports import ExecutionRow
from noetl.server.children import NotFound
from noetl.server.triggers.mapping import NotMapped
from noetl.server.triggers.starter import ChainPlace


def ended_scope(runtime: Runtime, row: ExecutionRow, names: frozenset[str]) -> tuple[dict[str, object], ChainPlace]:
    """The values of those names that are read, and its place in the chain of starts that led to it. Raises NotMapped,
    StoreFailure.
    """
    scope: dict[str, object] = {
        "execution_id": row.execution_id, "playbook": row.playbook, "status": row.status, "result": None, "error": None,
        "workload": {},
    }  # fmt: skip
    try:
        _, first = next(runtime.events(row.execution_id))
        # To fold a log takes as long as it is: only where something of it is read.
        if names & {"error", "workload"}:
            snapshot = snapshot_of(runtime, row)
            scope["workload"] = snapshot.execution.workload
            scope["error"] = standing_of(runtime, snapshot).as_json().get("error")
        if "result" in names and row.status == "completed":
            scope["result"] = result_of(runtime, row, None)
    except (UnreadableExecution, NotFound, StopIteration) as problem:
        raise NotMapped(f"it cannot be read: {problem}") from None
    started_by = first.data.get("started_by")
    told = started_by if isinstance(started_by, dict) else {}
    depth, root, starts = told.get("depth"), told.get("root"), told.get("starts")
    return scope, ChainPlace(
        depth if isinstance(depth, int) else 0,
        root if isinstance(root, str) else "",
        starts if isinstance(starts, int) else 0,
    )
