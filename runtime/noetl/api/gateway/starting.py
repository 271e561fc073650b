"""Starts: each goes to the group of its playbook, or is drawn alone where the file of groups says so."""

from __future__ import annotations

import secrets
from urllib.parse import quote, urlencode

from starlette.requests import Request
from starlette.responses import Response

from noetl.api.bodies import BODY_BYTES, raw_body
from noetl.api.gateway.asking import Asking, GroupRefusal, gone, object_in, refusal
from noetl.api.gateway.forwarding import address_of, headers_for
from noetl.api.gateway.groups import GroupMap
from noetl.api.gateway.upstream import READY, AskedOf, LostResponse, Unreachable
from noetl.api.gateway.whereabouts import Whereabouts
from noetl.api.problems import problem
from noetl.app.sharing import CALLS, CONCURRENCY, LOCKS, SIGNALS
from noetl.bounded_table import BoundedTable
from noetl.clients.content import json_of
from noetl.ports.idempotency import KEY
from noetl_ir.expr import Json

_REMEMBERED = 10_000
_SHARED = {
    CONCURRENCY: "a limit of how many run at once",
    LOCKS: "locks",
    SIGNALS: "signals under keys",
    CALLS: "what the playbooks do that only a run tells it calls",
}


class Starting:
    """Sends starts to groups. For one event loop."""

    def __init__(self, groups: GroupMap, asking: Asking, whereabouts: Whereabouts) -> None:
        self._groups = groups
        self._asking = asking
        self._whereabouts = whereabouts
        self._outlines: BoundedTable[str, tuple[str, tuple[str, ...]]] = BoundedTable(_REMEMBERED)

    async def start(self, request: Request) -> Response:
        """Start an execution in the group that it belongs to. Raises GroupRefusal, Unreachable, LostResponse."""
        data = await raw_body(request, BODY_BYTES)
        try:
            document = json_of(data)
        except ValueError:
            document = None
        named = document if isinstance(document, dict) else {}
        headers = headers_for(request)
        path = await self._path_of(request, named)
        if path is None or not self._groups.is_spread(path):
            # What is no start at all is refused by any group, in its words.
            name = self._groups.group_of(path or "").name
        else:
            digest = named.get("playbook_id") or await self._digest_of(request, path, named.get("version"))
            await self._check_sharing(request, path, str(digest))
            name = self._drawn(request, path)
            headers = (*headers, ("if-match", f'"{digest}"'))
        if self._asking.upstream.state(name) != READY:
            raise GroupRefusal(gone([name]))
        asked = AskedOf("POST", address_of(request), headers, data, heeds_key=True)
        return await self._asking.upstream.pass_on(name, asked)

    def _drawn(self, request: Request, path: str) -> str:
        """The group of a start that is drawn alone: by its key, if it has one, as it may be asked for again."""
        if (key := request.headers.get(KEY)) is not None:
            return self._groups.drawn(f"{path}\0{key}").name
        ready = [name for name in self._asking.names if self._asking.upstream.state(name) == READY]
        if not any(self._groups.groups[name].share for name in ready):
            raise GroupRefusal(gone(self._asking.names))
        return self._groups.drawn(secrets.token_hex(8), ready).name

    async def _path_of(self, request: Request, named: dict[str, Json]) -> str | None:
        """The path of the playbook that a start names; None where it names none. Raises GroupRefusal."""
        path, digest = named.get("path"), named.get("playbook_id")
        if isinstance(path, str):
            return path
        return (await self._outline(request, digest))[0] if isinstance(digest, str) else None

    async def _outline(self, request: Request, digest: str) -> tuple[str, tuple[str, ...]]:
        """The path of a plan, and what its executions share. Raises GroupRefusal."""
        if digest not in self._outlines:
            _, told = await self._whereabouts.any(request, f"/plans/{quote(digest, safe='')}/outline", "the plan")
            self._outlines[digest] = str(told["path"]), tuple(map(str, told["shared"]))
        return self._outlines[digest]

    async def _check_sharing(self, request: Request, path: str, digest: str) -> None:
        """Raises GroupRefusal where executions of a plan share what one store keeps: in two groups two of them would
        each have a lock.
        """
        _, shared = await self._outline(request, digest)
        if shared:
            text = (
                f"starts of `{path}` are drawn alone (`spread.starts`), and its executions share {_SHARED[shared[0]]}"
            )
            raise GroupRefusal(problem(409, f"nothing was started: {text}: leave it out of `spread.starts`"))

    async def _digest_of(self, request: Request, path: str, version: Json) -> str:
        """The plan that a version of a path is, None for the newest: as the first group says that can be asked.

        The group that starts it is held to that (`If-Match`): whoever gave one group a plan alone would else have some
        starts do what others do not.
        """
        words: dict[str, str] = {"path": path, **({"newest": "true"} if version is None else {}), "limit": "1000"}
        own = self._groups.group_of(path).name
        for name in (own, *[name for name in self._asking.names if name != own]):
            try:
                response = await self._asking.one(request, name, AskedOf("GET", f"/playbooks?{urlencode(words)}", ()))
            except (Unreachable, LostResponse):
                continue
            if response.status_code >= 500:
                continue
            if response.status_code >= 400:
                raise GroupRefusal(refusal(name, response))
            rows = (object_in(response) or {}).get("playbooks", [])
            for row in rows:
                if row["path"] == path and version in (None, row["version"]):
                    return str(row["playbook_id"])
            what = path if version is None else f"{path}@{version}"
            raise GroupRefusal(problem(404, f"group {name} has no playbook `{what}`: register it first"))
        raise GroupRefusal(gone(self._asking.names))
