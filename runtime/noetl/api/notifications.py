"""Notifications over the API, and dead letters: what could not be told outside, with its reason and a way back."""

from __future__ import annotations

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from noetl.api.bodies import body_of, natural
from noetl.api.handlers import service_of
from noetl.api.pages import LAST_POSITION, limit_of, page, position_of
from noetl.api.problems import BadRequest, Rejected, Unknown
from noetl.api.responses import JSONResponse
from noetl.api.standing import StandingBody, kept, page_of, removed, told_of
from noetl.app.clock import WallClock
from noetl.app.documents import dead_letter_document
from noetl.app.notification_book import NotificationBook
from noetl.app.outbox_delivery import drop_dead
from noetl.ports.outbox import Outbox, Telling, WantedOutbox
from noetl.ports.scopes import scope_now


class NotificationBody(StandingBody):
    """A notification, as `noetl notifications put` takes it."""


async def list_notifications(request: Request) -> Response:
    """Notifications by name: of what they tell, how many messages wait, and what hinders them."""
    return await page_of(request, "notifications", _book(request))


async def get_notification(request: Request) -> Response:
    """A notification, and how it stands."""
    return await told_of(request, _book(request).document)


async def put_notification(request: Request) -> Response:
    """Keep a notification under its name; one that is there is replaced. It is about what ends from now on."""
    body = await body_of(request, NotificationBody)
    _check_credentials(body)
    return await run_in_threadpool(kept, request, _book(request), body)


def _check_credentials(body: NotificationBody) -> None:
    """Raise BadRequest where a token with scopes has the server send one of its credentials: it would go to whatever
    address the document names.
    """
    recipients = body.spec.get("to")
    found = recipients.values() if isinstance(recipients, dict) else ()
    scope = scope_now()
    if (scope.paths or scope.pools) and any(isinstance(one, dict) and one.get("credential") for one in found):
        raise BadRequest(
            "a token with paths or pools may name no credential of the server in a notification, as that would be sent "
            "wherever it says: have somebody put it whose token has none",
            403,
        )


async def delete_notification(request: Request) -> Response:
    """Keep a notification no more; messages that were not sent are not sent any more."""
    return await removed(request, _book(request))


async def pause_notification(request: Request) -> Response:
    """Tell nobody by it until it is resumed; what happens meanwhile is passed."""
    return await told_of(request, _book(request).pause)


async def resume_notification(request: Request) -> Response:
    """Go on with what happens from now on."""
    return await told_of(request, _book(request).resume)


async def test_notification(request: Request) -> Response:
    """Have a message sent that is about nothing, to see that it comes through."""
    return await told_of(request, _book(request).test, 202)


async def list_dead_letters(request: Request) -> Response:
    """Dead letters: what could not be told outside and is tried no more, the oldest first, with the reason."""
    limit, after = limit_of(request), position_of(request)
    rows = await run_in_threadpool(_outbox(request).outbox_rows, WantedOutbox(dead=True, after=after, limit=limit))
    behind = rows[-1].number if len(rows) == limit else None
    return page("dead_letters", [dead_letter_document(row) for row in rows], behind)


async def retry_dead_letter(request: Request) -> Response:
    """Try a dead letter again, as if it had not failed."""
    number = _number(request)
    if not await run_in_threadpool(_outbox(request).revive_outbox, number, WallClock().now()):
        raise Unknown(f"there is no dead letter {number}")
    return JSONResponse({"number": number}, 202)


async def drop_dead_letter(request: Request) -> Response:
    """Forget a dead letter."""
    number = _number(request)
    if not await run_in_threadpool(drop_dead, _outbox(request), number):
        raise Unknown(f"there is no dead letter {number}")
    return Response(status_code=204)


def _number(request: Request) -> int:
    return natural("number", request.path_params["number"], 1, LAST_POSITION)


def _outbox(request: Request) -> Outbox:
    store = service_of(request).runtime.store
    if not isinstance(store, Telling):
        raise Rejected("this store has no outbox")
    return store.outbox


def _book(request: Request) -> NotificationBook:
    return NotificationBook(service_of(request).runtime, WallClock())
