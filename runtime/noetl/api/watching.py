"""Views of an execution and its plan for the page: frames, timeline, any moment, picture, verdicts and outline."""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock

from starlette.requests import Request
from starlette.responses import Response

from noetl.api.bodies import number_of
from noetl.api.handlers import execution_of, lasting_of, service_of
from noetl.api.pages import LAST_POSITION, limit_of, position_of
from noetl.api.problems import Faulty, Unknown
from noetl.api.responses import JSONResponse
from noetl.api.service import ApiService, faults_told
from noetl.app.frames import FrameCache
from noetl.app.outline import outline_document
from noetl.app.runtime import Runtime
from noetl.app.timeline import Timelines
from noetl.bounded_table import BoundedTable
from noetl_ir.expr import Json

_MADE = 64
"""Pictures and verdicts that are kept."""

_HEADERS = {
    # Opened by itself it is a document of this site with texts of a playbook in it.
    "Content-Security-Policy": "default-src 'none'; sandbox",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "private, max-age=86400",
}


class Watching:
    """Views of executions and plans that somebody looks at. Every method may be called from any thread, and blocks.

    A picture is made by the compiler, as a process, when a plan is first looked at, and kept in memory. It is not
    stored with the plan: it follows from the plan, plans that came as bytes have none, and a stored one would be that
    of the version which had stored it.
    """

    def __init__(self, service: ApiService, runtime: Runtime) -> None:
        self._service = service
        self._runtime = runtime
        self._frames = FrameCache(runtime)
        self._timelines = Timelines(runtime)
        self._made: BoundedTable[tuple[str, str], str] = BoundedTable(_MADE)
        self._lock = Lock()

    def frames(self, execution_id: str, after: int, limit: int) -> dict[str, Json]:
        """How it stood behind each of some events."""
        with faults_told():
            return self._frames.frames(self._service.execution_row(execution_id), after, limit)

    def timeline(self, execution_id: str, after: int) -> dict[str, Json]:
        """Its bars that are new behind a position."""
        with faults_told():
            return self._timelines.document(self._service.execution_row(execution_id), after)

    def picture(self, digest: str) -> str:
        """The picture of a plan, as SVG whose style sheet is its `metadata`."""
        from noetl.clients.compiler import picture_of

        text = self._derived("picture", digest, picture_of)
        # The policy of the page takes no style out of a document. It takes text, and says itself what it is.
        return text.replace("<style>", "<metadata>", 1).replace("</style>", "</metadata>", 1)

    def verdicts(self, digest: str) -> str:
        """The verdicts of analysis on a plan, as JSON."""
        from noetl.clients.compiler import verdicts_of

        return self._derived("verdicts", digest, verdicts_of)

    def outline(self, digest: str) -> dict[str, Json]:
        """The outline of a plan."""
        self._service.plan_bytes(digest)
        with faults_told():
            return outline_document(self._runtime.programs.load(digest))

    def _derived(self, what: str, digest: str, make: Callable[[bytes], str]) -> str:
        """A text that the compiler makes of a plan, made once."""
        from noetl.clients.compiler import CompileError

        with self._lock:
            known = self._made.get((what, digest))
        if known is None:
            try:
                known = make(self._service.plan_bytes(digest))
            except CompileError as problem:
                raise Faulty(str(problem)) from None
            with self._lock:
                self._made[what, digest] = known
        return known


async def get_frames(request: Request) -> Response:
    """How an execution stood behind each event: the state at `after`, and what each event behind it made other."""
    asked = execution_of(request), position_of(request), limit_of(request)
    return JSONResponse(await lasting_of(request).run(_watching(request).frames, *asked))


async def get_timeline(request: Request) -> Response:
    """The bars of the timeline that are new or other behind position `after`."""
    asked = execution_of(request), position_of(request)
    return JSONResponse(await lasting_of(request).run(_watching(request).timeline, *asked))


async def get_moment(request: Request) -> Response:
    """How an execution stood behind the event at `position`: what it did and waited for, `ctx`, marking, what could
    still come, and the args of the newest run of `step`.
    """
    position = number_of(request, "position", 0, 0, LAST_POSITION)
    asked = execution_of(request), position, request.query_params.get("step", "")
    return JSONResponse(await lasting_of(request).run(service_of(request).moment, *asked))


async def get_picture(request: Request) -> Response:
    """The picture of a plan's steps, as SVG for a page: its style sheet is its `metadata`."""
    text = await lasting_of(request).run(_watching(request).picture, _digest(request))
    return Response(text, headers=_HEADERS, media_type="image/svg+xml")


async def get_verdicts(request: Request) -> Response:
    """The verdicts of analysis on a plan, as `noetlc analyze --format json` says it."""
    text = await lasting_of(request).run(_watching(request).verdicts, _digest(request))
    return Response(text, media_type="application/json")


async def get_outline(request: Request) -> Response:
    """The outline of a plan: its inputs and the values of its workload, kinds, pools, credentials by name."""
    return JSONResponse(await lasting_of(request).run(_watching(request).outline, _digest(request)))


def _digest(request: Request) -> str:
    digest: str = request.path_params["digest"]
    if not (digest.isascii() and digest.isalnum()):
        raise Unknown("there is no such plan")
    return digest


def _watching(request: Request) -> Watching:
    watching: Watching = request.app.state.watching
    return watching
