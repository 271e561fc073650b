"""Which group has what: an execution, a plan, a document beside playbooks.

An id says nothing of a group, so that stores which were there before become groups, and an execution goes to another
group in a bundle, as they are. All groups are asked once, and what they said is remembered.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import Response

from noetl.api.gateway.asking import Asking, GroupRefusal, refusal
from noetl.api.gateway.shapes import EXECUTION_ROW, ObjectShape, any_object
from noetl.api.gateway.upstream import GONE, AskedOf, LostResponse, Unreachable, WholeResponse
from noetl.api.problems import problem
from noetl.bounded_table import BoundedTable
from noetl.store.http.documents import micros_of
from noetl_ir.records import NamedTuple

_REMEMBERED = 100_000


class ExecutionLocation(NamedTuple):
    """The group that has an execution, and when that began, in microseconds since the epoch."""

    group: str
    started: int


class Whereabouts:
    """Where executions are, and what else has a name or digest. For one event loop."""

    def __init__(self, asking: Asking) -> None:
        self._asking = asking
        self._places: BoundedTable[str, ExecutionLocation] = BoundedTable(_REMEMBERED)

    def learn(self, group: str, rows: Iterable[dict[str, Any]]) -> None:
        """Remember where the executions of a list are."""
        for row in rows:
            self._places[str(row["execution_id"])] = ExecutionLocation(group, micros_of(str(row["started"])))

    def forget(self, execution_id: str) -> None:
        """Ask again where an execution is: it was not where it had been."""
        self._places.pop(execution_id, None)

    async def execution(self, request: Request, execution_id: str) -> ExecutionLocation:
        """Where an execution is. Raises GroupRefusal."""
        if (there := self._places.get(execution_id)) is not None:
            return there

        def is_it(row: dict[str, Any]) -> bool:
            return EXECUTION_ROW(row) and bool(row["execution_id"] == execution_id)

        path = f"/executions/{quote(execution_id, safe='')}/row"
        name, row = await self.found(request, path, "the execution", is_it)
        self.learn(name, [row])
        return self._places[execution_id]

    async def found(
        self, request: Request, path: str, what: str, shape: ObjectShape = any_object
    ) -> tuple[str, dict[str, Any]]:
        """The one group that responds to a path, and what it says. Raises GroupRefusal."""
        there, missing = await self.all(request, path, shape)
        if len(there) > 1:
            text = f"{what} is in groups {' and '.join(there)}: ask one of them, at /groups/{next(iter(there))}{path}"
            raise GroupRefusal(problem(409, text))
        if there:
            return next(iter(there.items()))
        raise GroupRefusal(_unknown(what, missing))

    async def any(
        self, request: Request, path: str, what: str, shape: ObjectShape = any_object
    ) -> tuple[str, dict[str, Any]]:
        """The first of the groups that respond to a path, and what it says. Raises GroupRefusal."""
        there, missing = await self.all(request, path, shape)
        if not there:
            raise GroupRefusal(_unknown(what, missing))
        return next(iter(there.items()))

    async def all(
        self, request: Request, path: str, shape: ObjectShape = any_object
    ) -> tuple[dict[str, dict[str, Any]], tuple[str, ...]]:
        """Objects of the groups that respond to a path, and the names of those that cannot be asked. Raises
        GroupRefusal where one refuses for another reason than that nothing is there, or where nothing is anywhere.
        """
        names = self._asking.names
        told = dict(zip(names, await asyncio.gather(*[self._look(request, name, path) for name in names]), strict=True))
        there, unknown, missing = dict[str, dict[str, Any]](), None, list[str]()
        for name, response in told.items():
            if response is None:
                missing.append(name)
            elif response.status_code < 400:
                said = self._asking.read(name, response, shape)
                if said is None or response.status_code != 200:
                    missing.append(name)
                else:
                    there[name] = said
            elif response.status_code != 404:
                raise GroupRefusal(refusal(name, response))
            else:
                unknown = response
        if unknown is not None and not there and not missing:
            # As each of them says it: nothing of that name is anywhere.
            raise GroupRefusal(_as_told(unknown))
        return there, tuple(missing)

    async def _look(self, request: Request, name: str, path: str) -> WholeResponse | None:
        if self._asking.upstream.state(name) == GONE:
            return None
        try:
            response = await self._asking.one(request, name, AskedOf("GET", path, ()))
        except (Unreachable, LostResponse):
            return None
        return None if response.status_code >= 500 else response


def _unknown(what: str, missing: tuple[str, ...]) -> Response:
    told = f"{what} is in no group that answers; not asked: {', '.join(missing)}"
    return problem(503, told, retry_after=2)


def _as_told(response: WholeResponse) -> Response:
    return Response(response.content, response.status_code, media_type=response.headers.get("content-type"))
