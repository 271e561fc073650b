"""Namespaces over the API."""

from __future__ import annotations

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from noetl.api.bodies import body_of
from noetl.api.handlers import service_of
from noetl.api.standing import StandingBody, kept, page_of, removed, told_of
from noetl.app.namespace_book import NamespaceBook


class NamespaceBody(StandingBody):
    """A namespace, as `noetl namespaces put` takes it."""


async def list_namespaces(request: Request) -> Response:
    """Namespaces by name: the prefix of each, its quotas, and how far they are used."""
    return await page_of(request, "namespaces", _book(request))


async def get_namespace(request: Request) -> Response:
    """A namespace, and how far its quotas are used."""
    return await told_of(request, _book(request).document)


async def put_namespace(request: Request) -> Response:
    """Keep a namespace under its name; one that is there is replaced. What is open stays so."""
    body = await body_of(request, NamespaceBody)
    return await run_in_threadpool(kept, request, _book(request), body)


async def delete_namespace(request: Request) -> Response:
    """Keep a namespace no more: what is below its prefix has its quotas no more."""
    return await removed(request, _book(request))


async def pause_namespace(request: Request) -> Response:
    """Start nothing in it until it is resumed; what runs goes on."""
    return await told_of(request, _book(request).pause)


async def resume_namespace(request: Request) -> Response:
    """Start again what belongs to it."""
    return await told_of(request, _book(request).resume)


def _book(request: Request) -> NamespaceBook:
    return NamespaceBook(service_of(request).runtime)
