"""One list over all groups: executions by time, documents by name, counts added up."""

from __future__ import annotations

from collections import Counter
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from noetl.api.gateway.asking import Asking, Gathered, GroupRefusal, QueryWords, get_asked
from noetl.api.gateway.shapes import (
    EXECUTION_ROW,
    counts_only,
    having,
    is_count,
    is_position,
    is_text,
    is_text_or_null,
    page_of,
)
from noetl.api.gateway.whereabouts import ExecutionLocation, Whereabouts
from noetl.api.pages import LONGEST_PAGE, limit_of, position_of
from noetl.api.problems import problem
from noetl.api.responses import JSONResponse
from noetl.store.http.documents import micros_of
from noetl_ir.expr import Json

_MOST_COUNTED = 20
"""Pages of counts that a group is asked for: so many thousand values."""


LISTS = ("/workers", "/pools", "/schedules", "/triggers", "/notifications", "/namespaces")
"""Lists by name that are made of those of all groups: each has its rows under its own name."""

_COUNTS = page_of("counts", having(value=is_text_or_null, count=is_count), next=is_position)


class Listing:
    """Lists over all groups."""

    def __init__(self, asking: Asking, whereabouts: Whereabouts) -> None:
        self._asking = asking
        self._whereabouts = whereabouts

    async def executions(self, request: Request) -> Response:
        """Executions of all groups, newest first; each row says its `group`."""
        limit, asked = limit_of(request), _pairs(request, "before")
        before = request.query_params.get("before", "")
        place = await self._place(request, before) if before else None
        queries: dict[str, QueryWords] = {}
        for name in await self._groups_of(request):
            mark = [("before", self._mark(name, before, place))] if before else []
            queries[name] = [*asked, *mark]
        gathered = await self._asking.get_all(request, "/executions", queries, page_of("executions", EXECUTION_ROW))
        rows = list[tuple[int, int, dict[str, Any]]]()
        for name, page in gathered.found.items():
            self._whereabouts.learn(name, page["executions"])
            # Rows of one group stay in its order: it knows which of the same microsecond came first.
            turn = self._turn(name)
            rows += [(-micros_of(row["started"]), turn, {**row, "group": name}) for row in page["executions"]]
        shown = [row for _, _, row in sorted(rows, key=lambda each: each[:2])][:limit]
        behind = shown[-1]["execution_id"] if len(shown) == limit else None
        return gathered.response({"executions": shown, "next": behind})

    async def counts(self, request: Request) -> Response:
        """How many executions there are by status, in all groups together."""
        gathered = await self._asking.get_all(request, "/counts", self._same(request), counts_only)
        counts = Counter[str]()
        for page in gathered.found.values():
            counts.update(page)
        return JSONResponse(dict(counts), headers=gathered.headers)  # nothing but statuses and numbers

    async def count_by(self, request: Request) -> Response:
        """How many there are by what is asked, in all groups together; those of most first."""
        limit, after = limit_of(request), position_of(request)
        path, pairs = f"/counts/{request.path_params['group']}", _pairs(request, "after", "limit")
        found, missing = Counter[str | None](), set[str]()
        for name in self._asking.names:
            reached = 0
            for _ in range(_MOST_COUNTED):
                asked = get_asked(path, [*pairs, ("limit", str(LONGEST_PAGE)), ("after", str(reached))])
                page = await self._asking.object_of(request, name, asked, _COUNTS)
                if page is None:
                    missing.add(name)
                    break
                found.update({row["value"]: row["count"] for row in page["counts"]})
                if page["next"] is None or page["next"] <= reached:
                    break
                reached = page["next"]
            else:
                raise GroupRefusal(
                    problem(409, f"group {name} has too many values to count here: ask it at /groups/{name}")
                )
        if len(missing) == len(self._asking.names):
            raise GroupRefusal(problem(503, "no group answers", retry_after=2))
        rows = sorted(found.items(), key=lambda each: (-each[1], each[0] is None, each[0] or ""))
        shown: list[Json] = [{"value": value, "count": count} for value, count in rows[after : after + limit]]
        behind = after + limit if len(rows) > after + limit else None
        return Gathered({}, tuple(sorted(missing))).response({"counts": shown, "next": behind})

    async def by_name(self, request: Request) -> Response:
        """A list by names of all groups; each row says its `group`."""
        kind, limit = request.url.path.removeprefix("/"), limit_of(request)
        shape = page_of(kind, having(name=is_text))
        gathered = await self._asking.get_all(request, request.url.path, self._same(request), shape)
        rows = [{**row, "group": name} for name, page in gathered.found.items() for row in page[kind]]
        shown = sorted(rows, key=lambda row: (row["name"], self._turn(row["group"])))
        # Where a name is in several groups all its rows are on one page, as the next page begins behind the name.
        cut = shown[limit - 1]["name"] if len(shown) > limit else None
        page_rows = shown if cut is None else [row for row in shown if row["name"] <= cut]
        behind = cut if cut is not None else page_rows[-1]["name"] if len(shown) == limit else None
        return gathered.response({kind: page_rows, "next": behind})

    async def _groups_of(self, request: Request) -> tuple[str, ...]:
        """The groups that have what is asked for: what an execution called, and reruns of it, are where it is."""
        for word in ("parent", "rerun_of"):
            if of := request.query_params.get(word):
                place = await self._place(request, of)
                return self._asking.names if place is None else (place.group,)
        return self._asking.names

    async def _place(self, request: Request, execution_id: str) -> ExecutionLocation | None:
        """Where the execution is behind which a page begins; None where there is none: behind that there is nothing."""
        try:
            return await self._whereabouts.execution(request, execution_id)
        except GroupRefusal as refused:
            if refused.response.status_code != 404:
                raise
            return None

    def _mark(self, name: str, before: str, place: ExecutionLocation | None) -> str:
        """The mark that asks a group for the rows behind an execution, which may be another group's."""
        if place is None or place.group == name:
            return before
        # Of the same microsecond those of a group that comes first in the file are listed first.
        return f"@{place.started + (self._turn(name) > self._turn(place.group))}"

    def _turn(self, name: str) -> int:
        return self._asking.names.index(name)

    def _same(self, request: Request) -> dict[str, QueryWords]:
        return dict.fromkeys(self._asking.names, request.query_params.multi_items())


def _pairs(request: Request, *but: str) -> list[tuple[str, str]]:
    return [(key, value) for key, value in request.query_params.multi_items() if key not in but]
