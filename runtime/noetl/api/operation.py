"""An operation of the API: the row that its table has for each."""

import time
from collections.abc import Awaitable, Callable

from starlette.requests import Request
from starlette.responses import Response

from noetl.api.bodies import Body
from noetl.api.pages import Paged
from noetl.host.measures import Measures
from noetl_ir.records import NamedTuple

Handler = Callable[[Request], Awaitable[Response]]

OWN = "own"
"""The scope of operations that show and change nothing of any playbook: each token may use them."""

EXECUTION, PLAN, PLAYBOOK = "execution", "plan", "playbook"
"""Those about one execution, plan or playbook path, which their address names: before the handler is called, the
playbook has to be one of the token's.
"""

WITHIN = "within"
"""Those whose handler keeps to the scope of its context (`noetl.ports.scopes.scope_now`): it shows what is in there."""

WORK = "work"
"""As `WITHIN`, of what workers ask."""


class Operation(NamedTuple):
    """One operation. `role` is who may, empty for everybody; `query` names its parameters, beside those of pages,
    `headers` the request headers that it reads. `deed` is what it is called in the audit, empty where it changes
    nothing; the change of the store is recorded with itself, and where it `is_recorded_first` there is none. `scope`
    is how it keeps to the playbooks that a token is for; where it is empty only tokens for everything may use it.
    """

    method: str
    path: str
    role: str
    handler: Handler
    body: type[Body] | None = None
    query: tuple[str, ...] = ()
    status: int = 200
    pages: Paged | None = None
    headers: tuple[str, ...] = ()
    deed: str = ""
    is_recorded_first: bool = False
    scope: str = ""


def measured(row: Operation, handler: Handler, measures: Measures) -> Handler:
    """The handler of an operation, whose requests are counted and timed."""
    name = row.handler.__name__
    for status in ("500", "503"):  # what alerts ask for: the first one counts, too
        measures.begin_counter("noetl_requests", name, status)

    async def counted(request: Request) -> Response:
        began = time.perf_counter()
        response = await handler(request)
        measures.count("noetl_requests", name, str(response.status_code))
        measures.observe("noetl_request_seconds", time.perf_counter() - began, name)
        return response

    return counted
