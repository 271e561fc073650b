"""Documents beside playbooks over the API, as far as all kinds of them are asked for alike."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pydantic import JsonValue
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from noetl.api.bodies import Body
from noetl.api.handlers import service_of
from noetl.api.pages import limit_of, page
from noetl.api.problems import BadRequest, Forbidden, Unknown
from noetl.api.responses import JSONResponse
from noetl.api.scoping import check_document
from noetl.app.standing_book import ForOthers, NoSuchDocument, StandingBook
from noetl.server.checked_documents import BadDocument
from noetl_ir.expr import Json


class StandingBody(Body):
    """A document, as a command takes it."""

    apiVersion: str
    kind: str
    metadata: dict[str, JsonValue]
    spec: dict[str, JsonValue]


async def page_of(request: Request, plural: str, book: StandingBook[Any]) -> Response:
    """A page of the documents in a book, by name."""
    limit = limit_of(request)
    rows = await run_in_threadpool(book.documents, request.query_params.get("after", ""), limit)
    return page(plural, rows, str(rows[-1]["name"]) if len(rows) == limit else None)


async def told_of(request: Request, work: Callable[[str], Json], status: int = 200) -> Response:
    """Do something with the document that the address names. Raises Unknown."""
    return JSONResponse(await run_in_threadpool(done_with, request, work), status)


async def removed(request: Request, book: StandingBook[Any]) -> Response:
    """Keep the document that the address names no more. Raises Unknown."""
    await run_in_threadpool(done_with, request, book.remove)
    return Response(status_code=204)


def kept(request: Request, book: StandingBook[Any], body: StandingBody) -> Response:
    """Keep a document under the name in the address. Raises BadRequest, Forbidden."""
    document, name = body.model_dump(), request.path_params["name"]
    try:
        book.check_scope(document, name)
        check_document(service_of(request).runtime, body.spec)
        return JSONResponse(book.put(document, name))
    except BadDocument as problem:
        raise BadRequest(str(problem)) from None
    except ForOthers as problem:
        raise Forbidden(str(problem)) from None


def done_with(request: Request, work: Callable[[str], Json]) -> Json:
    """The outcome of some work with the document that the address names. Raises Unknown."""
    try:
        return work(request.path_params["name"])
    except NoSuchDocument as problem:
        raise Unknown(str(problem)) from None
