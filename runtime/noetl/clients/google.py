"""Service accounts of Google Cloud: the signed assertion that a token is given for (RFC 7523).

Nothing is sent here. Two kinds of token are given: an access token for scopes, and an identity token for an audience.
"""

import json
from base64 import urlsafe_b64encode
from collections.abc import Mapping
from urllib.parse import urlencode

from noetl.clients.content import json_of
from noetl.clients.http import HttpRequest
from noetl_ir.expr import Json
from noetl_ir.records import NamedTuple

TOKEN_URL = "https://oauth2.googleapis.com/token"
GRANT = "urn:ietf:params:oauth:grant-type:jwt-bearer"
LIFETIME = 3600
EXTRA = "a service account needs the extra: pip install 'noetlc[gcs]'"


class UnusableAccount(Exception):
    """A service account that nothing can be signed with; the text says why and holds no secret."""


class Account(NamedTuple):
    """A service account as its key file describes it."""

    email: str
    key: str
    token_url: str


def account_of(fields: Mapping[str, Json]) -> Account | None:
    """The account that a credential is or holds as JSON text; None where it holds none."""
    for name in ("service_account", "service_account_json", "credentials_json", "value", "data"):
        value = fields.get(name)
        # Most fields are no JSON: the word is looked for before anything is parsed.
        if isinstance(value, str) and "private_key" in value:
            try:
                value = json_of(value.encode("utf-8", "surrogatepass"))
            except ValueError:
                continue
        if isinstance(value, dict) and (found := account_of(value)) is not None:
            return found
    email, key = fields.get("client_email"), fields.get("private_key")
    if not isinstance(email, str) or not isinstance(key, str):
        return None
    return Account(email, key, str(fields.get("token_uri") or TOKEN_URL))


def token_request(account: Account, claims: Mapping[str, str], now: int) -> HttpRequest:
    """The request for a token: `claims` are {scope} or {target_audience}, `now` in seconds. Raises Unusable."""
    said = {**claims, "iss": account.email, "sub": account.email, "aud": account.token_url}
    signed = f"{_part({'alg': 'RS256', 'typ': 'JWT'})}.{_part({**said, 'iat': now, 'exp': now + LIFETIME})}"
    form = urlencode({"grant_type": GRANT, "assertion": f"{signed}.{_encoded(_signature(account.key, signed))}"})
    headers = {"Content-Type": "application/x-www-form-urlencoded", "Accept": "application/json"}
    return HttpRequest("POST", account.token_url, headers, content=form.encode("ascii"))


def _signature(key: str, text: str) -> bytes:
    try:
        from cryptography.exceptions import UnsupportedAlgorithm
        from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
        from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
        from cryptography.hazmat.primitives.hashes import SHA256
        from cryptography.hazmat.primitives.serialization import load_pem_private_key
    except ImportError:
        raise UnusableAccount(EXTRA) from None
    try:
        private = load_pem_private_key(key.encode("ascii"), None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        raise UnusableAccount("the private_key of the service account is no key in PEM") from None
    # The signature is RS256. A key of another kind has a `sign` with other arguments, and would fail with a
    # TypeError.
    if not isinstance(private, RSAPrivateKey):
        raise UnusableAccount("the private_key of the service account is no RSA key")
    return private.sign(text.encode("ascii"), PKCS1v15(), SHA256())


def _part(value: Mapping[str, str | int]) -> str:
    return _encoded(json.dumps(value, separators=(",", ":")).encode("ascii"))


def _encoded(data: bytes) -> str:
    return urlsafe_b64encode(data).rstrip(b"=").decode("ascii")
