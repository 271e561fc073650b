"""Errors of the API: `application/problem+json` (RFC 9457), and which exception is which."""

from collections.abc import Awaitable, Callable

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from noetl.api.responses import JSONResponse
from noetl.host.log_lines import log_line
from noetl.ports import Busy, Conflict, Damaged, NoRoom, StoreFailure
from noetl.ports.namespaces import QuotaExceeded

TYPE = "application/problem+json"
RETRY_AFTER = 1
"""Seconds after which what was busy or failing may be tried again."""

_TITLES = {
    400: "Bad request", 401: "Not authenticated", 403: "Not allowed", 404: "Not found", 405: "Method not allowed",
    409: "Conflict", 412: "Precondition failed", 413: "Too large", 415: "Unsupported media type",
    422: "Does not compile", 429: "Too many requests", 500: "Internal error", 503: "Try again later",
}  # fmt: skip


class Unknown(Exception):
    """Nothing has the name or number that was asked for. The text says what is not there."""


class Rejected(Exception):
    """The request was understood and cannot be done. The text says why; `recorded` is what the audit has instead, where
    the text may have values of an execution.
    """

    def __init__(self, text: str, recorded: str = "") -> None:
        super().__init__(text)
        self.recorded = recorded


# The answer is that of what is not there: whoever asks learns nothing of others. The audit is told apart.
class OutOfScope(Unknown):
    """Nothing of that name is in the scope of whoever asks, whether there is one or not."""


class Forbidden(Rejected):
    """The one who asks may not do it; the text says why."""


class OtherPlan(Rejected):
    """A start is held to a plan (`If-Match`) that it would not be of; the text says so."""


class Faulty(Exception):
    """A playbook or plan that does not compile or load. The text has the findings."""


class BadRequest(Exception):
    """The request itself is wrong; the text says what and what to write instead."""

    def __init__(self, text: str, status: int = 400) -> None:
        super().__init__(text)
        self.status = status


class NotSignedIn(BadRequest):
    """A sign-in that came to nothing. The browser is sent to the page, which has a sentence for each `reason`."""

    def __init__(self, text: str, reason: str) -> None:
        super().__init__(text, 403)
        self.reason = reason


def problem(status: int, detail: str, *, retry_after: int = RETRY_AFTER, **more: str) -> Response:
    """A problem document with its status, and members of its own; `retry_after` is in seconds."""
    body = {"type": "about:blank", "title": _TITLES.get(status, "Error"), "status": status, "detail": detail, **more}
    headers = {"Retry-After": str(retry_after)} if status in (429, 503) else {}
    if status == 401:
        # RFC 9110 §11.6.1 asks for it with each 401.
        headers["WWW-Authenticate"] = "Bearer"
    return JSONResponse(body, status, headers, TYPE)


def no_room(reason: str) -> str:
    """The response of a server that has no room; it goes on to answer who only looks."""
    return f"there is no room for values or events: {reason}"


def problem_of(error: Exception) -> Response:
    """The problem that an exception is; what is none of ours tells nothing of itself."""
    match error:
        case NotSignedIn():
            # A word, and no text: whoever makes somebody follow a link to the page could have it say anything.
            where = f"../#/sign-in?failed={error.reason}"
            return Response(status_code=303, headers={"Location": where, "Cache-Control": "no-store"})
        case BadRequest():
            return problem(error.status, str(error))
        case Unknown():
            return problem(404, str(error))
        case QuotaExceeded():
            text, seconds = f"nothing was started: {error}", error.retry_after
            return problem(429, text, retry_after=seconds, namespace=error.namespace, quota=error.quota)
        case Forbidden():
            return problem(403, str(error))
        case OtherPlan():
            return problem(412, str(error))
        case Rejected() | Conflict():
            return problem(409, str(error))
        case Damaged():
            # Only what is damaged is told, and not the text of the exception, which may name files.
            return problem(409, error.what)
        case Faulty():
            return problem(422, str(error))
        case Busy():
            return problem(503, str(error))
        case NoRoom():
            return problem(503, no_room(error.reason))
        case StoreFailure():  # its text may name files and addresses
            return problem(503, "the store cannot be used; the server's log says why")
        case HTTPException():
            return problem(error.status_code, error.detail)
    return problem(500, "the server failed; its log says more")


def with_problems(
    handler: Callable[[Request], Awaitable[Response]], say: Callable[[str], None]
) -> Callable[[Request], Awaitable[Response]]:
    """A handler whose exceptions are responses."""

    async def handle(request: Request) -> Response:
        try:
            return await handler(request)
        except ClientDisconnect:  # nobody reads it
            return problem(400, "the body did not come to its end")
        except Exception as error:
            response = problem_of(error)
            # What a client did wrong is told to the client. A want of room is said by the service, once and not for
            # each request.
            if response.status_code == 500 or (isinstance(error, StoreFailure) and not isinstance(error, NoRoom)):
                say(log_line("error", f"{request.method} {request.url.path}: {type(error).__name__}: {error}"))
            return response

    return handle
