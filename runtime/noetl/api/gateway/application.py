"""The API of a gateway: that of a server, each operation asked of one group, of all, or refused with where to ask."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from noetl.api.authorization import named_host
from noetl.api.bodies import BODY_BYTES, raw_body
from noetl.api.gateway.asking import Asking, GroupRefusal, gone
from noetl.api.gateway.catalogue import CatalogueOfAll
from noetl.api.gateway.forwarding import address_of, headers_for
from noetl.api.gateway.groups import GroupMap
from noetl.api.gateway.listing import LISTS, Listing
from noetl.api.gateway.many import AskingMany
from noetl.api.gateway.metrics import gateway_metrics
from noetl.api.gateway.standing import StandingOfAll
from noetl.api.gateway.starting import Starting
from noetl.api.gateway.upstream import GONE, READY, AskedOf, LostResponse, Unreachable, Upstream
from noetl.api.gateway.whereabouts import Whereabouts
from noetl.api.metrics import TYPE
from noetl.api.operation import EXECUTION, PLAN, PLAYBOOK, Operation, measured
from noetl.api.page_sessions import is_session
from noetl.api.problems import problem, problem_of, with_problems
from noetl.api.responses import JSONResponse
from noetl.api.routes import ROUTES
from noetl.api.static_page import page_routes
from noetl.clients.egress import is_loopback
from noetl.host.measures import GATEWAY, Measures

GroupHandler = Callable[[Request], Awaitable[Response]]

_STARTING = {"schedules": ("pause", "resume", "backfill", "start"), "triggers": ("pause", "resume", "retry")}
"""Documents that start playbooks, and what is asked of them."""

_OF_EACH = ("notifications", "namespaces")
_MANY = ("cancel", "signal", "pause", "resume", "rerun")

OF_ONE_GROUP = frozenset({
    ("GET", "/audit"), ("GET", "/credentials"), ("GET", "/tokens"), ("POST", "/logs"),
    ("GET", "/sign-in/oidc"), ("GET", "/sign-in/return"), ("POST", "/workers/{worker}/drain"),
    ("GET", "/signals"), ("POST", "/signals"), ("GET", "/dead-letters"), ("POST", "/dead-letters/{number}/retry"),
    ("DELETE", "/dead-letters/{number}"), ("POST", "/sessions"), ("POST", "/sessions/validate"),
    ("POST", "/sessions/activity"), ("POST", "/sessions/invalidate"), ("GET", "/users/{user_id:path}/sessions"),
    ("POST", "/purge"), ("POST", "/stop"),
})  # fmt: skip
"""What is refused, as it is about one store: a signal under a key would be kept in each of them, a number of a list of
one means something else in another one.
"""


class Gateway:
    """A gateway, with a handler for each operation of a server.

    `hosts_hidden`: it listens beyond this machine, and so never passes on that a request named this machine as its
    host: a server without tokens lets in whoever does.
    """

    def __init__(self, groups: GroupMap, upstream: Upstream, *, hosts_hidden: bool) -> None:
        self._upstream = upstream
        self.measures = Measures(GATEWAY)
        self._hosts_hidden = hosts_hidden
        asking = Asking(upstream)
        self._whereabouts = Whereabouts(asking)
        self._catalogue = CatalogueOfAll(asking)
        listing, many = Listing(asking, self._whereabouts), AskingMany(asking, self._whereabouts)
        standing = StandingOfAll(groups, asking, self._whereabouts)
        starting = Starting(groups, asking, self._whereabouts)
        self._ways: dict[tuple[str, str], GroupHandler] = {
            ("GET", "/healthz"): self._healthz,
            ("GET", "/readyz"): self._readyz,
            ("GET", "/metrics"): self._metrics,
            ("GET", "/openapi.json"): self._catalogue.get,
            ("GET", "/me"): self._catalogue.get,
            ("GET", "/sign-in"): self._ways_to_sign_in,
            ("POST", "/sign-in"): self._sign_in,
            ("POST", "/sign-out"): self._sign_in,
            ("GET", "/executions"): listing.executions,
            ("POST", "/executions"): starting.start,
            ("GET", "/counts"): listing.counts,
            ("GET", "/counts/{group:path}"): listing.count_by,
            ("GET", "/playbooks"): self._catalogue.get,
            ("POST", "/playbooks"): self._catalogue.put,
            ("POST", "/plans"): self._catalogue.put,
            ("PUT", "/plans/{digest}/source"): self._catalogue.put,
            ("GET", "/findings/{code}"): self._catalogue.get,
            ("POST", "/blobs"): self._catalogue.get,
            ("POST", "/notifications/{name:path}/test"): partial(standing.with_first, verb="test"),
            ("POST", "/hooks/{name:path}"): standing.receive,
        }
        self._ways |= {("POST", f"/executions/{verb}"): many.ask for verb in _MANY}
        self._ways |= {("GET", path): listing.by_name for path in LISTS}
        for kind, verbs in _STARTING.items():
            one = f"/{kind}/{{name:path}}"
            self._ways |= {("PUT", one): standing.put_starting, ("GET", one): standing.with_one}
            self._ways |= {("DELETE", one): standing.with_one}
            self._ways |= {("POST", f"{one}/{verb}"): partial(standing.with_one, verb=verb) for verb in verbs}
        for kind in _OF_EACH:
            one = f"/{kind}/{{name:path}}"
            self._ways |= {("PUT", one): standing.with_all, ("GET", one): standing.with_first}
            self._ways |= {("DELETE", one): standing.with_all}
            self._ways |= {("POST", f"{one}/{verb}"): standing.with_all for verb in ("pause", "resume")}

    def way(self, row: Operation) -> GroupHandler:
        """The way of an operation."""
        if (found := self._ways.get((row.method, row.path))) is not None:
            return found
        if row.scope == EXECUTION:
            return self._with_execution
        if row.scope in (PLAN, PLAYBOOK):
            return self._catalogue.get
        assert (row.method, row.path) in OF_ONE_GROUP, f"{row.method} {row.path} has no way"
        return self._refuse

    async def to_group(self, request: Request) -> Response:
        """All that a group has, under its name: `/groups/NAME/…` is the address of a server of it."""
        name = request.path_params["group"]
        if name not in self._upstream.groups:
            there = ", ".join(f"`{each}`" for each in self._upstream.groups)
            raise GroupRefusal(problem(404, f"there is no group `{name}`; there are {there}"))
        asked = AskedOf(request.method, address_of(request, f"/groups/{name}"), headers_for(request), _body_of(request))
        return await self._upstream.pass_on(name, asked)

    def guarded(self, way: GroupHandler, say: Callable[[str], None]) -> GroupHandler:
        """A way whose problems are responses."""

        async def guarded(request: Request) -> Response:
            if self._hosts_hidden and is_loopback(named_host(request)):
                text = "this gateway answers to no name of its own machine: have a proxy in front hand on `Host`"
                raise GroupRefusal(problem(403, text))
            return await way(request)

        async def told(request: Request) -> Response:
            try:
                return await guarded(request)
            except GroupRefusal as refused:
                return refused.response
            except Unreachable as error:
                return problem(503, str(error), retry_after=2)
            except LostResponse as error:
                return problem(502, str(error))

        return with_problems(told, say)

    async def _healthz(self, request: Request) -> Response:
        return JSONResponse({"status": "ok"})

    async def _readyz(self, request: Request) -> Response:
        """Whether there is a group that takes starts, and how each stands."""
        states = {name: self._upstream.state(name) for name in self._upstream.groups}
        if READY not in states.values():
            return problem(
                503, "no group takes starts: " + ", ".join(f"{name} is {is_}" for name, is_ in states.items())
            )
        return JSONResponse({"status": "ok", "groups": states})

    async def _metrics(self, request: Request) -> Response:
        """Figures for Prometheus, for everybody who can reach it: also while no group can say who may."""
        return Response(gateway_metrics(self._upstream, self.measures), media_type=TYPE)

    async def _with_execution(self, request: Request) -> Response:
        """Ask the group that has an execution."""
        execution_id = request.path_params["execution_id"]
        for _ in range(2):
            place = await self._whereabouts.execution(request, execution_id)
            asked = AskedOf(request.method, address_of(request), headers_for(request), _body_of(request))
            response = await self._upstream.pass_on(place.group, asked)
            if response.status_code != 404:
                return response
            # It may have been purged there, and brought back elsewhere. What has a body is not asked twice.
            self._whereabouts.forget(execution_id)
            if request.method != "GET":
                return response
        return response

    async def _sign_in(self, request: Request) -> Response:
        """Sign in to all groups, or out of all: each has a cookie of its own."""
        data = await raw_body(request, BODY_BYTES)
        asked = AskedOf(request.method, address_of(request), headers_for(request), data)
        cookies, first, missing = list[tuple[bytes, bytes]](), None, list[str]()
        for name in self._upstream.groups:
            if self._upstream.state(name) == GONE:
                missing.append(name)
                continue
            response = await self._upstream.pass_on(name, asked, as_whole=True)
            if response.status_code >= 400:
                return response
            cookies += [pair for pair in response.raw_headers if pair[0] == b"set-cookie"]
            first = first or response
        if first is None:
            raise GroupRefusal(gone(missing))
        rest = [pair for pair in first.raw_headers if pair[0] != b"set-cookie"]
        first.raw_headers = [*rest, *cookies]
        if missing and request.url.path == "/sign-out":
            # A group that is gone ends no session: the browser forgets it, which else is signed in when that is back.
            for cookie in filter(is_session, request.cookies):
                first.set_cookie(
                    cookie, "", max_age=0, path=None, httponly=True, samesite="strict",
                    secure=request.url.scheme == "https",
                )  # fmt: skip
        return first

    async def _ways_to_sign_in(self, request: Request) -> Response:
        return JSONResponse({"tokens": True, "oidc": None})

    async def _refuse(self, request: Request) -> Response:
        names = ", ".join(f"/groups/{name}" for name in self._upstream.groups)
        raise GroupRefusal(problem(409, f"this is the affair of one group: ask it there ({names})"))


def _body_of(request: Request) -> AsyncIterator[bytes] | None:
    has_body = "content-length" in request.headers or "transfer-encoding" in request.headers
    return request.stream() if has_body else None


def gateway_application(
    groups: GroupMap, upstream: Upstream, say: Callable[[str], None], *, hosts_hidden: bool
) -> Starlette:
    """The ASGI application of a gateway. `say` hears of errors of ours."""
    gateway = Gateway(groups, upstream, hosts_hidden=hosts_hidden)
    routes = [
        Route(
            row.path,
            measured(row, gateway.guarded(gateway.way(row), say), gateway.measures),
            methods=[row.method],
            name=row.handler.__name__,
        )
        for row in ROUTES
    ]
    anything = ["GET", "HEAD", "POST", "PUT", "DELETE"]
    within = Route(
        "/groups/{group}/{rest:path}", gateway.guarded(gateway.to_group, say), methods=anything, name="group"
    )
    return Starlette(routes=[within, *routes, *page_routes()], exception_handlers={404: _failed, 405: _failed})


async def _failed(request: Request, error: Exception) -> Response:
    return problem_of(error)
