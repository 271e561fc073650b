"""Executions that are looked for: lists of them, and how many there are of each kind."""

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from noetl.api.bodies import natural
from noetl.api.handlers import service_of
from noetl.api.pages import limit_of, page, position_of
from noetl.api.problems import BadRequest, Rejected
from noetl.api.responses import JSONResponse
from noetl.api.scoping import in_scope, shown_execution
from noetl.api.service import ApiService
from noetl.app.clock import WallClock
from noetl.app.query_language import QueryProblem, faulty_group, read_query
from noetl.ports import ALL, STATUSES, Wanted
from noetl.ports.queries import Condition
from noetl.ports.scopes import scope_now
from noetl_ir.expr import Json


def condition_in(text: str) -> Condition | None:
    """The condition of a query that somebody wrote. Raises BadRequest."""
    try:
        return read_query(text, WallClock().now())
    except QueryProblem as problem:
        raise BadRequest(f"`query`, {problem}") from None


def wanted_by(request: Request) -> Wanted:
    """The executions that a request asks for, by a query and its short forms. Raises BadRequest."""
    query = request.query_params
    status = query.get("status", "")
    if status and status not in STATUSES:
        raise BadRequest(f"`status` is one of {', '.join(sorted(STATUSES))}")
    before, moment = _place(query.get("before", ""))
    return Wanted(
        status, query.get("parent", ""), query.get("open") == "true", before, started_before=moment,
        top=query.get("top") == "true", text=query.get("text", ""), rerun_of=query.get("rerun_of", ""),
        query=condition_in(query.get("query", "")),
    )  # fmt: skip


def _place(text: str) -> tuple[str, int]:
    """The execution behind which a page begins, or else the time (`@` and microseconds since the epoch) before which
    what it has began: a list over several stores goes on behind an execution of another one so. Raises BadRequest.
    """
    return ("", natural("before", text[1:], 1, 1 << 62)) if text.startswith("@") else (text, 0)


async def list_executions(request: Request) -> Response:
    """Executions, newest first; with `now=true`, of those that are not over also what they do and wait for."""
    limit, now = limit_of(request), request.query_params.get("now") == "true"
    wanted = wanted_by(request)._replace(limit=limit)
    rows = await run_in_threadpool(_listed, service_of(request), wanted, now=now)
    if not rows and wanted.before and await run_in_threadpool(_is_gone, service_of(request), wanted.before):
        # An end of the list would be a list that lacks what is behind: it may have been purged since the last page.
        raise Rejected(f"there is no execution `{wanted.before}`, behind which the list was to go on: begin it again")
    return page("executions", rows, rows[-1]["execution_id"] if len(rows) == limit else None)


async def get_counts(request: Request) -> Response:
    """How many executions there are by status."""
    return JSONResponse(await run_in_threadpool(_counts, service_of(request)))


async def count_by(request: Request) -> Response:
    """How many of the executions that are asked for there are by `status`, `error`, `playbook`, `label.NAME` or
    `search.NAME`: those of most first, and null for those that have none.
    """
    group = str(request.path_params["group"])
    if why := faulty_group(group):
        raise BadRequest(why)
    after, limit, wanted = position_of(request), limit_of(request), wanted_by(request)
    rows = (await run_in_threadpool(_tally, service_of(request), wanted, group))[after:]
    shown: list[dict[str, Json]] = [{"value": value, "count": count} for value, count in rows[:limit]]
    return page("counts", shown, after + limit if len(rows) > limit else None)


def _is_gone(service: ApiService, execution_id: str) -> bool:
    return shown_execution(service.runtime.store, execution_id) is None


def _listed(service: ApiService, wanted: Wanted, *, now: bool) -> list[dict[str, Json]]:
    return service.executions(in_scope(service.runtime.store, wanted), now=now)


def _tally(service: ApiService, wanted: Wanted, group: str) -> tuple[tuple[str | None, int], ...]:
    return service.runtime.store.tally(in_scope(service.runtime.store, wanted), group)


def _counts(service: ApiService) -> dict[str, int]:
    if not scope_now().paths:
        return service.counts()  # kept by the store: nothing is counted
    return {**dict.fromkeys(STATUSES, 0), **{str(status): count for status, count in _tally(service, ALL, "status")}}
