"""Requests to many executions at once: those that are named, or those that fit a filter, with what became of each."""

from __future__ import annotations

from collections.abc import Iterator

from starlette.requests import Request
from starlette.responses import Response

from noetl.api.bodies import ManyBody, ManySignalBody, body_of
from noetl.api.handlers import lasting_of, service_of
from noetl.api.problems import Faulty, Rejected, Unknown
from noetl.api.responses import JSONResponse
from noetl.api.service import ApiService
from noetl.ports import ExecutionRow, StoreFailure, Wanted
from noetl_ir.expr import Json


async def cancel_many(request: Request) -> Response:
    """Cancel executions that are named, or that fit a filter, at most 1,000; what became of each."""
    body = await body_of(request, ManyBody)
    # A request to each of them is a commit of its own: that may take seconds.
    return JSONResponse(await lasting_of(request).run(_ask_many, service_of(request), body, "cancel"))


async def signal_many(request: Request) -> Response:
    """Send a named signal to executions that are named, or that fit a filter, at most 1,000; what became of each."""
    body = await body_of(request, ManySignalBody)
    return JSONResponse(await lasting_of(request).run(_ask_many, service_of(request), body, "signal"))


def _ask_many(service: ApiService, body: ManyBody, verb: str) -> dict[str, Json]:
    """Ask the same of many executions: a row for each with its `outcome`, `asked` (`fits` in a dry run), or `refused`
    and `why`. `next` asks for those behind them that fit the filter, too.
    """
    store, behind = service.runtime.store, None
    rows: list[ExecutionRow | str] = []
    if (one := body.filter) is not None:
        wanted = Wanted(
            one.status or "", one.parent, open=True, before=body.before, limit=body.limit, top=one.top, text=one.text
        )
        fitting = store.executions(wanted)
        behind = fitting[-1].execution_id if len(fitting) == body.limit else None
        rows += fitting
    else:
        rows += [store.execution(name) or name for name in dict.fromkeys(body.ids or ())]
    found: list[Json] = [_asked_one(service, body, verb, row) for row in rows]
    return {"executions": found, "next": behind}


def _asked_one(service: ApiService, body: ManyBody, verb: str, row: ExecutionRow | str) -> dict[str, Json]:
    if isinstance(row, str):
        return {"execution_id": row, "outcome": "refused", "why": "there is no such execution"}
    document: dict[str, Json] = {"execution_id": row.execution_id, "playbook": row.playbook, "status": row.status}
    # One that refuses is told among the others, and stops none of them.
    try:
        for why in _hindrances(service, body, row):
            return {**document, "outcome": "refused", "why": why}
        if not body.dry_run:
            service.ask(row.execution_id, verb, _said(body))
    except (Rejected, Unknown, Faulty, StoreFailure) as problem:
        return {**document, "outcome": "refused", "why": str(problem)}
    return {**document, "outcome": "fits" if body.dry_run else "asked"}


def _hindrances(service: ApiService, body: ManyBody, row: ExecutionRow) -> Iterator[str]:
    """Why an execution refuses what is asked of it, as far as that is known before."""
    if row.ended is not None:
        yield f"it is over ({row.status})"
    elif isinstance(body, ManySignalBody) and not body.anyway and (why := service.unheard(row.execution_id, body.name)):
        yield why


def _said(body: ManyBody) -> Json:
    return {"name": body.name, "data": body.data} if isinstance(body, ManySignalBody) else None
