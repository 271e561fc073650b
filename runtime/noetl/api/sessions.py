"""The operations on sessions (case-dialect §6.4). Tokens are in bodies only, since addresses are written to logs.

Making sessions is limited for each user, and asking for tokens that nobody has for each client.
"""

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from noetl.api.bodies import ActivityBody, SessionBody, SessionTokenBody, body_of
from noetl.api.pages import limit_of, page
from noetl.api.problems import BadRequest, Unknown
from noetl.api.responses import JSONResponse
from noetl.api.throttle import Throttle
from noetl.ports.user_sessions import FIELDS, FoundSession, Sessions, Stale


class SessionBook:
    """The sessions behind the application, and how often they may be made and guessed at."""

    def __init__(self, sessions: Sessions) -> None:
        self.sessions = sessions
        self.made = Throttle(20, 1 / 3)
        self.missed = Throttle(100, 1)


async def create_session(request: Request) -> Response:
    """Make a session of a user; its token is shown this once."""
    book, body = _book(request), await body_of(request, SessionBody)
    if not book.made.allows(str(body.user_id)):
        raise BadRequest("too many sessions of this user were made just now", 429)
    said = {field: getattr(body, field) for field in FIELDS}
    token, found = await run_in_threadpool(book.sessions.create, body.user_id, said, body.ttl_seconds)
    return JSONResponse({"token": token, **_shown(found)}, 201)


async def validate_session(request: Request) -> Response:
    """The session of a token, if there still is one; it is not kept alive by this."""
    book, body = _book(request), await body_of(request, SessionTokenBody)
    found = await run_in_threadpool(book.sessions.validate, body.token)
    return JSONResponse(_shown(_there(request, found)))


async def update_session(request: Request) -> Response:
    """Note activity, which makes the session last as long again, and change what is given; needs the revision."""
    book, body = _book(request), await body_of(request, ActivityBody)
    # A field that was not sent stays as it is; one that was sent as null is taken away.
    said = {field: getattr(body, field) for field in FIELDS if field in body.model_fields_set}
    try:
        found = await run_in_threadpool(book.sessions.update, body.token, body.revision, said)
    except Stale:
        raise BadRequest("the session was changed since this revision: validate it, then try again", 409) from None
    return JSONResponse(_shown(_there(request, found)))


async def invalidate_session(request: Request) -> Response:
    """End the session of a token; one that is over already is no mistake."""
    body = await body_of(request, SessionTokenBody)
    ended = await run_in_threadpool(_book(request).sessions.invalidate, body.token)
    # Ending counts as guessing too: it tells whether there was a session of that token.
    if not ended:
        _count_miss(request)
    return JSONResponse({"invalidated": ended})


async def list_sessions(request: Request) -> Response:
    """The sessions of a user, without their tokens; in each page the oldest first."""
    user, after = str(request.path_params["user_id"]), request.query_params.get("after", "")
    found = await run_in_threadpool(_book(request).sessions.of_user, user, after, limit_of(request))
    return page("sessions", found.sessions, found.next)


def _book(request: Request) -> SessionBook:
    book: SessionBook = request.app.state.sessions
    return book


def _there(request: Request, found: FoundSession | None) -> FoundSession:
    """The session that was asked for. Raises Unknown, BadRequest."""
    if found is not None:
        return found
    _count_miss(request)
    raise Unknown("there is no such session")


def _count_miss(request: Request) -> None:
    """A token that nobody has was sent. Raises BadRequest after too many of one client."""
    client = request.client.host if request.client is not None else ""
    if not _book(request).missed.allows(client):
        raise BadRequest("too many sessions that are not there were asked for just now", 429)


def _shown(found: FoundSession) -> dict[str, object]:
    return {"session": found.session, "revision": found.revision}
