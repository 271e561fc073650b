"""ID tokens of OpenID Connect: the claims of one that its issuer signed, for this client and this sign-in.

The checks are those of OpenID Connect Core 1.0 §3.1.3.7. joserfc does the cryptography. Which key and which algorithm
it may use is decided here: only signatures that the issuer alone can make, so neither `none` nor a shared secret, for
which somebody could take the issuer's public key.
"""

import hmac
from base64 import urlsafe_b64decode
from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, TypeVar

from noetl.clients.content import json_of
from noetl_ir.expr import Json
from noetl_ir.records import NamedTuple

if TYPE_CHECKING:
    from joserfc.jws import JWSRegistry

_Model = TypeVar("_Model")

SKEW = 60
"""Seconds that the clock of an issuer may be off."""
FRESH = 15 * 60
"""Seconds after which a token is too old for a sign-in, which has ten minutes from its beginning."""
LONGEST = 64 * 1024
MOST_KEYS = 100
LAST_TIME = 1 << 40

_KEY_OF = {
    **dict.fromkeys(("RS256", "RS384", "RS512", "PS256", "PS384", "PS512"), ("RSA", "")),
    "ES256": ("EC", "P-256"), "ES384": ("EC", "P-384"), "ES512": ("EC", "P-521"),
    "EdDSA": ("OKP", "Ed25519"), "Ed25519": ("OKP", "Ed25519"),
}  # fmt: skip
"""The type and curve of the key of each algorithm that is taken (RFC 7518 §3.1, RFC 8037 §3.1, RFC 9864)."""
ALGORITHMS = frozenset(_KEY_OF)
_RSA_BITS = 2048
"""RFC 7518 §3.3 asks for as many."""


def is_there() -> bool:
    """Whether joserfc is installed."""
    try:
        import joserfc  # noqa: F401
    except ImportError:
        return False
    return True


class BadIdToken(Exception):
    """The token proves nothing; the text says why, and has nothing of the token in it that is secret."""


class UnknownSigner(BadIdToken):
    """None of the keys is the one that the token says it was signed with: they may have been changed since."""


class WantedToken(NamedTuple):
    """A token as it is waited for; `now` is in seconds since the epoch."""

    issuer: str
    client: str
    nonce: str
    now: float


def claims_of(token: str, keys: Sequence[Mapping[str, Json]], wanted: WantedToken) -> dict[str, Json]:
    """The claims of a token, signed with one of the issuer's `keys` (RFC 7517). Raises BadIdToken, UnknownSigner."""
    if len(token) > LONGEST or not token.isascii():
        raise BadIdToken(f"it is no token of at most {LONGEST} characters")
    if token.count(".") != 2:
        raise BadIdToken("it is not signed in the compact form (RFC 7515 §7.1): an encrypted one is not taken")
    header = _header_of(token)
    algorithm = header.get("alg")
    if not isinstance(algorithm, str) or algorithm not in _KEY_OF:
        raise BadIdToken(f"its algorithm is none of {', '.join(sorted(_KEY_OF))}")
    if "crit" in header:  # RFC 7515 §4.1.11; RFC 7797 §7 keeps the one that joserfc knows out of JWTs
        raise BadIdToken("it asks for an extension that no ID token has (`crit`)")
    payload = _verified(token, algorithm, _fitting_keys(header.get("kid"), algorithm, keys))
    try:
        claims = json_of(payload)
    except ValueError as problem:
        raise BadIdToken(f"its claims are no JSON: {problem}") from None
    if not isinstance(claims, dict):
        raise BadIdToken("its claims are no object")
    _check_claims(claims, wanted)
    return claims


def _header_of(token: str) -> dict[str, Json]:
    text = token.partition(".")[0]
    try:
        header = json_of(urlsafe_b64decode(text + "=" * (-len(text) % 4)))
    except ValueError:
        header = None
    if not isinstance(header, dict):
        raise BadIdToken("its header cannot be read")
    return header


def _fitting_keys(kid: Json, algorithm: str, keys: Sequence[Mapping[str, Json]]) -> list[Mapping[str, Json]]:
    """The keys that may have made a signature of that algorithm, under that name. Raises UnknownSigner."""
    kind, curve = _KEY_OF[algorithm]
    fitting = [
        key
        for key in keys[:MOST_KEYS]
        if key.get("kty") == kind
        and (not curve or key.get("crv") == curve)
        and key.get("use", "sig") == "sig"
        and key.get("alg", algorithm) == algorithm
    ]
    if kid is not None:
        fitting = [key for key in fitting if key.get("kid") == kid]
    elif len(fitting) > 1:
        # OpenID Connect Core §10.1: where there are several keys, a token names its own.
        raise BadIdToken("it does not say which of several keys it was signed with")
    if not fitting:
        raise UnknownSigner("it was signed with a key that the issuer does not publish")
    return fitting


def _verified(token: str, algorithm: str, keys: Sequence[Mapping[str, Json]]) -> bytes:
    """The payload of a token that one of the keys signed."""
    from joserfc.errors import JoseError
    from joserfc.jwk import JWKRegistry
    from joserfc.jws import deserialize_compact

    why = "its signature is not that of the issuer's key"
    for data in keys:
        if data.get("kty") == "RSA" and _bits_of(data.get("n")) < _RSA_BITS:
            why = f"the issuer's key has fewer than {_RSA_BITS} bits"
            continue
        try:
            # Only its public parts: whatever else is said of a key must not keep it from being one.
            public = {name: data[name] for name in ("kty", "crv", "n", "e", "x", "y") if name in data}
            key = JWKRegistry.import_key(public)  # type: ignore[arg-type]
            found = deserialize_compact(token, key, registry=_registry(algorithm))
        except (JoseError, ValueError, TypeError) as problem:
            why = f"its signature is not that of the issuer's key ({type(problem).__name__})"
            continue
        assert found.payload is not None
        return found.payload
    raise BadIdToken(why)


def _bits_of(modulus: Json) -> int:
    return len(modulus) * 6 if isinstance(modulus, str) else 0


@cache
def _registry(algorithm: str) -> "JWSRegistry":
    """A registry of one algorithm. Names in a header that it does not know are passed over, as RFC 7515 §4 asks."""
    from joserfc.jws import JWSRegistry

    class OneAlgorithm(JWSRegistry):
        max_header_length = 16 * 1024  # some have a chain of certificates there
        max_payload_length = LONGEST
        max_signature_length = 4 * 1024

    # `EdDSA` is the name that issuers sign with, and joserfc warns of it, as RFC 9864 has another one.
    OneAlgorithm.algorithms = {algorithm: _without_warning(JWSRegistry.algorithms[algorithm])}
    return OneAlgorithm(algorithms=[algorithm], strict_check_header=False)


def _without_warning(model: _Model) -> _Model:
    from copy import copy

    quiet = copy(model)
    quiet.security_warning = None  # type: ignore[attr-defined]
    return quiet


def _check_claims(claims: Mapping[str, Json], wanted: WantedToken) -> None:
    """Raise BadIdToken for a token of another issuer, for somebody else, of another time or another sign-in."""
    if claims.get("iss") != wanted.issuer:
        raise BadIdToken("it is of another issuer (`iss`)")
    audience = claims.get("aud")
    clients = audience if isinstance(audience, list) else [audience]
    if wanted.client not in clients:
        raise BadIdToken("it is meant for another client (`aud`)")
    if ("azp" in claims or len(clients) > 1) and claims.get("azp") != wanted.client:
        raise BadIdToken("it was issued to another client (`azp`)")
    if _time_of(claims, "exp") <= wanted.now - SKEW:
        raise BadIdToken("it has expired (`exp`): are the clocks of both machines right?")
    issued = _time_of(claims, "iat")
    if issued > wanted.now + SKEW or ("nbf" in claims and _time_of(claims, "nbf") > wanted.now + SKEW):
        raise BadIdToken("it is from the future (`iat`, `nbf`): are the clocks of both machines right?")
    if issued < wanted.now - FRESH - SKEW:
        raise BadIdToken("it was issued long before this sign-in (`iat`): are the clocks of both machines right?")
    nonce = claims.get("nonce")
    if not isinstance(nonce, str) or not hmac.compare_digest(nonce.encode("utf-8", "replace"), wanted.nonce.encode()):
        raise BadIdToken("it is of another sign-in (`nonce`)")
    subject = claims.get("sub")
    if not isinstance(subject, str) or not 0 < len(subject) < 256 or not (subject.isascii() and subject.isprintable()):
        raise BadIdToken("it has no `sub` of 1 to 255 characters")  # OpenID Connect Core §2


def _time_of(claims: Mapping[str, Json], name: str) -> float:
    value = claims.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < LAST_TIME:
        raise BadIdToken(f"it has no time in `{name}`")
    return value
