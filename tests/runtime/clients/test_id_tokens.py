"""ID tokens: what OpenID Connect Core 1.0 §3.1.3.7 has a client check, and what attacks on JWTs rest on (RFC 8725)."""

import hashlib
import hmac
import json
from typing import Any

import pytest
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from harness.oidc import EcSigner, RsaSigner, coded, token_of
from noetl.clients.id_tokens import FRESH, SKEW, BadIdToken, UnknownSigner, WantedToken, claims_of

NOW = 1_800_000_000
WANTED = WantedToken("https://idp.example", "page", "n-0S6_WzA2Mj", NOW)
CLAIMS: dict[str, Any] = {
    "iss": "https://idp.example", "aud": "page", "sub": "248289761001", "nonce": "n-0S6_WzA2Mj", "iat": NOW,
    "exp": NOW + 300,
}  # fmt: skip
SIGNER, OTHER = RsaSigner("one"), RsaSigner("one")


def read(token: str, *keys: dict[str, Any]) -> dict[str, Any]:
    return claims_of(token, keys or (SIGNER.jwk(),), WANTED)


def test_a_token_that_is_right() -> None:
    assert read(token_of(CLAIMS, SIGNER)) == CLAIMS
    elliptic = EcSigner("two")
    assert read(token_of(CLAIMS, elliptic), SIGNER.jwk(), elliptic.jwk()) == CLAIMS
    # RFC 7515 §4: names in the header that mean nothing here are passed over.
    assert read(token_of(CLAIMS, SIGNER, x5t="abc", pi_version=7)) == CLAIMS


@pytest.mark.parametrize(
    "more",
    [
        {"aud": ["page"]}, {"aud": ["page", "other"], "azp": "page"}, {"azp": "page"}, {"exp": NOW - SKEW + 1},
        {"iat": NOW + SKEW}, {"iat": NOW - FRESH}, {"exp": NOW + 0.5}, {"nbf": NOW + SKEW},
    ],
)  # fmt: skip
def test_claims_that_are_right(more: dict[str, Any]) -> None:
    assert read(token_of({**CLAIMS, **more}, SIGNER))["sub"] == "248289761001"


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"iss": "https://idp.example/"}, "`iss`"), ({"iss": "https://evil.example"}, "`iss`"),
        ({"iss": None}, "`iss`"),
        ({"aud": "other"}, "`aud`"), ({"aud": []}, "`aud`"), ({"aud": {"page": 1}}, "`aud`"), ({"aud": None}, "`aud`"),
        ({"aud": ["page", "other"]}, "`azp`"), ({"aud": ["page", "other"], "azp": "other"}, "`azp`"),
        ({"azp": "other"}, "`azp`"), ({"azp": None}, "`azp`"),
        ({"exp": NOW - SKEW}, "`exp`"), ({"exp": None}, "`exp`"), ({"exp": "9999999999"}, "`exp`"),
        ({"exp": True}, "`exp`"), ({"exp": 1e300}, "`exp`"),
        ({"iat": NOW + SKEW + 1}, "`iat`"), ({"iat": None}, "`iat`"), ({"iat": NOW - FRESH - SKEW - 1}, "`iat`"),
        ({"nbf": NOW + SKEW + 1}, "`nbf`"),
        ({"nonce": "another"}, "`nonce`"), ({"nonce": None}, "`nonce`"), ({"nonce": ""}, "`nonce`"),
        ({"sub": ""}, "`sub`"), ({"sub": None}, "`sub`"), ({"sub": 7}, "`sub`"), ({"sub": "a" * 256}, "`sub`"),
        ({"sub": "a\nb"}, "`sub`"),
    ],
)  # fmt: skip
def test_claims_that_are_wrong(more: dict[str, Any], why: str) -> None:
    with pytest.raises(BadIdToken, match=why):
        read(token_of({**CLAIMS, **more}, SIGNER))
    left = {name: value for name, value in CLAIMS.items() if name not in more}
    if set(more) <= set(CLAIMS):
        with pytest.raises(BadIdToken):
            read(token_of(left, SIGNER))


def test_times_that_are_no_numbers() -> None:
    """JSON has no NaN, Python's has: whatever is compared with it is false."""
    signed = token_of({**CLAIMS, "exp": float("nan")}, SIGNER)
    with pytest.raises(BadIdToken, match="no JSON"):
        read(signed)


def test_a_signature_of_somebody_else() -> None:
    with pytest.raises(BadIdToken, match="signature"):
        read(token_of(CLAIMS, OTHER))
    head, _, mark = token_of(CLAIMS, SIGNER).split(".")
    with pytest.raises(BadIdToken, match="signature"):
        read(f"{head}.{coded(json.dumps({**CLAIMS, 'sub': 'root'}).encode())}.{mark}")
    with pytest.raises(BadIdToken, match="signature"):
        read(f"{head}.{coded(json.dumps(CLAIMS).encode())}.")


@pytest.mark.parametrize("name", ["none", "None", "nOnE", "HS256", "HS512", "", None, 7, ["RS256"], "RSA-OAEP"])
def test_algorithms_that_prove_nothing(name: Any) -> None:
    """RFC 8725 §3.1: `none`, and a shared secret that is the issuer's public key, in each form that it has."""
    head = coded(json.dumps({"alg": name, "kid": "one"}).encode())
    text = f"{head}.{coded(json.dumps(CLAIMS).encode())}"
    public = SIGNER._key.public_key()
    forms = [public.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo), json.dumps(SIGNER.jwk()).encode()]
    marks = ["", *(coded(hmac.digest(form, text.encode(), hashlib.sha256)) for form in forms)]
    for mark in marks:
        with pytest.raises(BadIdToken, match="its algorithm is none of"):
            read(f"{text}.{mark}")


def test_a_key_that_comes_with_the_token_is_not_taken() -> None:
    """RFC 8725 §3.10: `jwk`, `jku` and `x5u` of a header are whatever its writer wants."""
    with pytest.raises(BadIdToken, match="signature"):
        read(token_of(CLAIMS, OTHER, jwk=OTHER.jwk(), jku="https://evil.example/keys"))
    shared = {"kty": "oct", "k": coded(b"k" * 32), "kid": "one"}
    with pytest.raises(BadIdToken):
        read(token_of(CLAIMS, OTHER), shared)


def test_an_extension_that_must_be_understood() -> None:
    """RFC 7515 §4.1.11, RFC 7797 §7."""
    for more in ({"crit": ["exp"], "exp": 1}, {"crit": ["b64"], "b64": False}, {"crit": []}):
        with pytest.raises(BadIdToken, match="`crit`"):
            read(token_of(CLAIMS, SIGNER, **more))


def test_which_key_it_was() -> None:
    nameless = RsaSigner(None)
    assert read(token_of(CLAIMS, nameless), nameless.jwk()) == CLAIMS
    with pytest.raises(BadIdToken, match="which of several keys"):  # Core §10.1
        read(token_of(CLAIMS, nameless), nameless.jwk(), SIGNER.jwk())
    with pytest.raises(UnknownSigner):
        read(token_of(CLAIMS, RsaSigner("three")))
    for more in ({"use": "enc"}, {"alg": "RS512"}, {"kty": "EC"}):
        with pytest.raises(UnknownSigner):
            read(token_of(CLAIMS, SIGNER), {**SIGNER.jwk(), **more})
    for more in ({"n": "!"}, {"n": 7}, {"e": ""}, {"n": "AA" * 300}):
        with pytest.raises(BadIdToken):
            read(token_of(CLAIMS, SIGNER), {**SIGNER.jwk(), **more})
    odd = {"kty": "ML-DSA", "kid": "one", "pub": "x"}
    assert read(token_of(CLAIMS, SIGNER), odd, SIGNER.jwk()) == CLAIMS


def test_a_short_key_proves_nothing() -> None:
    """RFC 7518 §3.3 asks for 2,048 bits."""
    short = RsaSigner("one", 1024)
    with pytest.raises(BadIdToken, match="2048 bits"):
        read(token_of(CLAIMS, short), short.jwk())


@pytest.mark.parametrize(
    "token",
    ["", ".", "..", "a.b.c", "a.b.c.d.e", "é.b.c", "x" * 100_000, "bnVsbA.e30.AA", "W10.e30.AA", "eyJ9.e30.AA"],
)
def test_what_is_no_token(token: str) -> None:
    with pytest.raises(BadIdToken) as told:
        read(token)
    assert "x" * 100 not in str(told.value)


def test_claims_that_are_no_object() -> None:
    for claims in ([], "x", None, 7):
        with pytest.raises(BadIdToken, match="no object"):
            read(token_of(claims, SIGNER))  # type: ignore[arg-type]
