"""Playbooks and plans over all groups: registered with all of them or with none, looked up in any."""

from __future__ import annotations

import asyncio
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from noetl.api.bodies import BODY_BYTES, SOURCE_BYTES, raw_body
from noetl.api.gateway.asking import Asking, GroupRefusal, gone, object_in, refusal
from noetl.api.gateway.forwarding import address_of, headers_for
from noetl.api.gateway.upstream import GONE, READY, AskedOf, LostResponse, Unreachable
from noetl.api.problems import problem


class CatalogueOfAll:
    """The catalogues of all groups, which are the same as long as playbooks are registered here."""

    def __init__(self, asking: Asking) -> None:
        self._asking = asking
        self._one_at_once = asyncio.Lock()

    async def put(self, request: Request) -> Response:
        """Have all groups keep what came, one after the other. Raises GroupRefusal where one is gone, or refuses.

        A group that lacks a playbook would fail its starts, and one that counts its versions otherwise would start
        another plan: so nothing is kept as long as one is gone, or would count it otherwise.
        """
        missing = [name for name in self._asking.names if self._asking.upstream.state(name) != READY]
        if missing:
            raise GroupRefusal(gone(missing))
        await self._check_known(request)
        data = await raw_body(request, SOURCE_BYTES)
        asked = AskedOf(request.method, address_of(request), headers_for(request), data)
        # One after the other: of two at once each group might take another one first, and count versions otherwise.
        async with self._one_at_once:
            if request.url.path == "/playbooks":
                await self._check_versions(asked)
            return await self._put(asked)

    async def _check_versions(self, asked: AskedOf) -> None:
        """Raises GroupRefusal where a playbook would have another version in one group than in another one."""
        said = dict[str, dict[str, Any]]()
        look = asked._replace(address=f"{asked.address}{'&' if '?' in asked.address else '?'}dry_run=true")
        for name in self._asking.names:
            response = await self._asking.upstream.ask(name, look)
            if response.status_code >= 400:
                raise GroupRefusal(refusal(name, response))
            said[name] = object_in(response) or {}
        first, *others = said.values()
        if any(each != first for each in others):
            raise GroupRefusal(_otherwise(said))

    async def _put(self, asked: AskedOf) -> Response:
        said = dict[str, dict[str, Any]]()
        for name in self._asking.names:
            try:
                response = await self._asking.upstream.ask(name, asked)
            except (Unreachable, LostResponse):
                raise GroupRefusal(_half(name, [*said])) from None
            if response.status_code >= 400:
                raise GroupRefusal(_half(name, [*said]) if said else refusal(name, response))
            said[name] = object_in(response) or {}
        first, *others = said.values()
        if any(each != first for each in others):  # somebody registered with one of them at this moment
            raise GroupRefusal(_otherwise(said))
        location = {"Location": response.headers["location"]} if "location" in response.headers else {}
        return Response(
            response.content, response.status_code, location, media_type=response.headers.get("content-type")
        )

    async def _check_known(self, request: Request) -> None:
        """Raises GroupRefusal where a group does not know who asks: of nobody else so large a body is kept here until
        all have it.
        """
        name = self._asking.names[0]
        response = await self._asking.one(request, name, AskedOf("GET", "/me", ()))
        if response.status_code >= 400:
            raise GroupRefusal(refusal(name, response))

    async def get(self, request: Request) -> Response:
        """Ask the first group that can be asked and knows it. Raises GroupRefusal."""
        missing, unknown = list[str](), None
        data = await raw_body(request, BODY_BYTES) or None
        for name in self._asking.names:
            if self._asking.upstream.state(name) == GONE:
                missing.append(name)
                continue
            asked = AskedOf(request.method, address_of(request), headers_for(request), data)
            try:
                response = await self._asking.upstream.pass_on(name, asked)
            except (Unreachable, LostResponse):
                missing.append(name)
                continue
            if response.status_code == 404:
                unknown = response
            elif response.status_code < 500:
                return response
            else:
                missing.append(name)
        if unknown is None or missing:
            raise GroupRefusal(gone(missing))
        return unknown


def _otherwise(said: dict[str, dict[str, Any]]) -> Response:
    """The response where groups count the versions of a playbook otherwise."""
    told = ", ".join(f"{each.get('version')} in group {name}" for name, each in said.items())
    path, most = next(iter(said.values())).get("path"), max(int(each.get("version") or 0) for each in said.values())
    behind = [name for name, each in said.items() if int(each.get("version") or 0) < most]
    way = (
        f"register older ones with {' and '.join(behind)} alone (at /groups/{behind[0]}), until it is {most} in all"
        if behind
        else "groups have other settings, or versions of noetl: they compile it to other plans"
    )
    return problem(409, f"`{path}` would be version {told}, and a version has to be the same plan in all: {way}")


def _half(name: str, there: list[str]) -> Response:
    """The response where a group did not take what others have."""
    have = f"; {', '.join(there)} took it" if there else ""
    return problem(503, f"group {name} did not take it{have}: ask again until all have it", retry_after=2)
