"""Signatures of webhooks, against the examples of those who sign so."""

import pytest

from noetl.server.triggers.signatures import Signature

SECOND, MINUTE = 1_000_000, 60_000_000

# https://docs.github.com/en/webhooks/using-webhooks/validating-webhook-deliveries
GITHUB = Signature("github", "x-hub-signature-256", "", 0)
GITHUB_SECRET = "It's a Secret to Everybody"
GITHUB_SAID = "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"

# https://github.com/standard-webhooks/standard-webhooks, the example of the libraries
STANDARD = Signature("standard", "webhook-signature", "", 5 * MINUTE)
STANDARD_SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
STANDARD_BODY = b'{"test": 2432232314}'
STANDARD_AT = 1_614_265_330
STANDARD_HEADERS = {
    "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
    "webhook-timestamp": str(STANDARD_AT),
    "webhook-signature": "v1,aaaa v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
}

# printf '1492774577.{"a":1}' | openssl dgst -sha256 -hmac whsec_test
STRIPE = Signature("stripe", "stripe-signature", "", 5 * MINUTE)
STRIPE_AT = 1_492_774_577
STRIPE_SAID = "2a55874e33dedb30da6fac02873208f53a243141599a71c0d52a1d5b89656823"


def test_github() -> None:
    headers = {"x-hub-signature-256": GITHUB_SAID}
    assert GITHUB.is_good(headers, b"Hello, World!", GITHUB_SECRET, 0)
    assert not GITHUB.is_good(headers, b"Hello, World?", GITHUB_SECRET, 0)
    assert not GITHUB.is_good(headers, b"Hello, World!", "another", 0)
    for said in ("", "sha256=", "sha1=757107ea", "é", GITHUB_SAID[:-1]):
        assert not GITHUB.is_good({"x-hub-signature-256": said}, b"Hello, World!", GITHUB_SECRET, 0)
    assert not GITHUB.is_good({}, b"Hello, World!", GITHUB_SECRET, 0)


def test_standard_webhooks() -> None:
    now = STANDARD_AT * SECOND
    assert STANDARD.is_good(STANDARD_HEADERS, STANDARD_BODY, STANDARD_SECRET, now + 5 * MINUTE)
    assert STANDARD.is_good(STANDARD_HEADERS, STANDARD_BODY, STANDARD_SECRET, now - 5 * MINUTE)
    assert not STANDARD.is_good(STANDARD_HEADERS, STANDARD_BODY, STANDARD_SECRET, now + 5 * MINUTE + 1)
    assert not STANDARD.is_good({**STANDARD_HEADERS, "webhook-id": "x"}, STANDARD_BODY, STANDARD_SECRET, now)
    later = {**STANDARD_HEADERS, "webhook-timestamp": str(STANDARD_AT + 1)}
    assert not STANDARD.is_good(later, STANDARD_BODY, STANDARD_SECRET, now)
    assert STANDARD.stamp_of(STANDARD_HEADERS) == str(STANDARD_AT)


@pytest.mark.parametrize("stamp", ["", "x", "-5", "1e9", "9" * 400, "١٤٩٢٧٧٤٥٧٧"])
def test_times_that_are_none_are_refused(stamp: str) -> None:
    assert not STANDARD.is_good({**STANDARD_HEADERS, "webhook-timestamp": stamp}, b"", STANDARD_SECRET, 0)
    assert not STRIPE.is_good({"stripe-signature": f"t={stamp},v1={STRIPE_SAID}"}, b"", "whsec_test", 0)


def test_stripe() -> None:
    now, body = STRIPE_AT * SECOND, b'{"a":1}'
    said = f"t={STRIPE_AT},v1=00,v1={STRIPE_SAID},v0=11"
    assert STRIPE.is_good({"stripe-signature": said}, body, "whsec_test", now)
    assert not STRIPE.is_good({"stripe-signature": said}, body, "whsec_test", now + 6 * MINUTE)
    assert not STRIPE.is_good({"stripe-signature": f"t={STRIPE_AT},v0={STRIPE_SAID}"}, body, "whsec_test", now)
    assert not STRIPE.is_good({"stripe-signature": said}, b"{}", "whsec_test", now)


def test_a_token_is_compared_whole() -> None:
    token = Signature("token", "x-gitlab-token", "", 0)
    assert token.is_good({"x-gitlab-token": "s3cret"}, b"", "s3cret", 0)
    assert not token.is_good({"x-gitlab-token": "s3cre"}, b"", "s3cret", 0)
    assert not token.is_good({}, b"", "s3cret", 0)


def test_own_headers() -> None:
    # printf '1492774577.{"a":1}' | openssl dgst -sha256 -hmac whsec_test
    own = Signature("hmac", "x-sign", "x-time", MINUTE)
    headers = {"x-sign": STRIPE_SAID.upper(), "x-time": str(STRIPE_AT)}
    assert own.is_good(headers, b'{"a":1}', "whsec_test", STRIPE_AT * SECOND)
    assert not own.is_good(headers, b'{"a":1}', "whsec_test", (STRIPE_AT + 61) * SECOND)
    bare = Signature("hmac", "x-sign", "", 0)
    assert bare.is_good({"x-sign": GITHUB_SAID}, b"Hello, World!", GITHUB_SECRET, 0)
