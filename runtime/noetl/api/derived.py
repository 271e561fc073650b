"""The texts of the compiler about a plan, over the API: picture, verdicts, findings, differences."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from noetl.api.handlers import checked_digest, digest_of, service_of
from noetl.api.lasting import Lasting
from noetl.api.problems import BadRequest, Faulty, Unknown
from noetl.api.scoping import check_plan
from noetl.api.service import ApiService
from noetl.app.readers_metadata import readers_metadata
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

KEPT = 64_000_000
"""Characters of all texts that are kept: a picture of many steps has millions."""

MOST = 1_000
"""Findings of a source, and changes between two plans, that are told."""

_HEADERS = {
    # Opened by itself it is a document of this site with texts of a playbook in it.
    "Content-Security-Policy": "default-src 'none'; sandbox",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "private, max-age=86400",
}


class Derived:
    """Texts of the compiler about plans that somebody looks at, as they are sent. For one event loop.

    Each is made by the compiler, as a process, when it is first asked for, and kept in memory; who asks meanwhile waits
    for that one. It is not stored with the plan: it follows from the plan, plans that came as bytes have none, and a
    stored one would be that of the version which had stored it. Every method raises Unknown, Faulty and Busy.
    """

    def __init__(self, service: ApiService) -> None:
        self._service = service
        self._made: BoundedTable[tuple[str, ...], str] = BoundedTable(_MADE)
        self._making: dict[tuple[str, ...], asyncio.Task[str]] = {}
        # Turns of its own: while hard plans are analyzed, logs are folded and playbooks registered.
        self._lasting = Lasting()

    async def picture(self, digest: str) -> str:
        """The picture of a plan, as SVG whose style sheet is its `metadata`."""

        def made() -> str:
            text = picture_of(self._service.plan_bytes(digest))
            # The policy of the page takes no style out of a document. It takes text, and says itself what it is.
            return text.replace("<style>", "<metadata>", 1).replace("</style>", "</metadata>", 1)

        return await self._kept(("picture", digest), made)

    async def verdicts(self, digest: str) -> str:
        """The verdicts of analysis on a plan, as JSON."""

        def made() -> str:
            plan = self._service.plan_bytes(digest)
            try:
                return verdicts_of(plan, self._service.source(digest))
            except Unknown:
                return verdicts_of(plan, None)  # it came without one

        return await self._kept(("verdicts", digest), made)

    async def findings(self, digest: str) -> str:
        """The findings of lint in the source of a plan, as JSON. Raises Unknown also where it came without one."""

        def made() -> str:
            return _bounded({"findings": json.loads(findings_of(self._service.source(digest)))}, "findings")

        return await self._kept(("findings", digest), made)

    async def metadata(self, digest: str) -> str:
        """The metadata of a playbook that is for readers, as JSON. Raises Unknown also where it came without source."""

        def made() -> str:
            return json.dumps({"metadata": readers_metadata(self._service.source(digest))})

        return await self._kept(("metadata", digest), made)

    async def differences(self, old: str, new: str) -> str:
        """The changes in what a plan does, from an older one to it, as JSON."""

        def made() -> str:
            (pair,) = json.loads(differences_of(self._service.plan_bytes(old), self._service.plan_bytes(new)))
            return _bounded({key: pair[key] for key in ("same", "resumable", "changes")}, "changes")

        return await self._kept(("differences", old, new), made)

    async def explanation(self, code: str) -> str:
        """The page of a finding, by its code or name. Raises Unknown where there is none."""

        def made() -> str:
            try:
                return explanation_of(code)
            except CompileError as problem:
                if problem.code == USAGE:
                    raise Unknown(f"there is no finding `{code}`") from None
                raise

        return await self._kept(("explanation", code), made)

    async def _kept(self, key: tuple[str, ...], make: Callable[[], str]) -> str:
        """A text that is made once, whoever asks while it is made: they wait without a thread and without a turn."""
        if (text := self._made.get(key)) is not None:
            return text
        if (making := self._making.get(key)) is None:
            making = self._making[key] = asyncio.create_task(self._make(key, make))
            # Where it fails once nobody waits any more, asyncio would say so with a traceback.
            making.add_done_callback(lambda done: done.cancelled() or done.exception())
        return await asyncio.shield(making)  # who goes away ends it for nobody else

    async def _make(self, key: tuple[str, ...], make: Callable[[], str]) -> str:
        """A text, kept from now on; what cannot be made is not kept."""
        try:
            text = await self._lasting.run(make)
        except CompileError as problem:
            raise Faulty(str(problem)) from problem
        finally:
            del self._making[key]
        self._made[key] = text
        while sum(map(len, self._made.values())) > KEPT:
            self._made.popitem(last=False)
        return text


def _bounded(document: dict[str, Json], name: str) -> str:
    """A document with at most `MOST` rows under a name, and how many it leaves out, as JSON."""
    rows = document[name]
    assert isinstance(rows, list)
    return json.dumps({**document, name: rows[:MOST], "left_out": max(0, len(rows) - MOST)})


async def get_picture(request: Request) -> Response:
    """The picture of a plan's steps, as SVG for a page: its style sheet is its `metadata`."""
    text = await _derived(request).picture(digest_of(request))
    return Response(text, headers=_HEADERS, media_type="image/svg+xml")


async def get_verdicts(request: Request) -> Response:
    """The verdicts of analysis on a plan, as `noetlc analyze --format json` says it."""
    return Response(await _derived(request).verdicts(digest_of(request)), media_type="application/json")


async def get_findings(request: Request) -> Response:
    """The findings in the source of a plan, as `noetlc lint --format json` says them, at most 1,000; `left_out` says
    how many more there are. Lines and columns count from 1, ends are exclusive.
    """
    return Response(await _derived(request).findings(digest_of(request)), media_type="application/json")


async def get_metadata(request: Request) -> Response:
    """The texts and numbers of `metadata` in the source of a plan that are for readers: `description`, `owner`, …"""
    return Response(await _derived(request).metadata(digest_of(request)), media_type="application/json")


async def get_differences(request: Request) -> Response:
    """The changes in what a plan does, from the one whose digest is `from` to it, as `noetlc diff --format json` says
    them, at most 1,000; `left_out` says how many more there are. What is gone (`-`) has its place in the source of the
    other one.
    """
    if not (old := request.query_params.get("from", "")):
        raise BadRequest("`from` is needed: the digest of the plan to compare with")
    await run_in_threadpool(check_plan, service_of(request).runtime, checked_digest(old))
    text = await _derived(request).differences(old, digest_of(request))
    return Response(text, media_type="application/json")


async def get_explanation(request: Request) -> Response:
    """The page of a finding, by its code or name, as `noetlc explain` prints it."""
    code: str = request.path_params["code"]
    if not (code.isascii() and code.replace("-", "").isalnum() and len(code) <= 64):
        raise Unknown("there is no such finding")
    return Response(await _derived(request).explanation(code), media_type="text/plain")


def _derived(request: Request) -> Derived:
    derived: Derived = request.app.state.derived
    return derived
