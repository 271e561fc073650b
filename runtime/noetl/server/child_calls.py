"""Calls of children: a task of kind `playbook` starts another execution, or finds the one that it started before.

What becomes of the child is handed up by the control plane, which has both executions.
"""

from collections.abc import Callable
from typing import Protocol

from noetl.engine.program import Program
from noetl.engine.starting import Request
from noetl.host.engine_faults import CODE, fault_of
from noetl.host.log_lines import log_line
from noetl.ports import Blobs, Store
from noetl.server.children import (
    AwaitedChildren,
    ChildCaller,
    NotFound,
    child_of,
    may_outlive_cancel,
    refused_inputs,
    request_of,
    too_deep,
)
from noetl.server.execution import FOREIGN, OwnedExecution
from noetl.server.journal import Keep
from noetl.server.owned_executions import OwnedExecutions
from noetl.server.places import rows_under
from noetl_ir.expr import Json
from noetl_ir.orders import StartChild
from noetl_ir.outcome import error, ok


class ChildStart(Protocol):
    """Creates an execution and runs its first turn."""

    def __call__(self, program: Program, execution_id: str, request: Request) -> OwnedExecution: ...


class Resume(Protocol):
    """Takes up an execution from its log."""

    def __call__(self, execution_id: str, program: Program) -> OwnedExecution: ...


class ChildCalls:
    """Makes the calls of one control plane.

    - `find`: the program of a child, by the calling program and the path; `load`: one by its digest.
    - `end`: follows up the end of a child that was over already; `hand_up`: gives a caller its child's outcome.
    - `record`: writes into the caller's log that it calls a child which may outlive a cancel.
    """

    def __init__(
        self,
        children: AwaitedChildren,
        owned: OwnedExecutions,
        *,
        store: Store,
        blobs: Blobs,
        find: Callable[[Program, str], Program],
        load: Callable[[str], Program],
        environment: Callable[[Program], dict[str, Json] | None],
        keep: Keep,
        say: Callable[[str], None],
        start: ChildStart,
        resume: Resume,
        end: Callable[[Program, str], None],
        hand_up: Callable[[ChildCaller, dict[str, Json]], None],
        record: Callable[[OwnedExecution, str, str], None],
    ) -> None:
        self._children = children
        self._owned = owned
        self._store = store
        self._blobs = blobs
        self._find = find
        self._load = load
        self._environment = environment
        self._keep = keep
        self._say = say
        self._start = start
        self._resume = resume
        self._end = end
        self._hand_up = hand_up
        self._record = record

    def start(self, owned: OwnedExecution, order: StartChild) -> None:
        """Start or find the child that an order is about. One that cannot be made is an error of the calling task."""
        try:
            self._call(owned, order)
        except FOREIGN:
            raise
        except Exception as problem:
            told = fault_of(problem)
            self._say(log_line("error", f"execution {order.execution_id}: {told['message']}", order.execution_id))
            self._hand_up(ChildCaller(order.execution_id, order.run), error(CODE, str(told["message"])).as_json())

    def _call(self, owned: OwnedExecution, order: StartChild) -> None:
        caller, path = ChildCaller(order.execution_id, order.run), str(order.call.get("path", ""))
        if (deep := too_deep(owned, path)) is not None:
            self._hand_up(caller, deep.as_json())
            return
        # The ids that a call may have follow from it: after a crash the child is found, and not started twice.
        child_id, there = child_of(self._store, self._blobs, order)
        try:
            program = self._find(owned.program, path) if there is None else self._load(there.plan_digest)
        except NotFound as problem:
            self._hand_up(caller, error("playbook.not_found", str(problem)).as_json())
            return
        request = request_of(order, owned.execution, self._environment(program))
        if there is None and (wrong := refused_inputs(program, child_id, request)) is not None:
            self._hand_up(caller, wrong.as_json())
            return
        waits = order.call.get("wait") is not False
        if waits:
            self._children.add_child(child_id, caller)
            if may_outlive_cancel(program) and order.run not in owned.execution.children:
                self._record(owned, order.run, child_id)
        is_driven = child_id in self._owned.executions
        if not is_driven:
            self._keep(lambda: self._owned.own(child_id))
        if there is None:
            self._keep(
                lambda: self._store.keep_plan(program.digest, program.plan.path, program.bytes, program.sourced())
            )
            # Before the child is there: from its first event on it holds the places that it runs under.
            if rows := rows_under(owned, child_id, request.under):
                self._keep(lambda: self._store.change_places(lambda _: rows))
            self._start(program, child_id, request)
        elif there.status in ("running", "paused"):
            if not is_driven:
                self._resume(child_id, program)
        elif waits:
            self._end(program, child_id)
        if not waits:
            self._hand_up(caller, ok({"execution_id": child_id}).as_json())
