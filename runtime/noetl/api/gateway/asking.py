"""Asking several groups the same: what those said that can be reached, and which are missing."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import Response

from noetl.api.gateway.forwarding import headers_for
from noetl.api.gateway.shapes import ObjectShape
from noetl.api.gateway.upstream import GONE, AskedOf, LostResponse, Unreachable, Upstream, WholeResponse
from noetl.api.problems import problem
from noetl.api.responses import JSONResponse
from noetl.clients.content import json_of
from noetl_ir.expr import Json
from noetl_ir.records import NamedTuple

MISSING = "Noetl-Missing"
"""The header that names the groups whose part of a response is missing."""

QueryWords = Mapping[str, str] | Iterable[tuple[str, str]]


class GroupRefusal(Exception):
    """A group refuses what was asked; `response` tells whoever asked."""

    def __init__(self, response: Response) -> None:
        super().__init__("refused")
        self.response = response


class Gathered(NamedTuple):
    """Objects that groups said, by name, and the names of those that could not be asked, or failed."""

    found: dict[str, dict[str, Any]]
    missing: tuple[str, ...] = ()

    @property
    def headers(self) -> dict[str, str]:
        """The header that says what is missing, where something is."""
        return {MISSING: ", ".join(self.missing)} if self.missing else {}

    def response(self, document: dict[str, Any], status: int = 200) -> Response:
        """The response that is made of it: it says what is missing, in itself and in a header."""
        more = {"missing": [*self.missing]} if self.missing else {}
        return JSONResponse({**document, **more}, status, self.headers)


class Asking:
    """Asks groups on behalf of whoever asked the gateway, with the same token or cookie."""

    def __init__(self, upstream: Upstream) -> None:
        self.upstream = upstream

    @property
    def names(self) -> tuple[str, ...]:
        """The groups, in the order of the file."""
        return tuple(self.upstream.groups)

    async def get_all(
        self, request: Request, path: str, queries: Mapping[str, QueryWords], shape: ObjectShape
    ) -> Gathered:
        """`GET` of a path at some groups, each with a query of its own; what has another shape is missing.

        Raises GroupRefusal where one refuses it, and where there is none that said anything.
        """
        return await self.all(request, {name: get_asked(path, query) for name, query in queries.items()}, shape)

    async def all(self, request: Request, asked: Mapping[str, AskedOf], shape: ObjectShape) -> Gathered:
        """Ask groups a request each. Raises GroupRefusal."""
        done = await asyncio.gather(*[self._object(request, name, each, shape) for name, each in asked.items()])
        told = dict(zip(asked, done, strict=True))
        found = {name: each for name, each in told.items() if isinstance(each, dict)}
        missing = tuple(name for name, each in told.items() if each is None)
        for each in told.values():
            if isinstance(each, Response):
                raise GroupRefusal(each)
        if not found:
            raise GroupRefusal(gone(missing))
        return Gathered(found, missing)

    async def object_of(self, request: Request, name: str, asked: AskedOf, shape: ObjectShape) -> dict[str, Any] | None:
        """The object that one group says; None where it is missing. Raises GroupRefusal where it refuses."""
        found = await self._object(request, name, asked, shape)
        if isinstance(found, Response):
            raise GroupRefusal(found)
        return found

    async def one(self, request: Request, name: str, asked: AskedOf) -> WholeResponse:
        """The response of a group, whichever. Raises Unreachable, LostResponse."""
        mine = [(key, value) for key, value in headers_for(request) if key not in _OF_BODIES]
        return await self.upstream.ask(name, asked._replace(headers=(*mine, *asked.headers)))

    async def _object(
        self, request: Request, name: str, asked: AskedOf, shape: ObjectShape
    ) -> dict[str, Any] | Response | None:
        """The object that a group says; a response where it refuses, None where it cannot be asked or fails."""
        if self.upstream.state(name) == GONE:
            return None
        try:
            response = await self.one(request, name, asked)
        except (Unreachable, LostResponse):
            return None
        if response.status_code >= 500:
            return None
        if response.status_code < 400:
            return self.read(name, response, shape)
        return refusal(name, response)

    def read(self, name: str, response: WholeResponse, shape: ObjectShape) -> dict[str, Any] | None:
        """The object that a group said; None where it is none of a server, which is told."""
        document = object_in(response)
        if document is not None and shape(document):
            return document
        self.upstream.doubt(name)
        return None


_LONGEST = 10_000
"""Characters of the reason of a refusal."""

_OF_BODIES = frozenset({"content-length", "content-type", "accept", "if-none-match", "range"})


def get_asked(path: str, query: QueryWords) -> AskedOf:
    """A `GET` of a path with a query."""
    pairs = query.items() if isinstance(query, Mapping) else query
    words = urlencode([(key, value) for key, value in pairs])
    return AskedOf("GET", path + (f"?{words}" if words else ""), ())


def json_asked(method: str, path: str, document: Json) -> AskedOf:
    """A request with a JSON body."""
    return AskedOf(method, path, (("content-type", "application/json"),), json.dumps(document).encode())


def object_in(response: WholeResponse) -> dict[str, Any] | None:
    """The JSON object that a group said; None for anything else."""
    try:
        value = json_of(response.content)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def refusal(name: str, response: WholeResponse) -> Response:
    """The refusal of a group, told with its name: groups may have other tokens, versions and settings."""
    told = object_in(response) or {}
    said = told.get("detail")
    detail = f"group {name}: {said[:_LONGEST] if isinstance(said, str) else 'it refuses without a reason'}"
    after = response.headers.get("retry-after", "")
    is_number = after.isascii() and after.isdigit() and len(after) < 6
    return problem(response.status_code, detail, **({"retry_after": int(after)} if is_number else {}))  # type: ignore[arg-type]


def gone(names: Iterable[str]) -> Response:
    """The response where groups cannot be asked without which there is nothing to say."""
    mine = [*names]
    what = f"group {mine[0]} does" if len(mine) == 1 else f"groups {', '.join(mine)} do"
    return problem(503, f"{what} not answer", retry_after=2)
