"""An OpenID provider, as this server asks it: discovery, the address to sign in at, a code for an ID token, keys.

It is asked when somebody signs in, and at no other time. Every response is small, comes in time, and is taken from the
address that was asked: no redirect is followed (OpenID Connect Discovery 1.0 §4, Core 1.0 §3.1, RFC 7636, RFC 9207).
"""

import asyncio
import hashlib
import re
import time
from base64 import urlsafe_b64encode
from collections.abc import Callable, Mapping
from urllib.parse import quote_plus, urlencode, urlsplit

from noetl.clients.content import json_of
from noetl.clients.egress import is_loopback
from noetl.clients.http import HttpRequest, HttpResponse, RequestLimits, exchange
from noetl.clients.id_tokens import UnknownSigner, WantedToken, claims_of
from noetl_ir.expr import Json
from noetl_ir.records import NamedTuple

SECONDS = 10.0
RESPONSE_BYTES = 256 * 1024
KEPT = 3_600.0
"""Seconds for which metadata and keys are taken as they were; keys also until a token names one that is not there."""
AGAIN = 5.0
"""Seconds after which a provider that failed, or whose keys did not have the one that a token names, is asked again."""
_WELL_KNOWN = "/.well-known/openid-configuration"
_PLAIN = re.compile(r"https?://[!-_a-~]{1,192}", re.ASCII)
"""An address of somebody else that may be shown: at most 200 characters, none of them a space or a backtick."""
_PLAIN_WORD = re.compile(r"[A-Za-z0-9_.-]{1,64}", re.ASCII)


class ProviderProblem(Exception):
    """The provider could not be asked, or its response cannot be used; the text says what and why."""


class RelyingParty(NamedTuple):
    """This server as its provider knows it; a `secret` that is empty is none (a public client)."""

    issuer: str
    client: str
    secret: str = ""
    scopes: tuple[str, ...] = ()


class ProviderMetadata(NamedTuple):
    """Where a provider is asked for what. `names_itself`: it says who it is where it sends somebody back."""

    sign_in: str
    tokens: str
    keys: str
    sign_out: str
    names_itself: bool
    wants_secret_in_body: bool


class SignInKeys(NamedTuple):
    """The secrets of one sign-in: `state` binds it to a browser, `nonce` its token to it, `verifier` its code."""

    state: str
    nonce: str
    verifier: str


def faulty_issuer(issuer: str) -> str:
    """Why a URL cannot be that of an issuer; empty where it can (Discovery §2: https, without query and fragment)."""
    try:
        parts = urlsplit(issuer)
        host = parts.hostname or ""
        _ = parts.port
    except ValueError:
        return "it is no URL"
    if parts.scheme not in ("https", "http") or not host or not issuer.isascii() or not issuer.isprintable():
        return "write https://HOST, and the path behind it where there is one"
    if parts.scheme == "http" and not is_loopback(host):
        return "it must be https://, since whoever can change what it says signs in as anybody"
    if parts.query or parts.fragment or parts.username is not None or "?" in issuer or "#" in issuer:
        return "an issuer has no user, query or fragment"
    return ""


class OidcProvider:
    """The provider of one issuer. For one event loop; `clock` counts seconds, `now` is since the epoch."""

    def __init__(
        self,
        party: RelyingParty,
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], float] = time.time,
    ) -> None:
        self.party = party
        self._clock = clock
        self._now = now
        self._asking = asyncio.Lock()
        self._metadata: tuple[float, ProviderMetadata] | None = None
        self._problem: tuple[float, ProviderProblem] | None = None
        self._keys: tuple[float, list[Mapping[str, Json]]] | None = None

    async def metadata(self) -> ProviderMetadata:
        """The metadata of the provider, kept for an hour. Raises ProviderProblem."""
        async with self._asking:  # one asks for all who wait
            now = self._clock()
            if self._metadata is not None and now < self._metadata[0] + KEPT:
                return self._metadata[1]
            if self._problem is not None and now < self._problem[0] + AGAIN:
                raise ProviderProblem(str(self._problem[1]))
            try:
                found = _metadata_of(self.party.issuer, await _document(self._discovery()))
            except ProviderProblem as problem:
                self._problem = self._clock(), problem
                raise
            self._metadata = self._clock(), found
            return found

    async def sign_in_url(self, back: str, keys: SignInKeys, *, afresh: bool = False) -> str:
        """Where a browser is sent to sign in, and comes `back` from. `afresh`: whoever is signed in there already is
        asked all the same. Raises ProviderProblem.
        """
        metadata = await self.metadata()
        challenge = urlsafe_b64encode(hashlib.sha256(keys.verifier.encode("ascii")).digest()).rstrip(b"=")
        query = {
            "response_type": "code",
            "client_id": self.party.client,
            "redirect_uri": back,
            "scope": " ".join(dict.fromkeys(("openid", "email", *self.party.scopes))),
            "state": keys.state,
            "nonce": keys.nonce,
            "code_challenge": challenge.decode("ascii"),
            "code_challenge_method": "S256",
            **({"prompt": "login"} if afresh else {}),
        }
        return _with_query(metadata.sign_in, query)

    async def sign_out_url(self, back: str) -> str:
        """Where a browser is sent to sign out of the provider, too (RP-Initiated Logout 1.0 §2); empty where it has no
        such place, or cannot be asked.
        """
        try:
            metadata = await self.metadata()
        except ProviderProblem:
            return ""
        query = {"client_id": self.party.client, "post_logout_redirect_uri": back}
        return _with_query(metadata.sign_out, query) if metadata.sign_out else ""

    async def claims(self, code: str, back: str, keys: SignInKeys) -> dict[str, Json]:
        """The claims about whoever came back with a code. Raises ProviderProblem, BadIdToken."""
        metadata = await self.metadata()
        token = await self._redeemed(metadata, code, back, keys)
        wanted = WantedToken(self.party.issuer, self.party.client, keys.nonce, self._now())
        try:
            return claims_of(token, await self._signing_keys(metadata, KEPT), wanted)
        except UnknownSigner:
            # Core §10.1.1: keys are changed by publishing a new one under a new name.
            return claims_of(token, await self._signing_keys(metadata, AGAIN), wanted)

    async def check_keys(self) -> None:
        """Raises ProviderProblem where it publishes no key, so that nobody could sign in."""
        metadata = await self.metadata()
        if not await self._signing_keys(metadata, KEPT):
            raise ProviderProblem(f"{metadata.keys} has no key in `keys`: nothing that it signs could be checked")

    def _discovery(self) -> str:
        return self.party.issuer.rstrip("/") + _WELL_KNOWN

    async def _signing_keys(self, metadata: ProviderMetadata, oldest: float) -> list[Mapping[str, Json]]:
        """The keys of the provider, of at most that age."""
        async with self._asking:
            if self._keys is None or self._clock() >= self._keys[0] + oldest:
                found = (await _document(metadata.keys)).get("keys")
                if not isinstance(found, list):
                    raise ProviderProblem(f"{metadata.keys} has no list of `keys`")
                self._keys = self._clock(), [key for key in found if isinstance(key, dict)]
            return self._keys[1]

    async def _redeemed(self, metadata: ProviderMetadata, code: str, back: str, keys: SignInKeys) -> str:
        """The ID token that a code is redeemed for (Core §3.1.3)."""
        form = {
            "grant_type": "authorization_code", "code": code, "redirect_uri": back, "code_verifier": keys.verifier,
        }  # fmt: skip
        party, basic = self.party, None
        if party.secret and not metadata.wants_secret_in_body:
            basic = quote_plus(party.client), quote_plus(party.secret)  # RFC 6749 §2.3.1: encoded as in forms, first
        else:
            form |= {"client_id": party.client, **({"client_secret": party.secret} if party.secret else {})}
        headers = {"Content-Type": "application/x-www-form-urlencoded", "Accept": "application/json"}
        request = HttpRequest("POST", metadata.tokens, headers, content=urlencode(form).encode("ascii"), basic=basic)
        token = (await _read(request)).get("id_token")
        if not isinstance(token, str):
            raise ProviderProblem(f"{metadata.tokens} gave no ID token: is the scope `openid` allowed to this client?")
        return token


def _metadata_of(issuer: str, document: Mapping[str, Json]) -> ProviderMetadata:
    """Metadata that may be used. Raises ProviderProblem."""
    if document.get("issuer") != issuer:
        # Discovery §4.3: else one provider could pass its tokens off as those of another one.
        raise ProviderProblem(
            f"the provider calls itself {_own_name(document)} than `{issuer}`: write its `issuer` letter by letter"
        )
    methods = document.get("token_endpoint_auth_methods_supported")
    known = [method for method in methods if isinstance(method, str)] if isinstance(methods, list) else []
    return ProviderMetadata(
        _endpoint(issuer, document, "authorization_endpoint"),
        _endpoint(issuer, document, "token_endpoint"),
        _endpoint(issuer, document, "jwks_uri"),
        _endpoint(issuer, document, "end_session_endpoint") if document.get("end_session_endpoint") else "",
        document.get("authorization_response_iss_parameter_supported") is True,
        "client_secret_post" in known and "client_secret_basic" not in known,
    )


def _own_name(document: Mapping[str, Json]) -> str:
    """The name that a provider gives itself, told only where it is a plain address: it is a text of somebody else."""
    name = document.get("issuer")
    if not isinstance(name, str) or not _PLAIN.fullmatch(name):
        return "otherwise"
    return f"`{name}`, which is otherwise"


def _endpoint(issuer: str, document: Mapping[str, Json], name: str) -> str:
    url = document.get(name)
    if not isinstance(url, str) or len(url) > 2048 or "#" in url or not (url.isascii() and url.isprintable()):
        raise ProviderProblem(f"the provider's metadata has no URL in `{name}`")
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname or "", parts.port
    except ValueError:
        host = ""
    # Plain HTTP only where the issuer itself is a program of this machine.
    may_be_plain = issuer.startswith("http://") and is_loopback(host)
    if not host or not (url.startswith("https://") or (may_be_plain and url.startswith("http://"))):
        raise ProviderProblem(f"the provider's metadata has no https:// URL in `{name}`")
    return url


async def _document(url: str) -> dict[str, Json]:
    return await _read(HttpRequest("GET", url, {"Accept": "application/json"}))


async def _read(request: HttpRequest) -> dict[str, Json]:
    """The object that a provider answers with. Raises ProviderProblem."""
    response = await exchange(request, RequestLimits(total=SECONDS, most=RESPONSE_BYTES), None)
    if not isinstance(response, HttpResponse):
        raise ProviderProblem(f"{request.url}: {(response.error or {}).get('message', '')}")
    try:
        value = json_of(response.content)
    except ValueError:
        value = None
    if response.status != 200:
        error = value.get("error") if isinstance(value, dict) else None
        # Its own word for it, and no more of what it says: the rest may quote what it was sent.
        word = f" ({error})" if isinstance(error, str) and _PLAIN_WORD.fullmatch(error) else ""
        raise ProviderProblem(f"{request.url} answered {response.status}{word}")
    if not isinstance(value, dict):
        raise ProviderProblem(f"{request.url} answered with no JSON object")
    return value


def _with_query(url: str, query: Mapping[str, str]) -> str:
    """A URL with more parameters; those that it has stay (RFC 6749 §3.1)."""
    return f"{url}{'&' if '?' in url else '?'}{urlencode(query)}"
