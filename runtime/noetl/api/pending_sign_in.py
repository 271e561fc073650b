"""A sign-in that has gone to the provider and is not back yet, as a cookie of the browser that began it.

Nothing is kept of it. The cookie has a random number and where on the page to go afterwards. `state`, `nonce` and the
verifier of PKCE are codes over both, made with the key that the servers of the store share, so that each of them can
finish what another one began; and whoever has the cookie alone, or comes back without it, has nothing.
"""

import hmac
import re
import time
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable
from functools import cached_property
from secrets import token_urlsafe
from urllib.parse import quote

from starlette.requests import HTTPConnection
from starlette.responses import Response

from noetl.clients.oidc_provider import SignInKeys
from noetl_ir.records import NamedTuple

LASTS = 600
"""Seconds that somebody has to sign in at the provider."""
LONGEST_PLACE = 1_000
_COOKIE = re.compile(r"(\d{1,11})\.([\w-]{43})\.([\w-]{0,8000})", re.ASCII)


class PendingSignIn(NamedTuple):
    """A sign-in that was begun: its keys, and where on the page it goes on."""

    keys: SignInKeys
    place: str


def fragment_of(place: str) -> str:
    """A place as the fragment of the page's address: whatever was asked for, it leads nowhere else."""
    if not place.startswith("/") or len(place) > LONGEST_PLACE or place.startswith("/sign-in"):
        return "#/executions"
    return "#" + quote(place, safe="/?&=+%:@!$'()*,;~-._")


class PendingSignIns:
    """Makes and reads these cookies. `key` and `encrypted` are as of `PageSessions`."""

    def __init__(
        self, key: Callable[[], bytes], now: Callable[[], float] = time.time, *, encrypted: bool = False
    ) -> None:
        self._ask = key
        self._now = now
        self._encrypted = encrypted

    def begin_sign_in(self, place: str) -> tuple[PendingSignIn, str]:
        """A sign-in that goes on at a place, and its cookie."""
        coded = urlsafe_b64encode(place[:LONGEST_PLACE].encode("utf-8", "replace")).rstrip(b"=").decode("ascii")
        text = f"{int(self._now()) + LASTS}.{token_urlsafe(32)}.{coded}"
        return PendingSignIn(self._keys_of(text), place), text

    def finish_sign_in(self, connection: HTTPConnection, state: str) -> PendingSignIn | None:
        """The sign-in that this browser began and that comes back with a `state`; None where there is none."""
        text = connection.cookies.get(self._name, "")
        found = _COOKIE.fullmatch(text)
        if found is None or int(found[1]) <= self._now():
            return None
        keys = self._keys_of(text)
        if not hmac.compare_digest(keys.state.encode(), state.encode("utf-8", "replace")):
            return None
        place = urlsafe_b64decode(found[3] + "=" * (-len(found[3]) % 4)).decode("utf-8", "replace")
        return PendingSignIn(keys, place)

    def set_cookie(self, response: Response, connection: HTTPConnection, text: str) -> None:
        """Give the browser the cookie of a sign-in, or with an empty text take it back."""
        # `Lax`: the browser comes back from another site, and a `Strict` cookie would stay behind. Without a path it
        # is that of the request, so that no other request has it.
        response.set_cookie(
            self._name, text, max_age=LASTS if text else 0, path=None, httponly=True, samesite="lax",
            secure=self._encrypted or connection.url.scheme == "https",
        )  # fmt: skip

    def _keys_of(self, text: str) -> SignInKeys:
        return SignInKeys(*[self._made(f"{name} {text}") for name in SignInKeys._fields])

    @cached_property
    def _key(self) -> bytes:
        return self._ask()

    @cached_property
    def _name(self) -> str:
        return f"noetl_{self._made('name')[:12]}_sign_in"

    def _made(self, text: str) -> str:
        """A code of 43 letters, as RFC 7636 §4.1 asks of a verifier."""
        code = hmac.digest(self._key, f"pending sign-in {text}".encode(), "sha256")
        return urlsafe_b64encode(code).rstrip(b"=").decode("ascii")
