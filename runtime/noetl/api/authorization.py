"""Who may do what: bearer tokens with roles, ends and scopes, hashed at rest, compared in constant time.

A server without tokens answers everybody who can reach it, and so listens on loopback only (`check_binding`). There it
also refuses requests that name another host, so that a page in a browser cannot speak to it under a name of its own.
With tokens and without, what changes something is refused where a page of another site can have sent it.
"""

import hmac
import time
from collections.abc import Callable, Sequence
from urllib.parse import urlsplit

from starlette.requests import HTTPConnection
from starlette.responses import Response

from noetl.api.bearer_tokens import MAY, BearerToken, digest_of
from noetl.api.page_sessions import PageSessions
from noetl.api.people import is_person
from noetl.api.problems import BadRequest
from noetl.api.throttle import Throttle
from noetl.clients.egress import is_loopback
from noetl_ir.events import iso_of

_SCHEME = "bearer "

SOON = 7 * 86_400
"""Seconds before its end from which on a token is told to expire."""


class Authorization:
    """Lets requests through. `tokens` gives those that are known now, so that one that is forgotten ends at once.

    A server that began without any answers, until there is one, to the names in `hosts`; one that began with some
    never opens, even when the last one is gone. `now` is in seconds since the epoch.
    """

    def __init__(
        self,
        tokens: Callable[[], Sequence[BearerToken]],
        sessions: PageSessions,
        hosts: Sequence[str] = ("localhost", "127.0.0.1", "::1"),
        now: Callable[[], float] = time.time,
    ) -> None:
        self._tokens = tokens
        self.sessions = sessions
        self._open = not tokens() and sessions.people is None
        self._hosts = frozenset(hosts)
        self._wrong = Throttle(100, 1)
        self._now = now

    def lets(self, connection: HTTPConnection, role: str, scope: str = "") -> bool:
        """Whether a request that was let through still is: with the same token, for the same."""
        before = getattr(connection.state, "token", None)
        try:
            return self.check(connection, role, scope) == before
        except BadRequest:
            return False

    def check(self, connection: HTTPConnection, role: str, scope: str = "") -> BearerToken | None:
        """The token of a request that may do what a role may; None where none is asked for, as nobody has one.

        A token for some playbooks or pools only is let through to operations that have a `scope`, and so keep to it.
        Raises BadRequest with 401, 403 or 415, and with 429 after many wrong tokens of one client.
        """
        _check_site(connection)
        tokens = self._tokens()
        # Once there is a token, the server stays closed: to remove the last one by mistake must not let everybody in.
        self._open = self._open and not tokens
        if self._open:
            host = named_host(connection)
            # A page under a name that its owner lets point to 127.0.0.1 (DNS rebinding) is of the same site as this
            # server, to a browser. The name in `Host` is all that tells.
            if host not in self._hosts:
                raise BadRequest(f"this server answers to {', '.join(sorted(self._hosts))} only", 403)
            return None
        token = self._token_of(connection, tokens)
        connection.state.token = token  # also of one that may not: the audit names it
        self._check_tries(connection, token)
        if token is None:
            raise BadRequest("a valid token is needed: send `Authorization: Bearer TOKEN`", 401)
        self._check_end(token)
        if role not in MAY[token.role]:
            raise BadRequest(f"{_called(token)} has the role `{token.role}`; this needs `{role}`", 403)
        if token.is_scoped and not scope:
            what = "playbooks" if token.paths else "pools"
            raise BadRequest(f"{_called(token)} is for some {what} only; this is for tokens without limits", 403)
        return token

    def known(self, connection: HTTPConnection, sent: str) -> BearerToken:
        """The token that somebody sent to sign in with. Raises BadRequest as `check` does."""
        _check_site(connection)
        token = _known(sent, self._tokens())
        self._check_tries(connection, token)
        if token is None:
            raise BadRequest("no such token is known here", 401)
        self._check_end(token)
        return token

    def named(self) -> list[BearerToken]:
        """The tokens that are known now, by name."""
        return sorted(self._tokens(), key=lambda token: token.name)

    def expiring(self) -> int:
        """How many tokens let somebody in now, and expire within a week."""
        now = self._now()
        return sum(token.has_expired(now + SOON) and not token.has_expired(now) for token in self._tokens())

    def sign_in(self, connection: HTTPConnection, response: Response, token: BearerToken) -> None:
        """Begin a session of the page in the browser that a response goes to."""
        self.sessions.begin_session(response, connection, token)

    def session_of(self, connection: HTTPConnection) -> BearerToken | None:
        """Whose session of the page a browser has that asks for a change. Raises BadRequest."""
        _check_site(connection)
        return self.sessions.token_of(connection, self._tokens())

    def sign_out(self, connection: HTTPConnection, response: Response) -> None:
        """End the session of the page in the browser that asks. Raises BadRequest."""
        _check_site(connection)
        self.sessions.end_session(response, connection)

    def _token_of(self, connection: HTTPConnection, tokens: Sequence[BearerToken]) -> BearerToken | None:
        """The token that was sent, none where several were; without a header that of the page's session."""
        header, *others = connection.headers.getlist("authorization") or [""]
        if others:  # a proxy in front may have looked at another one
            return None
        if not header:
            return self.sessions.token_of(connection, tokens)
        sent = header[len(_SCHEME) :].strip() if header[: len(_SCHEME)].lower() == _SCHEME else ""
        return _known(sent, tokens)

    def _check_end(self, token: BearerToken) -> None:
        # Whoever is told has the token itself, or the cookie that was made for it.
        if token.expires is not None and token.has_expired(self._now()):
            end = f"{iso_of(token.expires).partition('.')[0]}Z"
            raise BadRequest(f"the token `{token.name}` expired at {end}", 401)

    def _check_tries(self, connection: HTTPConnection, token: BearerToken | None) -> None:
        # Only wrong tokens count, so nobody can lock a client out whose token is right.
        if token is None and not self._wrong.allows(connection.client.host if connection.client is not None else ""):
            raise BadRequest("too many requests without a valid token came from there just now", 429)


def named_host(connection: HTTPConnection) -> str:
    """The host that a request names, empty where `Host` is none: of such one the address of our own socket would be
    taken, and browsers send names that are none here, as `a{b.example`, to whatever address their owner says.
    """
    said = connection.headers.get("host")
    if said is not None and connection.url.netloc != said:
        return ""
    return connection.url.hostname or ""


def _called(token: BearerToken) -> str:
    return f"`{token.name}`" if is_person(token) else f"the token `{token.name}`"


_LOOKS = frozenset({"GET", "HEAD", "OPTIONS"})
_OWN_SITES = frozenset({"same-origin", "none"})
"""Values of `Sec-Fetch-Site` (W3C Fetch Metadata §2.4): a page of this server, or somebody who typed the address."""
_OF_FORMS = frozenset({"application/x-www-form-urlencoded", "multipart/form-data", "text/plain"})
"""What a page may send anywhere without being asked (Fetch §2.2.2)."""


def _check_site(connection: HTTPConnection) -> None:
    """Raises BadRequest for a request that changes something and that a page of another site can have sent: browsers
    name the site, and send what forms send without asking first.
    """
    if connection.scope.get("method", "GET") in _LOOKS:
        return
    headers = connection.headers
    host = headers.get("host", "").lower()
    # Every header of the name is looked at, since a proxy and this server might each believe another one.
    is_own = all(_site_of(origin) == host for origin in headers.getlist("origin"))
    if not is_own or not {site.lower() for site in headers.getlist("sec-fetch-site")} <= _OWN_SITES:
        raise BadRequest("a page of another site may change nothing here", 403)
    # Old browsers name no site. What forms can send is refused whoever sends it, so a form on another page comes to
    # nothing there too.
    if headers.get("content-type", "").partition(";")[0].strip().lower() in _OF_FORMS:
        raise BadRequest("a body of this type is what forms send: give `Content-Type: application/json`", 415)


def _site_of(origin: str) -> str:
    """The host and port of an origin, `null` where it has none or cannot be read."""
    try:
        return urlsplit(origin).netloc.lower() or "null"
    except ValueError:
        return "null"


def _known(sent: str, tokens: Sequence[BearerToken]) -> BearerToken | None:
    """The token that was sent. All are compared, so that how long it takes tells nothing of any."""
    digest = digest_of(sent)
    found = None
    for token in tokens:
        if hmac.compare_digest(token.digest, digest) and sent:
            found = token
    return found


def check_binding(host: str, *, has_tokens: bool, is_encrypted: bool) -> str | None:
    """Why a server may not listen on `host`, None when it may. `has_tokens`: or people sign in by OpenID Connect;
    `is_encrypted`: by itself, or by a proxy in front.
    """
    if is_loopback(host):
        return None
    if not has_tokens:
        return f"to listen on {host}, tokens are needed: make one with `noetl token add NAME --role admin`"
    if not is_encrypted:
        return f"to listen on {host}, give --tls-cert and --tls-key, or --behind-proxy where a proxy ends TLS"
    return None
