"""Requests to many executions at once: those that are named, or those that fit a filter, with what became of each."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from noetl.api.bodies import FilterBody, ManyBody, ManyRerunBody, ManySignalBody, RerunBody, body_of
from noetl.api.finding import condition_in
from noetl.api.handlers import lasting_of, service_of
from noetl.api.problems import Faulty, Rejected, Unknown
from noetl.api.reruns import look_at_rerun, rerun
from noetl.api.responses import JSONResponse
from noetl.api.scoping import in_scope, shown_execution
from noetl.api.service import ApiService
from noetl.app.bulk import condition_to_ask, hindrance, left_behind, rerun_key
from noetl.app.reruns import RerunWish
from noetl.ports import ExecutionRow, StoreFailure, Wanted
from noetl.ports.namespaces import QuotaExceeded
from noetl_ir.expr import Json


async def cancel_many(request: Request) -> Response:
    """Cancel executions that are named, or that fit, at most 1,000; what became of each."""
    return await _asked_many(request, ManyBody, "cancel")


async def signal_many(request: Request) -> Response:
    """Send a named signal to executions that are named, or that fit, at most 1,000; what became of each."""
    return await _asked_many(request, ManySignalBody, "signal")


async def pause_many(request: Request) -> Response:
    """Pause executions that are named, or that fit, at most 1,000; what became of each."""
    return await _asked_many(request, ManyBody, "pause")


async def resume_many(request: Request) -> Response:
    """Let paused executions go on that are named, or that fit, at most 1,000; what became of each."""
    return await _asked_many(request, ManyBody, "resume")


async def rerun_many(request: Request) -> Response:
    """Begin reruns of executions that are named, or that fit, at most 1,000; what became of each. One that has a rerun
    already is refused.
    """
    return await _asked_many(request, ManyRerunBody, "rerun")


async def _asked_many(request: Request, model: type[ManyBody], verb: str) -> Response:
    body = await body_of(request, model)
    # A request to each of them is a commit of its own: that may take seconds.
    return JSONResponse(await lasting_of(request).run(_ask_many, service_of(request), body, verb))


def _ask_many(service: ApiService, body: ManyBody, verb: str) -> dict[str, Json]:
    """Ask the same of many executions: a row for each with its `outcome`, `asked` (`fits` in a dry run), or `refused`
    and `why`. `next` asks for those behind them that fit, too, and `left` says how many these are.
    """
    store, behind, left = service.runtime.store, None, 0
    rows: list[ExecutionRow | str] = []
    if body.ids is None:
        one = body.filter or FilterBody.model_validate({})
        query = condition_to_ask(verb, condition_in(body.query or ""))
        wanted = Wanted(
            one.status or "", one.parent, before=body.before, limit=body.limit, top=one.top, text=one.text, query=query
        )
        wanted = in_scope(store, wanted)
        fitting = store.executions(wanted)
        rows += fitting
        if len(fitting) == body.limit:
            left = left_behind(store, wanted._replace(before=fitting[-1].execution_id))
            behind = fitting[-1].execution_id if left else None
    else:
        rows += [shown_execution(store, name) or name for name in dict.fromkeys(body.ids)]
    found: list[Json] = [_asked_one(service, body, verb, row) for row in rows]
    return {"executions": found, "next": behind, "left": left}


def _asked_one(service: ApiService, body: ManyBody, verb: str, row: ExecutionRow | str) -> dict[str, Json]:
    if isinstance(row, str):
        return {"execution_id": row, "outcome": "refused", "why": "there is no such execution"}
    document: dict[str, Json] = {"execution_id": row.execution_id, "playbook": row.playbook, "status": row.status}
    # One that refuses is told among the others, and stops none of them.
    try:
        if why := _hindrance(service, body, verb, row):
            return {**document, "outcome": "refused", "why": why}
        if isinstance(body, ManyRerunBody):
            document |= _rerun(service, body, row)
        elif not body.dry_run:
            service.ask(row.execution_id, verb, _said(body))
    except (Rejected, Unknown, Faulty, StoreFailure, QuotaExceeded) as problem:
        return {**document, "outcome": "refused", "why": str(problem)}
    return {**document, "outcome": "fits" if body.dry_run else "asked"}


def _rerun(service: ApiService, body: ManyRerunBody, row: ExecutionRow) -> dict[str, Json]:
    """Begin a rerun, or look at it; the id of a new one. Raises Unknown, Rejected, Faulty, StoreFailure."""
    wished: dict[str, Json] = {
        "from": body.from_step, "payload": dict[str, Json](body.payload), "linear": body.linear,
        "accept": [*body.accept], "path": row.playbook if body.newest else None,
    }  # fmt: skip
    alone = RerunBody.model_validate(wished)
    if body.dry_run:
        _, hindrances = look_at_rerun(service, row, alone)
        if hindrances:
            raise Rejected("; ".join(hindrances))
        return {}
    key = rerun_key(row, RerunWish(body.from_step, {}, body.linear, ()))
    return {"rerun": rerun(service, row.execution_id, alone, key).document["execution_id"]}


def _hindrance(service: ApiService, body: ManyBody, verb: str, row: ExecutionRow) -> str:
    """Why an execution refuses what is asked of it, as far as that is known before; empty where it does not."""
    why = hindrance(service.runtime.store, verb, row)
    if not why and isinstance(body, ManySignalBody) and not body.anyway:
        why = service.unheard(row.execution_id, body.name)
    return why


def _said(body: ManyBody) -> Json:
    return {"name": body.name, "data": body.data} if isinstance(body, ManySignalBody) else None
