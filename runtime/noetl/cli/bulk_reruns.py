"""Reruns of all executions that fit a query: each is begun, and whoever drives the store goes on with it."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from noetl.cli.acting import by_user
from noetl.cli.bulk import BulkOptions, ask_many
from noetl.cli.text import Problem
from noetl.engine.reruns import payload_of
from noetl.engine.workload import merged
from noetl.host.runnable_kinds import unable
from noetl.ports import Taken

if TYPE_CHECKING:
    from noetl.app.reruns import RerunWish
    from noetl.app.runtime import Runtime
    from noetl.ports import ExecutionRow
    from noetl_ir.expr import Json


def rerun_many(url: str, many: BulkOptions, wish: RerunWish, *, newest: bool, as_json: bool) -> int:
    """Begin them; returns the exit code."""
    body: dict[str, Json] = {
        "from": wish.step, "payload": wish.payload, "linear": wish.linear, "accept": [*wish.accepted], "newest": newest,
    }  # fmt: skip
    act = partial(_begin_one, wish, newest=newest, dry_run=many.dry_run)
    return ask_many(url, "rerun", many, body, act, as_json=as_json)


def _begin_one(wish: RerunWish, runtime: Runtime, row: ExecutionRow, *, newest: bool, dry_run: bool) -> str:
    """Begin one of many; the id of the new execution. Raises Problem."""
    from noetl.app.bulk import rerun_key
    from noetl.app.reruns import begin_rerun, planned_rerun, source_of
    from noetl.app.snapshots import UnreadableExecution
    from noetl.ports.namespaces import QuotaExceeded
    from noetl.server.children import NotFound

    try:
        source = source_of(runtime, row)
        if source.execution.scripted:
            raise Problem("a script stood in for its tools")
        program = source.program
        if newest and (found := runtime.store.plan_at(row.playbook)) is not None:
            program = runtime.programs.load(found[0])
        asked = wish._replace(payload=merged(payload_of(source), wish.payload))
        planned = planned_rerun(runtime, source, row, program, asked)
        if told := [one.as_text() for one in planned.rerun.hindrances] + [*unable(planned.program.plan)]:
            raise Problem("; ".join(told))
        if dry_run:
            return ""
        with by_user():
            begin_rerun(runtime, planned, rerun_key(row, wish))
    except Taken as there:
        raise Problem(f"it has a rerun already: {there.execution_id}") from None
    except (UnreadableExecution, NotFound, QuotaExceeded) as problem:
        raise Problem(str(problem)) from None
    return planned.execution_id
