"""Signing in to the page with a bearer token, signing out of it, and who a request comes from."""

from starlette.requests import Request
from starlette.responses import Response

from noetl.api.auditing import auditor_of
from noetl.api.authorization import Authorization
from noetl.api.bearer_tokens import MAY, BearerToken
from noetl.api.bodies import SignInBody, body_of
from noetl.api.oidc_sign_in import OidcSignIn
from noetl.api.people import is_person
from noetl.api.responses import JSONResponse
from noetl.ports.actors import DONE
from noetl_ir.expr import Json


async def who_am_i(request: Request) -> Response:
    """Whose token a request has, its role, whether it may start and ask, when it ends and what it is for; without
    tokens all are as an admin.
    """
    token: BearerToken | None = request.state.token
    return JSONResponse(_document(request, token))


async def sign_in(request: Request) -> Response:
    """Begin a session of the page: a cookie that no script can read stands for the token for 12 hours."""
    body = await body_of(request, SignInBody)
    authorization = _authorization(request)
    token = authorization.known(request, body.token)
    request.state.token = token
    await auditor_of(request).record(request, "sign-in", DONE)
    response = JSONResponse(_document(request, token))
    authorization.sign_in(request, response, token)
    return response


async def sign_out(request: Request) -> Response:
    """End the session of the page in this browser; `end_session` is where to sign out of the provider, too."""
    authorization = _authorization(request)
    token, url = authorization.session_of(request), ""
    oidc: OidcSignIn | None = request.app.state.oidc
    if oidc is not None and token is not None and is_person(token):
        url = await oidc.provider.sign_out_url(f"{oidc.page}/")
    response = JSONResponse({"signed_in": False, "end_session": url or None})
    authorization.sign_out(request, response)
    return response


def _document(request: Request, token: BearerToken | None) -> dict[str, Json]:
    person = (token or BearerToken("", "admin", "")).document()
    # A token may have any name; nobody has none.
    who: dict[str, Json] = {"name": token and token.name, "issuer": None}
    oidc: OidcSignIn | None = request.app.state.oidc
    if oidc is not None and token is not None and is_person(token):
        who["issuer"] = oidc.people.party.issuer
    return {**person, **who, "operates": "operator" in MAY[str(person["role"])]}


def _authorization(request: Request) -> Authorization:
    authorization: Authorization = request.app.state.authorization
    return authorization
