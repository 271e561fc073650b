"""Requests to many executions, which may be in several groups."""

from __future__ import annotations

import json
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from noetl.api.bodies import BODY_BYTES, MOST_ASKED, raw_body
from noetl.api.gateway.asking import Asking, Gathered, GroupRefusal, json_asked
from noetl.api.gateway.shapes import having, is_count, is_text, is_text_or_null, page_of
from noetl.api.gateway.whereabouts import Whereabouts
from noetl.api.problems import problem
from noetl_ir.expr import Json

_APART = "/"
"""Between the group and the place in it, in the `next` of a response: no name of a group has one."""

_ASKED = page_of("executions", having(execution_id=is_text, outcome=is_text), next=is_text_or_null, left=is_count)


class AskingMany:
    """Asks many executions the same, wherever they are."""

    def __init__(self, asking: Asking, whereabouts: Whereabouts) -> None:
        self._asking = asking
        self._whereabouts = whereabouts

    async def ask(self, request: Request) -> Response:
        """Ask executions that are named, or that fit, group after group; what became of each. Raises GroupRefusal."""
        data = await raw_body(request, BODY_BYTES)
        try:
            body = json.loads(data)
        except (ValueError, RecursionError):
            raise GroupRefusal(problem(400, "the body is no JSON")) from None
        if not isinstance(body, dict):
            raise GroupRefusal(problem(400, "the body is no object"))
        if isinstance(body.get("ids"), list):
            return await self._ask_named(request, body)
        return await self._ask_fitting(request, body)

    async def _ask_named(self, request: Request, body: dict[str, Any]) -> Response:
        if len(body["ids"]) > MOST_ASKED or not all(isinstance(each, str) and each for each in body["ids"]):
            raise GroupRefusal(problem(400, f"`ids` are at most {MOST_ASKED:,} texts"))
        groups, rows = dict[str, list[str]](), list[Json]()
        for name in dict.fromkeys(body["ids"]):
            try:
                place = await self._whereabouts.execution(request, name)
            except GroupRefusal as refused:
                if refused.response.status_code not in (404, 409, 503):
                    raise
                why = json.loads(bytes(refused.response.body))["detail"]
                rows.append({"execution_id": name, "outcome": "refused", "why": why})
            else:
                groups.setdefault(place.group, []).append(name)
        for group, ids in groups.items():
            asked = json_asked("POST", request.url.path, {**body, "ids": [*ids]})
            page = await self._asking.object_of(request, group, asked, _ASKED)
            if page is not None:
                rows += page["executions"]
                continue
            # Some may have been asked before the group was gone: nobody is told that they were not.
            why = f"group {group} does not answer: whether it was asked is not known"
            rows += [{"execution_id": name, "outcome": "refused", "why": why} for name in ids]
        return Gathered({}).response({"executions": rows, "next": None, "left": 0})

    async def _ask_fitting(self, request: Request, body: dict[str, Any]) -> Response:
        """Of one group each time: `next` asks the group behind it, and `left` counts what fits there, too."""
        names = self._asking.names
        group, _, before = str(body.get("before") or "").partition(_APART)
        if group and group not in names:
            raise GroupRefusal(problem(400, f"`before` is `next` of the last response; there is no group `{group}`"))
        at = names.index(group) if group else 0
        rows, missing = list[Json](), list[str]()
        limit = body.get("limit", 100)
        behind, left = None, 0
        for number, name in enumerate(names[at:], at):
            asked: dict[str, Any] = {**body, "before": before if number == at else "", "limit": limit}
            is_full = isinstance(limit, int) and len(rows) >= limit
            if is_full:
                asked |= {"limit": 1, "dry_run": True}
            elif isinstance(limit, int):
                asked["limit"] = limit - len(rows)
            sent = json_asked("POST", request.url.path, asked)
            page = await self._asking.object_of(request, name, sent, _ASKED)
            if page is None:
                missing.append(name)
                continue
            left += page["left"] + (len(page["executions"]) if is_full else 0)
            if not is_full:
                rows += page["executions"]
            if behind is None and (page["next"] is not None or (is_full and page["executions"])):
                behind = f"{name}{_APART}{'' if is_full else page['next']}"
        if len(missing) == len(names):
            raise GroupRefusal(problem(503, "no group answers", retry_after=2))
        return Gathered({}, tuple(missing)).response({"executions": rows, "next": behind, "left": left})
