"""The audit of a server: who asked what over the API, what was refused, and the list of it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from noetl.api.bearer_tokens import BearerToken
from noetl.api.bodies import natural
from noetl.api.operation import Operation
from noetl.api.pages import LAST_POSITION, limit_of, page
from noetl.api.problems import BadRequest, Faulty, Rejected, Unknown
from noetl.api.refusals import is_barred, reason_of, subject_of
from noetl.api.throttle import Throttle
from noetl.app.documents import audit_document
from noetl.ports import Conflict, Store, StoreFailure
from noetl.ports.actors import ASKED, REFUSED, Actor, acting
from noetl.ports.audit import Audited, AuditRow, NoSuchDeed, WantedAudit, audit_row, deeds_in
from noetl.server.schedules.times import BadTimes, time_of
from noetl_ir.expr import Json

ANYBODY = "anybody"
"""Who asks a server that has no tokens."""

BURST, PER_SECOND = 100, 1.0
"""Refused requests that are recorded at once, and in a second after that: whoever has no token fills no store."""


class Auditor:
    """Records what was asked of a server, in the audit of its store."""

    def __init__(self, store: Store) -> None:
        self._audit = store.audit if isinstance(store, Audited) else None
        self._refusals = Throttle(BURST, PER_SECOND)
        self._left_out = 0

    @contextmanager
    def acting(self, request: Request, operation: Operation) -> Iterator[None]:
        """Changes that a request makes meanwhile are recorded with who asked it."""
        with acting(actor_of(request) if operation.deed else None):
            yield

    async def record(self, request: Request, deed: str, outcome: str = ASKED, subject: str = "") -> None:
        """Record what changes nothing in the store, before it is done. Raises StoreFailure."""
        await self._add(audit_row(actor_of(request), deed, subject or subject_of(request), outcome))

    async def record_refusal(self, request: Request, operation: Operation, error: Exception) -> None:
        """Record that a request was refused, as far as there is room for that."""
        is_refused = isinstance(error, (BadRequest, Unknown, Rejected, Faulty, Conflict))
        if not is_barred(error) and not (operation.deed and is_refused):
            return
        if not self._refusals.allows(""):
            self._left_out += 1
            return
        reason = reason_of(request, error)
        if self._left_out:
            reason, self._left_out = f"({self._left_out} before it were not recorded) {reason}", 0
        deed = operation.deed or f"{operation.method} {operation.path.replace(':path}', '}')}"
        with suppress(StoreFailure):  # the request is answered all the same; the service says what is wrong
            await self._add(audit_row(actor_of(request), deed, subject_of(request), REFUSED, reason))

    async def _add(self, row: AuditRow) -> None:
        if self._audit is not None:
            await run_in_threadpool(self._audit.add_deed, row)

    def deeds(self, wanted: WantedAudit) -> list[dict[str, Json]]:
        """The rows that fit, newest first, as documents."""
        return [] if self._audit is None else [*map(audit_document, self._audit.deeds(wanted))]


def auditor_of(request: Request) -> Auditor:
    """The auditor of the application."""
    auditor: Auditor = request.app.state.auditor
    return auditor


def actor_of(request: Request) -> Actor:
    """Who a request comes from."""
    token: BearerToken | None = getattr(request.state, "token", None)
    headers = request.headers
    # A browser says of each request from which site it is; programs do not.
    via = "page" if "sec-fetch-site" in headers and "authorization" not in headers else "api"
    address = request.client.host if request.client is not None else ""
    return Actor(token.name if token is not None else ANYBODY, via, address)


async def list_audit(request: Request) -> Response:
    """Who did what, the newest first: what was changed over this API and beside the store, and what was refused."""
    limit, query = limit_of(request), request.query_params
    try:
        since = time_of(query["since"]) if query.get("since") else 0
    except BadTimes as problem:
        raise BadRequest(f"`since`: {problem}") from None
    before = natural("before", query["before"], 1, LAST_POSITION) if query.get("before") else 0
    try:
        deeds = deeds_in(query.get("deed", ""))
    except NoSuchDeed as problem:
        raise BadRequest(str(problem)) from None
    who, subject, outcome = [query.get(name, "") for name in ("who", "subject", "outcome")]
    wanted = WantedAudit(who, deeds, subject, outcome, since, before, limit)
    rows = await run_in_threadpool(auditor_of(request).deeds, wanted)
    return page("audit", rows, rows[-1]["row"] if len(rows) == limit else None)
