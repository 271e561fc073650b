"""Sessions of the page: a cookie that stands for a bearer token for some hours, so that no script of it has the token,
or for a person who signed in by OpenID Connect.

Nothing is kept of them. The cookie has its end and a code over that end and the digest of the token, made with a key
that only the servers of the store know: every server of the store knows it, also after a restart, and a token that
was taken back ends its sessions at the next request.
"""

from __future__ import annotations

import hmac
import time
from collections.abc import Callable, Sequence
from functools import cached_property

from starlette.requests import HTTPConnection
from starlette.responses import Response

from noetl.api.bearer_tokens import BearerToken
from noetl.api.people import People, Person

LASTS = 12 * 3_600
"""Seconds from the sign-in to its end: a working day."""

_PREFIX = "noetl_"
_PERSON = "p"
"""How the cookie of a person begins; that of a token begins with a digit."""


def is_session(cookie: str) -> bool:
    """Whether a cookie of that name is a session of the page of some store."""
    return cookie.startswith(_PREFIX)


class PageSessions:
    """Makes a cookie for a token, and finds the token of a cookie.

    `key` gives the key that the store's servers share. It is called once, at the first use, since a new store makes the
    key then. `now` is in seconds since the epoch. `encrypted`: browsers speak TLS to a proxy in front, which this
    server does not see. `people` are those who sign in without a token.
    """

    def __init__(
        self,
        key: Callable[[], bytes],
        now: Callable[[], float] = time.time,
        *,
        encrypted: bool = False,
        people: People | None = None,
    ) -> None:
        self._ask = key
        self._now = now
        self._encrypted = encrypted
        self.people = people

    def begin_session(self, response: Response, connection: HTTPConnection, token: BearerToken) -> None:
        """Sign in the browser that a response goes to, until its token ends at the latest."""
        now = int(self._now())
        end = now + LASTS if token.expires is None else min(now + LASTS, token.expires // 1_000_000)
        self._set(response, connection, f"{end}.{self._code(end, token)}", max(0, end - now))

    def begin_person(self, response: Response, connection: HTTPConnection, person: Person, path: str) -> None:
        """Sign in the browser of a person; `path` is that of the page. The end of an ID token is none of the session
        (OpenID Connect Core §2, of `exp`).
        """
        end, text = int(self._now()) + LASTS, person.text()
        # The rules may have been changed since: then this is no session, and not one by other rules of those numbers.
        code = self._code_of_person(end, text, person.judged)
        self._set(response, connection, f"{_PERSON}{end}.{text}.{code}", LASTS, path)

    def end_session(self, response: Response, connection: HTTPConnection) -> None:
        """Sign it out."""
        self._set(response, connection, "", 0)

    def token_of(self, connection: HTTPConnection, tokens: Sequence[BearerToken]) -> BearerToken | None:
        """The token that the cookie of a request stands for, None where it has none that is good."""
        text = connection.cookies.get(self._name, "")
        if text.startswith(_PERSON):
            return self._person_of(text.removeprefix(_PERSON))
        end, _, code = text.partition(".")
        if not (end.isascii() and end.isdigit() and len(end) < 12 and code.isascii()) or int(end) <= self._now():
            return None
        found = None
        for token in tokens:  # all, so that how long it takes tells nothing of any
            if hmac.compare_digest(self._code(int(end), token), code):
                found = token
        return found

    def _code_of_person(self, end: int, text: str, digest: str) -> str:
        return self._made(f"person {end} {text} {digest}")

    def _code(self, end: int, token: BearerToken) -> str:
        return self._made(f"session {end} {token.digest}")

    def _person_of(self, text: str) -> BearerToken | None:
        end, _, rest = text.partition(".")
        who, _, code = rest.partition(".")
        if self.people is None or not (digest := self.people.digest):
            return None
        if not (end.isascii() and end.isdigit() and len(end) < 12 and rest.isascii()) or int(end) <= self._now():
            return None
        if not hmac.compare_digest(self._code_of_person(int(end), who, digest), code):
            return None
        return self.people.identity(who, int(end))

    @cached_property
    def _key(self) -> bytes:
        # Whoever sends no token at all is looked up here, too: that must not cost a question to the database each time.
        return self._ask()

    @cached_property
    def _name(self) -> str:
        # Cookies of one host are those of all its ports: two servers on a machine would sign each other out.
        return f"{_PREFIX}{self._made('name')[:12]}"

    def _made(self, text: str) -> str:
        return hmac.digest(self._key, f"page {text}".encode(), "sha256").hex()

    def _set(
        self, response: Response, connection: HTTPConnection, value: str, lasts: int, path: str | None = None
    ) -> None:
        # Without a path the browser takes that of the request (RFC 6265 §5.1.4), which is the prefix of a proxy
        # where there is one, and this server does not know it.
        response.set_cookie(
            self._name, value, max_age=lasts, path=path, httponly=True, samesite="strict",
            secure=self._encrypted or connection.url.scheme == "https",
        )  # fmt: skip
