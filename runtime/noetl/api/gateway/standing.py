"""Documents beside playbooks over all groups: what starts a playbook is kept in one, what is about all in each.

A schedule, and a trigger of webhooks or messages, is kept where its playbook begins, so that each time and each message
starts one execution. Where one of the name is already, it stays: a file of groups that was changed moves no document.
"""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import Response

from noetl.api.bodies import BODY_BYTES, raw_body
from noetl.api.gateway.asking import Asking, GroupRefusal, gone
from noetl.api.gateway.forwarding import address_of, headers_for
from noetl.api.gateway.groups import GroupMap
from noetl.api.gateway.upstream import GONE, AskedOf, LostResponse, Unreachable
from noetl.api.gateway.whereabouts import Whereabouts
from noetl.api.problems import problem
from noetl.bounded_table import BoundedTable
from noetl.server.triggers.document import AFTER

_REMEMBERED = 10_000
_WILD = frozenset("*?[")


class StandingOfAll:
    """The documents of all groups. For one event loop."""

    def __init__(self, groups: GroupMap, asking: Asking, whereabouts: Whereabouts) -> None:
        self._groups = groups
        self._asking = asking
        self._whereabouts = whereabouts
        self._hooks: BoundedTable[str, str] = BoundedTable(_REMEMBERED)

    async def put_starting(self, request: Request) -> Response:
        """Keep a schedule or trigger in the group that its playbook begins in. Raises GroupRefusal."""
        data = await raw_body(request, BODY_BYTES)
        name = self._group_of(data)
        path = _document_at(request)
        there, missing = dict[str, Any](), tuple[str, ...]()
        try:
            there, missing = await self._whereabouts.all(request, path)
        except GroupRefusal as refused:
            if refused.response.status_code != 404:
                raise
        if missing:  # one that is gone may have it, and two would start everything twice
            raise GroupRefusal(gone(missing))
        if others := [each for each in there if each != name]:
            what = f"`{request.path_params['name']}` is in group {others[0]}, and its playbook begins in group {name}"
            raise GroupRefusal(problem(409, f"{what}: delete it first (`noetl … delete`), then put it again"))
        response = await self._passed(name, request, data, as_whole=True)
        if response.status_code < 300:
            await self._check_alone(request, path)
        return response

    async def _check_alone(self, request: Request, path: str) -> None:
        """Raises GroupRefusal where a document is in several groups: another gateway, which looked when nothing was
        there, may have put it at once to another one.
        """
        there, _ = await self._whereabouts.all(request, path)
        if len(there) > 1:
            what = (
                f"`{request.path_params['name']}` was put to groups {' and '.join(there)} at once, and starts in each"
            )
            raise GroupRefusal(problem(409, f"{what}: delete it in all but one, at /groups/NAME{path}"))

    async def with_one(self, request: Request, verb: str = "") -> Response:
        """Ask the group that has a document something of it. Raises GroupRefusal."""
        path = _document_at(request, verb)
        name, _ = await self._whereabouts.found(request, path, f"`{request.path_params['name']}`")
        return await self._passed(name, request, await raw_body(request, BODY_BYTES), heeds_key=verb == "start")

    async def with_all(self, request: Request) -> Response:
        """Have all groups do the same with a document; the first one's response. Raises GroupRefusal."""
        missing = [name for name in self._asking.names if self._asking.upstream.state(name) == GONE]
        if missing:
            raise GroupRefusal(gone(missing))
        data = await raw_body(request, BODY_BYTES)
        done, first = list[str](), None
        for name in self._asking.names:
            try:
                response = await self._passed(name, request, data, as_whole=True)
            except (Unreachable, LostResponse):
                raise GroupRefusal(_part(name, done)) from None
            # What one lacks it need not forget: a group that came later never had it.
            if response.status_code >= 500 or (response.status_code >= 400 and done and response.status_code != 404):
                raise GroupRefusal(_part(name, done))
            if response.status_code >= 400 and response.status_code != 404:
                return response
            if first is None or (first.status_code == 404 and response.status_code < 400):
                first = response
            done.append(name)
        assert first is not None
        return first

    async def with_first(self, request: Request, verb: str = "") -> Response:
        """Ask the first group that can be asked and has a document something of it. Raises GroupRefusal."""
        path = _document_at(request, verb)
        name, _ = await self._whereabouts.any(request, path, f"`{request.path_params['name']}`")
        return await self._passed(name, request, await raw_body(request, BODY_BYTES))

    async def receive(self, request: Request) -> Response:
        """Hand a request to a webhook to the group that takes it: only that knows the secret it is signed with."""
        data = await raw_body(request, BODY_BYTES)
        hook, unsure, unsigned, failed = request.path_params["name"], list[str](), None, None
        known = self._hooks.get(hook)
        for name in sorted(self._asking.names, key=lambda each: each != known):
            if self._asking.upstream.state(name) == GONE:
                unsure.append(name)
                continue
            try:
                response = await self._passed(name, request, data, as_whole=True)
            except Unreachable:
                unsure.append(name)
                continue
            if response.status_code == 401:
                unsigned = response
            elif response.status_code >= 500:
                unsure.append(name)
                failed = response
            else:
                self._hooks[hook] = name
                return response
        if unsure or unsigned is None:
            # It comes again, and the one that could not be asked may be the one that takes it.
            if failed is not None:  # it says why: the secret that is lacking may be that of this webhook
                return failed
            raise GroupRefusal(gone(unsure))
        return unsigned

    async def _passed(
        self, name: str, request: Request, data: bytes, *, as_whole: bool = False, heeds_key: bool = False
    ) -> Response:
        asked = AskedOf(request.method, address_of(request), headers_for(request), data or None, heeds_key)
        return await self._asking.upstream.pass_on(name, asked, as_whole=as_whole)

    def _group_of(self, data: bytes) -> str:
        """The group that a document which starts something belongs to. Raises GroupRefusal."""
        spec = _spec_in(data)
        playbook = str(spec.get("playbook") or "")
        own = self._groups.group_of(playbook).name
        after = spec.get(AFTER)
        ended = after.get("playbook") if isinstance(after, dict) else None
        if not playbook or not ended or not isinstance(ended, str):
            return own
        # Ends are told where they happen: a trigger in another group would hear none of them.
        told = f"the ends of `{ended}` happen in"
        if self._groups.may_spread(ended) or _WILD.intersection(ended.partition("/")[0]):
            raise GroupRefusal(problem(409, f"{told} several groups: put the trigger to each, at /groups/NAME"))
        names = self._groups.groups_of(ended)
        if names != {own}:
            raise GroupRefusal(
                problem(
                    409,
                    f"{told} group {' and '.join(sorted(names))}, and `{playbook}` begins in group"
                    f" {own}: name both for one group (`playbooks`) in the file of groups",
                )
            )
        return own


def _document_at(request: Request, verb: str = "") -> str:
    """The address of the document of which a request asks something."""
    return quote(request.scope["path"].removesuffix(f"/{verb}"))


def _spec_in(data: bytes) -> dict[str, Any]:
    """The `spec` of a document; an empty one where it has none: then any group refuses it, in its words."""
    try:
        document = json.loads(data)
    except (ValueError, RecursionError):
        return {}
    spec = document.get("spec") if isinstance(document, dict) else None
    return spec if isinstance(spec, dict) else {}


def _part(name: str, done: list[str]) -> Response:
    """The response where a group did not do what others have done."""
    have = f"; {', '.join(done)} did it" if done else ""
    return problem(503, f"group {name} did not do it{have}: ask again until all have done it", retry_after=2)
