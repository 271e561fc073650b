"""Starts: each goes to the group of its playbook, or is drawn alone where the file of groups says so."""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from urllib.parse import quote, urlencode

from starlette.requests import Request
from starlette.responses import Response

from noetl.api.bodies import BODY_BYTES, LAST_VERSION, raw_body
from noetl.api.gateway.asking import Asking, GroupRefusal, gone, refusal
from noetl.api.gateway.forwarding import address_of, headers_for
from noetl.api.gateway.groups import GroupMap
from noetl.api.gateway.shapes import having, is_count, is_text, is_texts, page_of
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

_OUTLINE = having(path=is_text, shared=is_texts)
_VERSIONS = page_of("playbooks", having(path=is_text, version=is_count, playbook_id=is_text))


class Starting:
    """Sends starts to groups. For one event loop."""

    def __init__(self, groups: GroupMap, asking: Asking, whereabouts: Whereabouts) -> None:
        self._groups = groups
        self._asking = asking
        self._whereabouts = whereabouts
        self._digests: BoundedTable[tuple[str, Json], str] = BoundedTable(_REMEMBERED)
        self._outlines: BoundedTable[str, tuple[str, tuple[str, ...]]] = BoundedTable(_REMEMBERED)

    async def start(self, request: Request) -> Response:
        """Start an execution in the group that it belongs to. Raises GroupRefusal, Unreachable, LostResponse."""
        data = await raw_body(request, BODY_BYTES)
        try:
            document = json_of(data)
        except ValueError:
            document = None
        named = document if isinstance(document, dict) else {}
        name, digest = await self._place_of(request, named)
        headers = headers_for(request)
        if digest:
            headers = _bound_to(headers, digest)
        if self._asking.upstream.state(name) != READY:
            if digest and KEY in request.headers:
                text = f"group {name} does not answer, and the key of this start belongs there: give it another key"
                raise GroupRefusal(problem(503, text, retry_after=2))
            raise GroupRefusal(gone([name]))
        asked = AskedOf("POST", address_of(request), headers, data, heeds_key=True)
        response = await self._asking.upstream.pass_on(name, asked)
        if response.status_code == 412:
            text = (
                f"nothing was started: group {name} has another plan of it than the others: register it with all again"
            )
            raise GroupRefusal(problem(412, text))
        return response

    async def _place_of(self, request: Request, named: dict[str, Json]) -> tuple[str, str]:
        """The group of a start, and the digest of the plan that it is held to, empty for none. Raises GroupRefusal."""
        path, version = await self._path_of(request, named), named.get("version")
        own = self._groups.group_of(path or "").name
        if path is None or not (version is None or _is_version(version)):
            return own, ""  # what is no start at all is refused by any group, in its words
        if self._groups.is_spread(path):
            names = (own, *[each for each in self._asking.names if each != own])
            digest = named.get("playbook_id") or await self._digest_of(request, path, version, names)
            await self._check_sharing(request, path, str(digest))
            return self._drawn(request, path), str(digest)
        if version is None or own == self._asking.names[0]:
            return own, ""
        # It is shown as the first group has it.
        return own, await self._digest_of(request, path, version, self._asking.names)

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
            path = f"/plans/{quote(digest, safe='')}/outline"
            _, told = await self._whereabouts.any(request, path, "the plan", _OUTLINE)
            self._outlines[digest] = told["path"], tuple(told["shared"])
        return self._outlines[digest]

    async def _check_sharing(self, request: Request, path: str, digest: str) -> None:
        """Raises GroupRefusal where executions of a plan share what one store keeps: in two groups two of them would
        each have a lock.
        """
        _, shared = await self._outline(request, digest)
        if shared:
            text = (
                f"starts of `{path}` are drawn alone (`spread.starts`), and its executions share"
                f" {_SHARED.get(shared[0], shared[0])}"
            )
            raise GroupRefusal(problem(409, f"nothing was started: {text}: leave it out of `spread.starts`"))

    async def _digest_of(self, request: Request, path: str, version: Json, names: Iterable[str]) -> str:
        """The plan that a version of a path is, None for the newest: as the first of some groups says that can be
        asked.

        The group that starts it is held to that (`If-Match`): whoever gave one group a plan alone would else have some
        starts do what others do not, and a version be another plan where it is shown than where it is started.
        """
        if (known := self._digests.get((path, version))) is not None:
            return known
        # The versions of a path stand in order: behind the next one comes this.
        after = {"after": f"{path}@{version + 1}"} if isinstance(version, int) and version < LAST_VERSION else {}
        words: dict[str, str] = {"path": path, **({"newest": "true"} if version is None else after), "limit": "1"}
        lacking = ""
        for name in names:
            try:
                response = await self._asking.one(request, name, AskedOf("GET", f"/playbooks?{urlencode(words)}", ()))
            except (Unreachable, LostResponse):
                continue
            if response.status_code >= 500:
                continue
            if response.status_code >= 400:
                raise GroupRefusal(refusal(name, response))
            if (told := self._asking.read(name, response, _VERSIONS)) is None:
                continue
            for row in told["playbooks"]:
                if row["path"] == path and version in (None, row["version"]):
                    if version is not None:  # which never is another one
                        self._digests[path, version] = row["playbook_id"]
                    return str(row["playbook_id"])
            lacking = lacking or name
        if lacking:
            what = path if version is None else f"{path}@{version}"
            raise GroupRefusal(problem(404, f"group {lacking} has no playbook `{what}`: register it first"))
        raise GroupRefusal(gone(self._asking.names))


def _bound_to(headers: tuple[tuple[str, str], ...], digest: str) -> tuple[tuple[str, str], ...]:
    """The headers of a start that is held to a plan. Raises GroupRefusal where it is held to another one already."""
    for key, value in headers:
        if key == "if-match" and value.strip('"* ') not in ("", digest):
            raise GroupRefusal(problem(412, f"nothing was started: the plan is {digest}"))
    return (*[pair for pair in headers if pair[0] != "if-match"], ("if-match", f'"{digest}"'))


def _is_version(value: Json) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= LAST_VERSION
