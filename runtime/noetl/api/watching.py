"""Views of an execution and its plan for the page: frames, timeline, any moment and outline."""

from __future__ import annotations

import time

from starlette.requests import Request
from starlette.responses import Response

from noetl.api.bodies import number_of
from noetl.api.handlers import digest_of, execution_of, lasting_of, service_of
from noetl.api.pages import LAST_POSITION, limit_of, moment_of, position_of
from noetl.api.problems import BadRequest
from noetl.api.responses import JSONResponse
from noetl.api.service import ApiService, faults_told
from noetl.app.frames import FrameCache
from noetl.app.loop_items import STATES, ItemLists, whole_item
from noetl.app.outline import outline_document
from noetl.app.runtime import Runtime
from noetl.app.timeline import Timelines
from noetl_ir.expr import Json


class Watching:
    """Views of executions and plans that somebody looks at. Every method may be called from any thread, and blocks."""

    def __init__(self, service: ApiService, runtime: Runtime) -> None:
        self._service = service
        self._runtime = runtime
        self._frames = FrameCache(runtime)
        self._timelines = Timelines(runtime)
        self._items = ItemLists(runtime)

    def frames(self, execution_id: str, after: int, limit: int) -> dict[str, Json]:
        """How it stood behind each of some events."""
        with faults_told():
            return self._frames.frames(self._service.execution_row(execution_id), after, limit)

    def timeline(self, execution_id: str, after: int) -> dict[str, Json]:
        """Its bars that are new behind a position."""
        with faults_told():
            return self._timelines.document(self._service.execution_row(execution_id), after)

    def items(
        self, execution_id: str, step: str, state: str, page: tuple[int, int], position: int | None
    ) -> dict[str, Json]:
        """A page of the items of a step's loops; a page is the number behind which it begins, and its rows."""
        with faults_told():
            return self._items.page(self._service.execution_row(execution_id), step, state, page, position)

    def item(self, execution_id: str, step: str, key: str) -> dict[str, Json]:
        """One item of a step's loops, whole."""
        with faults_told():
            return whole_item(self._runtime, self._service.execution_row(execution_id), step, key)

    def outline(self, digest: str) -> dict[str, Json]:
        """The outline of a plan."""
        self._service.plan_bytes(digest)
        with faults_told():
            return outline_document(self._runtime.programs, self._runtime.programs.load(digest), time.time_ns() // 1000)


async def get_frames(request: Request) -> Response:
    """How an execution stood behind each event: the state at `after`, and what each event behind it made other."""
    asked = execution_of(request), position_of(request), limit_of(request)
    return JSONResponse(await lasting_of(request).run(_watching(request).frames, *asked))


async def get_timeline(request: Request) -> Response:
    """The bars of the timeline that are new or other behind position `after`."""
    asked = execution_of(request), position_of(request)
    return JSONResponse(await lasting_of(request).run(_watching(request).timeline, *asked))


async def get_items(request: Request) -> Response:
    """The items of the loops of `step`, with their values cut short, and how many stand how (`counts`); those of one
    `state` if one is named. With `position`, as they stood behind the event there.
    """
    query, state = request.query_params, request.query_params.get("state", "")
    if state and state not in STATES:
        raise BadRequest(f"`state` is one of {', '.join(STATES)}")
    rows = position_of(request), limit_of(request)
    asked = execution_of(request), query.get("step", ""), state, rows, moment_of(request)
    return JSONResponse(await lasting_of(request).run(_watching(request).items, *asked))


async def get_item(request: Request) -> Response:
    """One item of the loops of `step`, and its result, whole: `key` is the run and the index of a row, as `7/0`."""
    query = request.query_params
    asked = execution_of(request), query.get("step", ""), query.get("key", "")
    return JSONResponse(await lasting_of(request).run(_watching(request).item, *asked))


async def get_moment(request: Request) -> Response:
    """How an execution stood behind the event at `position`: what it did and waited for, `ctx`, marking, what could
    still come, and the args of the newest run of `step`.
    """
    position = number_of(request, "position", 0, 0, LAST_POSITION)
    asked = execution_of(request), position, request.query_params.get("step", "")
    return JSONResponse(await lasting_of(request).run(service_of(request).moment, *asked))


async def get_outline(request: Request) -> Response:
    """The outline of a plan: its inputs and the values of its workload, kinds, pools, credentials by name."""
    return JSONResponse(await lasting_of(request).run(_watching(request).outline, digest_of(request)))


def _watching(request: Request) -> Watching:
    watching: Watching = request.app.state.watching
    return watching
