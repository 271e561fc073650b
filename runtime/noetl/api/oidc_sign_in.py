"""Signing in to the page by OpenID Connect: to the provider, back with a code, and a session for who that is.

The authorization code flow with PKCE (OpenID Connect Core 1.0 §3.1, RFC 7636, RFC 9207; RFC 9700 says what threatens
it). A sign-in that comes to nothing ends on the page, which says why, and never goes back to the provider by itself.
"""

from __future__ import annotations

import asyncio
import hmac
import re
from collections.abc import Callable
from urllib.parse import urlsplit

from starlette.requests import Request
from starlette.responses import Response

from noetl.api.auditing import auditor_of
from noetl.api.page_sessions import PageSessions
from noetl.api.pending_sign_in import PendingSignIn, PendingSignIns, fragment_of
from noetl.api.people import NoRole, People, Person
from noetl.api.problems import NotSignedIn, Unknown
from noetl.api.responses import JSONResponse
from noetl.api.throttle import Throttle
from noetl.clients.id_tokens import BadIdToken
from noetl.clients.oidc_provider import OidcProvider, ProviderProblem
from noetl.host.log_lines import log_line
from noetl.ports.actors import DONE

MOST_AT_ONCE = 50
"""The most sign-ins that wait for the provider at once: a slow one fills no server."""
SECONDS_IN_ALL = 25.0
"""Seconds that a sign-in waits for the provider in all, others that wait for the same keys included."""
LONGEST_CODE = 4_096
RETURN = "/sign-in/return"
"""Where the provider sends a browser back to, below the address of the page."""
_PLAIN_WORD = re.compile(r"[A-Za-z0-9_.-]{1,64}", re.ASCII)
_UNSEEN = {"Cache-Control": "no-store", "Referrer-Policy": "no-referrer"}


class OidcSignIn:
    """Signs people in. `page` is the address of the page for browsers; `say` hears what is wrong with the provider."""

    def __init__(
        self,
        provider: OidcProvider,
        people: People,
        pending: PendingSignIns,
        page: Callable[[], str],
        say: Callable[[str], None],
    ) -> None:
        self.provider = provider
        self.people = people
        self.pending = pending
        self._page = page
        self._say = say
        self._lines = Throttle(20, 0.1)
        self._at_once = 0

    @property
    def page(self) -> str:
        """The address of the page, without the slash at its end."""
        return self._page().rstrip("/")

    @property
    def path(self) -> str:
        """The path of the page in a browser, to which the cookie of its session belongs."""
        return urlsplit(self.page).path or "/"

    async def begin_sign_in(self, place: str, *, afresh: bool) -> tuple[str, str]:
        """Where to send a browser that is to come to a place, and the cookie of the sign-in. Raises NotSignedIn."""
        pending, cookie = self.pending.begin_sign_in(place)
        try:
            return await self.provider.sign_in_url(self.page + RETURN, pending.keys, afresh=afresh), cookie
        except ProviderProblem as problem:
            raise self._not_signed_in(str(problem), "provider") from None

    async def finish_sign_in(self, request: Request) -> tuple[Person, PendingSignIn]:
        """Who came back from the provider with a request, and to what sign-in. Raises NotSignedIn."""
        sent = {name: request.query_params.getlist(name) for name in ("state", "code", "iss", "error")}
        if any(len(values) > 1 for values in sent.values()):
            raise NotSignedIn("the provider's response says something twice", "state")
        state, code, issuer, error = (values[0] if values else "" for values in sent.values())
        pending = self.pending.finish_sign_in(request, state)
        if pending is None:
            # Who begins a sign-in in one browser and has another one finish it would sign that one in as himself.
            raise NotSignedIn("no sign-in was begun in this browser within the last ten minutes", "state")
        if self._at_once >= MOST_AT_ONCE:
            raise NotSignedIn("too many sign-ins wait for the provider", "busy")
        self._at_once += 1
        try:
            await self._check_issuer(issuer)
            if error or not 0 < len(code) <= LONGEST_CODE:
                denied = error in ("access_denied", "consent_required", "login_required", "interaction_required")
                word = error if _PLAIN_WORD.fullmatch(error) else "no code"
                raise NotSignedIn(f"the provider refused the sign-in ({word})", "denied" if denied else "provider")
            async with asyncio.timeout(SECONDS_IN_ALL):
                claims = await self.provider.claims(code, self.page + RETURN, pending.keys)
            return self.people.person_of(claims), pending
        except ProviderProblem as problem:
            raise self._not_signed_in(str(problem), "provider") from None
        except TimeoutError:
            raise self._not_signed_in(f"the provider took more than {SECONDS_IN_ALL:g} s", "provider") from None
        except BadIdToken as problem:
            raise self._not_signed_in(f"the provider's ID token proves nothing: {problem}", "token") from None
        except NoRole as problem:
            raise NotSignedIn(str(problem), "role") from None
        finally:
            self._at_once -= 1

    async def _check_issuer(self, issuer: str) -> None:
        """Raise NotSignedIn for a response of another provider, or of ours where it does not say so and would."""
        wanted = self.people.party.issuer  # RFC 9207 §2.4
        if not issuer and not (await self.provider.metadata()).names_itself:
            return
        if not hmac.compare_digest(issuer.encode("utf-8", "replace"), wanted.encode()):
            raise NotSignedIn("the response is not of the provider that was asked (`iss`)", "state")

    def _not_signed_in(self, text: str, reason: str) -> NotSignedIn:
        if self._lines.allows(""):
            self._say(log_line("warning", f"sign-in: {text}"))
        return NotSignedIn(text, reason)


async def get_ways(request: Request) -> Response:
    """How one can sign in: with a token, and at a provider of OpenID Connect, where this server has one."""
    oidc: OidcSignIn | None = request.app.state.oidc
    return JSONResponse({"tokens": True, "oidc": {"issuer": oidc.people.party.issuer} if oidc is not None else None})


async def begin_oidc(request: Request) -> Response:
    """Send a browser to the provider to sign in; `place` is where on the page it goes on, `afresh` asks who it is."""
    oidc = _oidc_of(request)
    afresh = request.query_params.get("afresh") == "true"
    url, cookie = await oidc.begin_sign_in(request.query_params.get("place", ""), afresh=afresh)
    response = Response(status_code=303, headers={"Location": url, **_UNSEEN})
    oidc.pending.set_cookie(response, request, cookie)
    return response


async def finish_oidc(request: Request) -> Response:
    """Take a browser back from the provider: begin a session of the page for who signed in there."""
    oidc = _oidc_of(request)
    person, pending = await oidc.finish_sign_in(request)
    token = oidc.people.identity(person.text(), 0)
    if token is None:  # the rules were changed at this moment
        raise NotSignedIn(f"no rule gives a role to `sub` {person.subject} any more", "role")
    request.state.token = token
    await auditor_of(request).record(request, "sign-in", DONE, f"{oidc.people.party.issuer}#{person.subject}")
    # Relative, so that it is the page that was asked for, behind whatever prefix it stands.
    response = Response(status_code=303, headers={"Location": f"../{fragment_of(pending.place)}", **_UNSEEN})
    oidc.pending.set_cookie(response, request, "")
    sessions: PageSessions = request.app.state.authorization.sessions
    sessions.begin_person(response, request, person, oidc.path)
    return response


def _oidc_of(request: Request) -> OidcSignIn:
    oidc: OidcSignIn | None = request.app.state.oidc
    if oidc is None:
        raise Unknown("this server has no sign-in by OpenID Connect: `noetl server --oidc-issuer URL` gives it one")
    return oidc
