"""Signatures of webhooks: whether a request was sent by who shares a secret, and when.

What is signed are the bytes of the body, with the time before them where the form has one. Of a form without a time a
request can be sent again by whoever has seen it; its key then says that it is the same.
"""

import base64
import binascii
import hashlib
import hmac
from collections.abc import Iterator, Mapping

from noetl_ir.records import NamedTuple

SECOND = 1_000_000


class SignatureForm(NamedTuple):
    """A way to sign. `header` is where the signature is unless a document names another one, `key_header` where the
    key of the request is, empty for nowhere; `has_time`: a time is signed along.
    """

    header: str
    key_header: str = ""
    has_time: bool = False
    takes_header: bool = False
    takes_stamp: bool = False


FORMS: Mapping[str, SignatureForm] = {
    "hmac": SignatureForm("x-signature", "idempotency-key", takes_header=True, takes_stamp=True),
    "github": SignatureForm("x-hub-signature-256", "x-github-delivery"),
    "stripe": SignatureForm("stripe-signature", has_time=True),
    "standard": SignatureForm("webhook-signature", "webhook-id", has_time=True),
    "token": SignatureForm("x-gitlab-token", "idempotency-key", takes_header=True),
}
"""The forms by their names: HMAC-SHA256 of the body, of `TIME.BODY` where there is a time; GitHub's and Stripe's;
that of standardwebhooks.com; and a secret that is sent as it is, as GitLab does."""


class Signature(NamedTuple):
    """How the requests to a webhook are signed. `tolerance`: how many microseconds a signed time may be off."""

    form: str
    header: str
    stamp_header: str
    tolerance: int

    @property
    def key_header(self) -> str:
        """The header with the key of a request, empty where the form has none."""
        return FORMS[self.form].key_header

    def stamp_of(self, headers: Mapping[str, str]) -> str:
        """The time that is signed along, as it was sent; empty where none is."""
        if self.form == "stripe":
            return _parts_of(headers.get(self.header, ""))[0]
        return headers.get("webhook-timestamp" if self.form == "standard" else self.stamp_header, "")

    def is_good(self, headers: Mapping[str, str], body: bytes, secret: str, now: int) -> bool:
        """Whether a request is signed by the secret, and not too long ago. Names of headers are in small letters."""
        said = headers.get(self.header, "")
        match self.form:
            case "github":
                return _is_hex_of(said, _hex(secret, body), "sha256=")
            case "stripe":
                stamp, tokens = _parts_of(said)
                return self._is_near(stamp, now) and _any_of(tokens, _hex(secret, stamp.encode() + b"." + body))
            case "standard":
                name, stamp = headers.get("webhook-id", ""), headers.get("webhook-timestamp", "")
                wanted = base64.b64encode(_digest(_standard_key(secret), f"{name}.{stamp}.".encode() + body)).decode()
                tokens = [token.removeprefix("v1,") for token in said.split() if token.startswith("v1,")]
                return self._is_near(stamp, now) and _any_of(tokens, wanted)
            case "token":
                return hmac.compare_digest(said.encode(), secret.encode())
        if not self.stamp_header:
            return _is_hex_of(said, _hex(secret, body), "sha256=")
        stamp = headers.get(self.stamp_header, "")
        return self._is_near(stamp, now) and _is_hex_of(said, _hex(secret, stamp.encode() + b"." + body), "sha256=")

    def _is_near(self, stamp: str, now: int) -> bool:
        """Whether seconds since the epoch are about now."""
        if not (stamp.isascii() and stamp.isdecimal() and len(stamp) <= 12):
            return False
        return abs(now - int(stamp) * SECOND) <= self.tolerance


def _digest(key: bytes, data: bytes) -> bytes:
    return hmac.new(key, data, hashlib.sha256).digest()


def _hex(secret: str, data: bytes) -> str:
    return _digest(secret.encode(), data).hex()


def _is_hex_of(said: str, wanted: str, prefix: str) -> bool:
    return hmac.compare_digest(said.removeprefix(prefix).lower().encode(), wanted.encode())


def _any_of(said: list[str], wanted: str) -> bool:
    # All are looked at: how long it takes says nothing of which one fits.
    return sum([hmac.compare_digest(one.encode(), wanted.encode()) for one in said]) > 0


def _parts_of(said: str) -> tuple[str, list[str]]:
    """The time and the signatures in `t=1,v1=a,v1=b`."""
    pairs = [*_pairs(said)]
    return next((value for name, value in pairs if name == "t"), ""), [value for name, value in pairs if name == "v1"]


def _pairs(said: str) -> Iterator[tuple[str, str]]:
    for part in said.split(","):
        name, _, value = part.strip().partition("=")
        yield name, value


def _standard_key(secret: str) -> bytes:
    """The key behind `whsec_`, which is base64; another secret is the key itself."""
    if secret.startswith("whsec_"):
        try:
            return base64.b64decode(secret.removeprefix("whsec_"), validate=True)
        except (binascii.Error, ValueError):
            return secret.encode()
    return secret.encode()
