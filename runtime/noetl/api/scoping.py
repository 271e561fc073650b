"""Scopes over the API: what the address of a request names is in the scope of its token, and so is what a body names.

Whatever is out of scope is answered as what is not there. For a token without scopes nothing is looked up.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request

from noetl.api.bearer_tokens import BearerToken
from noetl.api.operation import EXECUTION, PLAN, PLAYBOOK, WITHIN, WORK, Operation
from noetl.api.problems import Forbidden, OutOfScope, Unknown
from noetl.app.playbook_calls import called_by, calls_of, reached_from
from noetl.app.runtime import Runtime
from noetl.engine.program import Program
from noetl.ports import ExecutionRow, Store, Wanted
from noetl.ports.idempotency import StartKey
from noetl.ports.queries import all_of
from noetl.ports.scopes import TokenScope, condition_within, is_within, keeping_to, scope_now
from noetl.server.children import NotFound
from noetl.server.workers.tracker import pool_of
from noetl_ir.expr import Json
from noetl_ir.plan import Plan
from noetl_ir.plan_format import PlanError, read_plan

_NOBODY = " "
"""An id that no execution has."""

_DEEPEST = 100
"""Callers of an execution that are looked through, and playbooks that call each other."""


async def admitted(request: Request, operation: Operation, token: BearerToken | None) -> TokenScope:
    """The scope of a request, once what its address names is in there. Raises OutOfScope, Forbidden."""
    if token is None or not token.is_scoped:
        return TokenScope()
    scope = TokenScope(token.paths, token.pools, works=token.role == "worker")
    if scope.works and scope.pools and operation.scope in (PLAYBOOK, WITHIN):
        raise Forbidden(f"the token `{token.name}` carries out steps of some pools: this is no part of that")
    if operation.scope in _OF_ADDRESSES:
        named, check = _OF_ADDRESSES[operation.scope]
        name, runtime = str(request.path_params[named]), request.app.state.service.runtime

        def checked() -> None:
            with keeping_to(scope):
                check(runtime, name)

        await run_in_threadpool(checked)
    scope.is_heeded = False
    return scope


def check_heeded(operation: Operation, scope: TokenScope, token: BearerToken | None) -> None:
    """Raises AssertionError where a handler that has to keep to scopes did not look at that of a request."""
    if token is not None and token.is_scoped and operation.scope in (WITHIN, WORK) and not scope.is_heeded:
        raise AssertionError(f"{operation.method} {operation.path} does not keep to scopes")


def shown_execution(store: Store, execution_id: str) -> ExecutionRow | None:
    """The row of an execution; None where there is none in the scope of whoever asks."""
    paths, row = scope_now().paths, store.execution(execution_id)
    return row if row is not None and is_within(row.playbook, paths) else None


def in_scope(store: Store, wanted: Wanted) -> Wanted:
    """A filter of executions that shows what is in the scope of whoever asks, and does not tell where others stand."""
    paths = scope_now().paths
    if not paths:
        return wanted
    parts = [condition_within(paths), *([wanted.query] if wanted.query is not None else [])]
    # Behind the id of another one there would be rows, and behind one that nobody has there are none.
    is_shown = not wanted.before or shown_execution(store, wanted.before) is not None
    return wanted._replace(query=all_of(parts), before=wanted.before if is_shown else _NOBODY)


def check_path(path: str) -> None:
    """Raises OutOfScope for the path of a playbook."""
    if path and not is_within(path, scope_now().paths):
        raise OutOfScope(f"no playbook `{path}` is registered")


def check_plan(runtime: Runtime, digest: str) -> None:
    """Raises OutOfScope for a plan of another playbook, and for workers for one without a step of their pools."""
    scope = scope_now()
    if not scope.paths and not (scope.works and scope.pools):
        return
    try:
        plan = runtime.programs.load(digest).plan
    except (NotFound, PlanError):
        plan = None  # what it is of cannot be told
    if plan is None or not is_within(plan.path or plan.name, scope.paths) or not _is_of_worker(plan, scope):
        raise OutOfScope(f"there is no plan with the digest {digest}")


def check_value(store: Store, reference: Mapping[str, Json]) -> None:
    """Raises OutOfScope for a value of an execution that neither is in the scope of whoever asks, nor was called by
    one that is, nor has called one: what is handed over belongs to both sides.
    """
    paths = scope_now().paths
    if not paths:
        return
    name = str(reference.get("key", "")).partition("/")[0]
    row = store.execution(name) if name.isprintable() else None
    if row is not None and store.executions(Wanted(parent=name, query=condition_within(paths), limit=1)):
        return
    for _ in range(_DEEPEST):
        if row is None or is_within(row.playbook, paths):
            break
        row = store.execution(row.parent_execution_id) if row.parent_execution_id is not None else None
    if row is None or not is_within(row.playbook, paths):
        raise OutOfScope("there is no such value")


def check_start(runtime: Runtime, program: Program) -> None:
    """Raises Forbidden for a playbook with steps that may run in other pools than those of whoever asks."""
    if pools := scope_now().pools:
        told = f"your pools are {', '.join([f'`{each}`' for each in pools])}"
        for playbook, pool in _pools_of(runtime, program):
            if not pool:
                raise Forbidden(f"`{playbook}` calls a playbook whose pools only a run tells: {told}")
            if pool not in pools:
                raise Forbidden(f"a step of `{playbook}` runs in the pool `{pool}`: {told}")


def check_registration(runtime: Runtime, program: Program) -> None:
    """Raises Forbidden for a playbook that is none of whoever asks, or calls one that is not: what it gives back could
    be read by its caller.
    """
    paths = scope_now().paths
    if paths:
        told = ", ".join([f"`{each}`" for each in paths])
        for caller, path in _paths_of(program.plan):
            if not path:
                raise Forbidden(f"`{caller}` calls a playbook whose path only a run tells: write the path")
            # Where a server has folders of playbooks, a path is looked up there as that of a file, too.
            if not is_within(path, paths) or not {".", ".."}.isdisjoint(path.split("/")):
                raise Forbidden(f"the playbook `{path}` is out of your scope, which is {told}")
        for path in calls_of(program.plan):
            if (found := called_by(runtime.programs, program, path)) is not None:
                own = found.plan.path or found.plan.name
                if not is_within(own, paths):
                    raise Forbidden(
                        f"the playbook `{own}`, which `{path}` leads to, is out of your scope, which is {told}"
                    )
    check_start(runtime, program)


def check_document(runtime: Runtime, spec: Mapping[str, Json]) -> None:
    """Raises Forbidden for what would start a playbook in other pools than those of whoever asks, as far as its version
    of now tells.
    """
    if not scope_now().pools or "playbook" not in spec:
        return
    path, version = spec["playbook"], spec.get("version")
    found = runtime.store.plan_at(str(path), version if isinstance(version, int) else None)
    if found is None:
        raise Forbidden(f"`{path}` is not registered, so that its pools are not known: register it first")
    try:
        program = runtime.programs.load(found[0])
    except (NotFound, PlanError):
        raise Forbidden(f"`{path}` cannot be read, so that its pools are not known") from None
    check_start(runtime, program)


def scoped_key(key: StartKey) -> StartKey:
    """The key of a start, which is that of a scope: what others have started with the same one is not told."""
    paths = scope_now().paths
    return key._replace(key=f"{' '.join(paths)}\0{key.key}") if paths else key


def _check_execution(runtime: Runtime, execution_id: str) -> None:
    scope = scope_now()
    row = shown_execution(runtime.store, execution_id) if execution_id.isprintable() else None
    if row is not None and scope.works and scope.pools:
        try:
            check_plan(runtime, row.plan_digest)
        except Unknown:
            row = None
    if row is None:
        text = f"there is no execution `{execution_id}`" if execution_id.isprintable() else "there is no such execution"
        raise OutOfScope(text)


def _check_digest(runtime: Runtime, digest: str) -> None:
    if not (digest.isascii() and digest.isalnum()):
        raise OutOfScope("there is no such plan")
    check_plan(runtime, digest)


_OF_ADDRESSES = {
    EXECUTION: ("execution_id", _check_execution),
    PLAN: ("digest", _check_digest),
    PLAYBOOK: ("path", lambda _, path: check_path(path)),
}


def _is_of_worker(plan: Plan, scope: TokenScope) -> bool:
    """Whether a worker of a scope has a step to carry out in a plan; for whoever is none, true."""
    if not scope.works or not scope.pools:
        return True
    return any(pool_of(step) in scope.pools for step in plan.steps if step.tasks)


def _paths_of(plan: Plan, depth: int = 0) -> Iterator[tuple[str, str]]:
    """The playbooks that registering a plan is about, each with who calls it: itself, what it calls, and what was
    compiled in with that.
    """
    own = plan.path or plan.name
    yield own, own
    yield from ((own, path) for path in calls_of(plan))
    for child in plan.children:
        yield own, child.path
        if depth == _DEEPEST:
            raise Forbidden(f"`{own}` calls playbooks that are more than {_DEEPEST} calls deep")
        try:
            inner = read_plan(child.data)
        except PlanError:
            raise Forbidden(f"`{own}` calls `{child.path}`, which cannot be read") from None
        yield from _paths_of(inner, depth + 1)


def _pools_of(runtime: Runtime, program: Program) -> Iterator[tuple[str, str]]:
    """The pools that the steps of a playbook and of all that it calls run in, each with its playbook; the pool "" for
    a call of which only a run tells where it leads.
    """
    for current, is_open in reached_from(runtime.programs, program):
        name = current.plan.path or current.plan.name
        yield from ((name, pool_of(step)) for step in current.plan.steps if step.tasks)
        if is_open:
            yield name, ""
