"""Child executions: what a `playbook` task asks for, and the outcome that its child gives it."""

from functools import lru_cache

from noetl.engine.execution import Execution
from noetl.engine.identities import child_ids, is_numeric
from noetl.engine.inputs import INVALID
from noetl.engine.places import REFUSED
from noetl.engine.program import Program
from noetl.engine.starting import Request, unmet
from noetl.ports import Blobs, ExecutionRow, Store, StoreFailure
from noetl.server.execution import OwnedExecution
from noetl.server.stored_events import hydrate
from noetl_ir.expr import Json
from noetl_ir.kinds.playbook import called_path
from noetl_ir.orders import StartChild
from noetl_ir.outcome import Outcome, error, ok
from noetl_ir.plan import Plan
from noetl_ir.plan_format import read_plan
from noetl_ir.projections import told
from noetl_ir.records import NamedTuple


class NotFound(Exception):
    """No plan is known under the path that a `playbook` task names. The text says where was looked."""


class ChildCaller(NamedTuple):
    """The caller of a child execution: the parent execution, and the token key of the parked task in it."""

    parent: str
    run: str


class AwaitedChildren:
    """The children that a caller waits for, by their ids and by their callers."""

    def __init__(self) -> None:
        self._calls: dict[str, ChildCaller] = {}
        self._of: dict[str, dict[str, ChildCaller]] = {}

    def add_child(self, child_id: str, call: ChildCaller) -> None:
        """Note a child and its caller."""
        self._calls[child_id] = call
        self._of.setdefault(call.parent, {})[child_id] = call

    def pop(self, child_id: str) -> ChildCaller | None:
        """Forget a child; returns its caller, or None where nobody waits for it."""
        call = self._calls.pop(child_id, None)
        if call is not None:
            mine = self._of[call.parent]
            del mine[child_id]
            if not mine:
                del self._of[call.parent]
        return call

    def children_of(self, parent: str) -> list[tuple[str, ChildCaller]]:
        """The children that an execution waits for, each with its caller's token key."""
        return [*self._of.get(parent, {}).items()]

    def clear(self) -> None:
        """Forget all children."""
        self._calls.clear()
        self._of.clear()


def child_of(store: Store, blobs: Blobs, order: StartChild) -> tuple[str, ExecutionRow | None]:
    """The id of the child that an order is about, and its row where it was started already."""
    for child_id in child_ids(order.execution_id, order.name, order.since):
        # The ids follow from the call, so a server that goes on after a crash finds the child that was started, and
        # starts none twice. Numeric ids are short enough to be drawn by two calls; then the next one is tried.
        there = store.execution(child_id)
        if there is None or not is_numeric(child_id) or _is_of(order, there, store, blobs):
            return child_id, there
    raise StoreFailure(f"{order.execution_id}: no id is left for a child")


def _is_of(order: StartChild, there: ExecutionRow, store: Store, blobs: Blobs) -> bool:
    """Whether an execution is the child of this call, and not another one that drew the same id."""
    if there.parent_execution_id != order.execution_id:
        return False
    # The row names only the parent, which may have many children: which call this one answers is in its first event.
    first = next(iter(store.read(there.execution_id)), None)
    return first is not None and hydrate(first, blobs).data.get("call") == order.name


def root_of(store: Store, row: ExecutionRow) -> str:
    """The execution that called the one which called … this one: whose owner drives this one too."""
    seen = {row.execution_id}
    # Rows of an altered store may name each other in a circle.
    while row.parent_execution_id is not None and row.parent_execution_id not in seen:
        above = store.execution(row.parent_execution_id)
        if above is None:
            break
        row = above
        seen.add(row.execution_id)
    return row.execution_id


def missed(child: Execution, caller: ExecutionRow | None) -> str | None:
    """The order that a child was to be told by its caller, and was not, since a crash came between the two; None for
    nothing.
    """
    if child.is_over or child.detached or caller is None:
        return None
    if caller.ended is not None:
        return "cancel"
    # A child that was paused by itself stays so when its caller goes on: only the pause that came from there ends
    # with it.
    if caller.status == "paused":
        return None if child.paused else "pause"
    return "resume" if child.paused_by_caller else None


def too_deep(owned: OwnedExecution, path: str) -> Outcome | None:
    """The outcome of a call that is one deeper than `limits.max_children_depth`, None of any other."""
    depth, limit = owned.execution.children_depth + 1, owned.program.plan.limits.max_children_depth
    if depth <= limit:
        return None
    # A playbook that calls itself makes one execution after the other, each with a log of its own. No limit inside of
    # one execution sees that.
    message = f"playbook `{path}` would be {depth} calls deep; `limits.max_children_depth` is {limit}"
    return error("playbook.depth", message)


def request_of(order: StartChild, caller: Execution, env: dict[str, Json] | None) -> Request:
    """The request that starts the child: its payload is the task's `args` over `payload`; it may read `env`."""
    call = order.call
    payload: dict[str, Json] = {}
    for key in ("payload", "args"):
        part = call.get(key)
        if isinstance(part, dict):
            payload.update(part)
    step = call.get("return_step")
    return Request(
        payload,
        (order.execution_id, order.run),
        caller.children_depth + 1,
        order.parent_iter,
        order.trace_id,
        step if isinstance(step, str) else "",
        call.get("wait") is False,
        scripted=caller.scripted,
        call=order.name,
        env=env,
        folder=caller.folder,
        under=() if call.get("wait") is False else under_of(caller),
    )


def under_of(caller: Execution) -> tuple[tuple[str, str], ...]:
    """The places that a child runs under, for which its caller waits: those that its caller runs under, and its own."""
    return (
        (*caller.place.under, (caller.place.holds, caller.execution_id)) if caller.place.holds else caller.place.under
    )


def refused_inputs(program: Program, child_id: str, request: Request) -> Outcome | None:
    """The outcome of a call that brings what the child's declared inputs do not allow, None of any other."""
    # Without declared inputs a child that lacks one is an execution that fails, and can be looked at.
    told = unmet(program, child_id, request) if program.plan.inputs is not None else ()
    if not told:
        return None
    return error(INVALID, f"playbook `{program.plan.path or program.plan.name}` was not started: {'; '.join(told)}")


@lru_cache(maxsize=64)
def may_outlive_cancel(program: Program) -> bool:
    """Whether an execution of the program may go on once it is cancelled: it has phases behind main, or waits for a
    child that has some, or may have.
    """
    return _may_outlive(program.plan)


def _may_outlive(plan: Plan) -> bool:
    if plan.phases or plan.compensations:
        return True
    paths = {child.path: child for child in plan.children}
    called = [
        called_path(plan.templates[task.fields]) if task.fields >= 0 else ""
        for task in plan.tasks
        if task.kind == "playbook"
    ]
    if any(path not in paths for path in called):  # looked up when it is called
        return True
    return any(_may_outlive(read_plan(paths[path].data)) for path in dict.fromkeys(called))


def outcome_of(owned: OwnedExecution) -> dict[str, Json]:
    """The outcome of the calling task once the child has ended (LANGUAGE §7, `playbook`)."""
    execution = owned.execution
    name = owned.program.plan.path or owned.program.plan.name
    if execution.status == "completed":
        result = execution.returned if execution.return_step >= 0 else execution.last_result
        return ok(told(result)).as_json()
    if execution.place.refused is not None:
        key, why = execution.place.refused.get("key"), execution.place.refused.get("why")
        return error(REFUSED, f"playbook `{name}` got no place under `{key}` ({why})").as_json()
    failure: dict[str, Json] = dict(execution.fault or execution.failure or {})
    message = f"playbook `{name}` ended {execution.status}"
    if failure.get("message"):
        message = f"{message}: {failure['message']}"
    # One that failed has failed as a part of its caller; the other two ended for reasons of their own.
    kind = "playbook" if execution.status == "failed" else "child"
    outcome = error(f"{kind}.{execution.status}", message)
    # A rule of the caller can then tell which child failed, and a reader of its log finds the log of the child.
    problem = {**(outcome.error or {}), "execution_id": execution.execution_id}
    if failure:
        problem["cause"] = failure
    return {**outcome.as_json(), "error": problem}
