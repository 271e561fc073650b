"""The texts of the compiler about a plan, over the API: picture, verdicts, findings, differences."""

from __future__ import annotations

import json
from collections.abc import Callable
from concurrent.futures import Future
from threading import Lock

from starlette.requests import Request
from starlette.responses import Response

from noetl.api.handlers import checked_digest, digest_of, lasting_of
from noetl.api.problems import BadRequest, Faulty, Unknown
from noetl.api.responses import JSONResponse
from noetl.api.service import ApiService
from noetl.bounded_table import BoundedTable
from noetl.clients.compiler import (
    USAGE,
    CompileError,
    differences_of,
    explanation_of,
    findings_of,
    picture_of,
    verdicts_of,
)
from noetl_ir.expr import Json

_MADE = 256
"""Texts that are kept."""

MOST = 1_000
"""Findings of a source, and changes between two plans, that are told."""

_HEADERS = {
    # Opened by itself it is a document of this site with texts of a playbook in it.
    "Content-Security-Policy": "default-src 'none'; sandbox",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "private, max-age=86400",
}


class Derived:
    """Texts of the compiler about plans that somebody looks at. Every method may be called from any thread, and blocks.

    Each is made by the compiler, as a process, when it is first asked for, and kept in memory; who asks meanwhile waits
    for that one. It is not stored with the plan: it follows from the plan, plans that came as bytes have none, and a
    stored one would be that of the version which had stored it.
    """

    def __init__(self, service: ApiService) -> None:
        self._service = service
        self._made: BoundedTable[tuple[str, ...], Future[str]] = BoundedTable(_MADE)
        self._lock = Lock()

    def picture(self, digest: str) -> str:
        """The picture of a plan, as SVG whose style sheet is its `metadata`."""
        text = self._kept(("picture", digest), lambda: picture_of(self._service.plan_bytes(digest)))
        # The policy of the page takes no style out of a document. It takes text, and says itself what it is.
        return text.replace("<style>", "<metadata>", 1).replace("</style>", "</metadata>", 1)

    def verdicts(self, digest: str) -> str:
        """The verdicts of analysis on a plan, as JSON."""
        return self._kept(("verdicts", digest), lambda: verdicts_of(self._service.plan_bytes(digest)))

    def findings(self, digest: str) -> dict[str, Json]:
        """The findings of lint in the source of a plan. Raises Unknown where it came without one."""
        text = self._kept(("findings", digest), lambda: findings_of(self._service.source(digest)))
        return _bounded({"findings": json.loads(text)}, "findings")

    def differences(self, old: str, new: str) -> dict[str, Json]:
        """The changes in what a plan does, from an older one to it."""

        def made() -> str:
            return differences_of(self._service.plan_bytes(old), self._service.plan_bytes(new))

        (pair,) = json.loads(self._kept(("differences", old, new), made))
        return _bounded({key: pair[key] for key in ("same", "resumable", "changes")}, "changes")

    def explanation(self, code: str) -> str:
        """The page of a finding, by its code or name. Raises Unknown."""
        try:
            return self._kept(("explanation", code), lambda: explanation_of(code))
        except Faulty as problem:
            cause = problem.__cause__
            if isinstance(cause, CompileError) and cause.code == USAGE:
                raise Unknown(f"there is no finding `{code}`") from None
            raise

    def _kept(self, key: tuple[str, ...], make: Callable[[], str]) -> str:
        """A text that is made once, whoever asks while it is made. Raises Faulty; what cannot be made is not kept."""
        with self._lock:
            known = self._made.get(key)
            mine = known is None
            if known is None:
                known = self._made[key] = Future()
        if mine:
            try:
                known.set_result(make())
            except BaseException as problem:
                with self._lock:
                    if self._made.get(key) is known:
                        del self._made[key]
                known.set_exception(problem)
        try:
            return known.result()
        except CompileError as problem:
            raise Faulty(str(problem)) from problem


def _bounded(document: dict[str, Json], name: str) -> dict[str, Json]:
    """A document with at most `MOST` rows under a name, and how many it leaves out."""
    rows = document[name]
    assert isinstance(rows, list)
    return {**document, name: rows[:MOST], "left_out": max(0, len(rows) - MOST)}


async def get_picture(request: Request) -> Response:
    """The picture of a plan's steps, as SVG for a page: its style sheet is its `metadata`."""
    text = await lasting_of(request).run(_derived(request).picture, digest_of(request))
    return Response(text, headers=_HEADERS, media_type="image/svg+xml")


async def get_verdicts(request: Request) -> Response:
    """The verdicts of analysis on a plan, as `noetlc analyze --format json` says it."""
    text = await lasting_of(request).run(_derived(request).verdicts, digest_of(request))
    return Response(text, media_type="application/json")


async def get_findings(request: Request) -> Response:
    """The findings in the source of a plan, as `noetlc lint --format json` says them, at most 1,000; `left_out` says
    how many more there are. Lines and columns count from 1, ends are exclusive.
    """
    return JSONResponse(await lasting_of(request).run(_derived(request).findings, digest_of(request)))


async def get_differences(request: Request) -> Response:
    """The changes in what a plan does, from the one whose digest is `from` to it, as `noetlc diff --format json` says
    them, at most 1,000; `left_out` says how many more there are. What is gone (`-`) has its place in the source of the
    other one.
    """
    if not (old := request.query_params.get("from", "")):
        raise BadRequest("`from` is needed: the digest of the plan to compare with")
    asked = checked_digest(old), digest_of(request)
    return JSONResponse(await lasting_of(request).run(_derived(request).differences, *asked))


async def get_explanation(request: Request) -> Response:
    """The page of a finding, by its code or name, as `noetlc explain` prints it."""
    code: str = request.path_params["code"]
    if not (code.isascii() and code.replace("-", "").isalnum() and len(code) <= 64):
        raise Unknown("there is no such finding")
    return Response(await lasting_of(request).run(_derived(request).explanation, code), media_type="text/plain")


def _derived(request: Request) -> Derived:
    derived: Derived = request.app.state.derived
    return derived
