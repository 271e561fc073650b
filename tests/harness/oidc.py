"""A provider of OpenID Connect on this machine, which signs in whomever a test says, and errs as it says.

It shares no code with what is tested: its signatures are made with `cryptography` alone, by RFC 7515 and RFC 7518.
"""

import contextlib
import hashlib
import json
import secrets
import threading
import time
from base64 import b64decode, urlsafe_b64encode
from collections.abc import Callable, Iterator
from html import escape
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple
from urllib.parse import parse_qs, unquote_plus, urlencode, urlsplit

from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from cryptography.hazmat.primitives.hashes import SHA256

CLIENT, SECRET = "noetl page", "a secret: with +signs/"


def coded(data: bytes) -> str:
    """Base64url without padding (RFC 7515 §2)."""
    return urlsafe_b64encode(data).rstrip(b"=").decode()


def _number(value: int) -> str:
    return coded(value.to_bytes((value.bit_length() + 7) // 8, "big"))


class RsaSigner:
    """A key for RS256."""

    algorithm = "RS256"

    def __init__(self, kid: str | None, bits: int = 2048) -> None:
        self.kid = kid
        self._key = rsa.generate_private_key(65537, bits)

    def jwk(self) -> dict[str, Any]:
        """The public key (RFC 7518 §6.3)."""
        numbers = self._key.public_key().public_numbers()
        kid = {} if self.kid is None else {"kid": self.kid}
        return {"kty": "RSA", "use": "sig", "n": _number(numbers.n), "e": _number(numbers.e), **kid}

    def sign(self, data: bytes) -> bytes:
        """The signature (RFC 7518 §3.3)."""
        return self._key.sign(data, padding.PKCS1v15(), SHA256())


class EcSigner:
    """A key for ES256."""

    algorithm = "ES256"

    def __init__(self, kid: str | None) -> None:
        self.kid = kid
        self._key = ec.generate_private_key(ec.SECP256R1())

    def jwk(self) -> dict[str, Any]:
        """The public key (RFC 7518 §6.2)."""
        numbers = self._key.public_key().public_numbers()
        x, y = (coded(each.to_bytes(32, "big")) for each in (numbers.x, numbers.y))
        return {"kty": "EC", "crv": "P-256", "x": x, "y": y, "kid": self.kid}

    def sign(self, data: bytes) -> bytes:
        """The signature (RFC 7518 §3.4)."""
        return b"".join(
            each.to_bytes(32, "big") for each in decode_dss_signature(self._key.sign(data, ec.ECDSA(SHA256())))
        )


Signer = RsaSigner | EcSigner


def token_of(claims: dict[str, Any], signer: Signer, **header: Any) -> str:
    """A signed token (RFC 7515 §7.1)."""
    head = {"alg": signer.algorithm, "typ": "JWT", **({"kid": signer.kid} if signer.kid else {}), **header}
    text = ".".join(coded(json.dumps(part).encode()) for part in (head, claims))
    return f"{text}.{coded(signer.sign(text.encode()))}"


class Reply(NamedTuple):
    """A response in the place of the right one."""

    status: int
    body: bytes = b"{}"
    headers: tuple[tuple[str, str], ...] = (("Content-Type", "application/json"),)


class _Grant(NamedTuple):
    query: dict[str, str]
    claims: dict[str, Any]


class Provider:
    """The provider. `person` are the claims of who signs in next; `asks` has the paths that were asked for."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.signer: Signer = RsaSigner("one")
        self.keys = [self.signer.jwk()]
        self.person: dict[str, Any] = {"sub": "248289761001", "email": "ann@example.org", "email_verified": True}
        self.metadata: dict[str, Any] = {
            "issuer": url, "authorization_endpoint": f"{url}/authorize?tenant=1", "token_endpoint": f"{url}/token",
            "jwks_uri": f"{url}/keys", "end_session_endpoint": f"{url}/leave", "response_types_supported": ["code"],
            "id_token_signing_alg_values_supported": ["RS256"], "authorization_response_iss_parameter_supported": True,
        }  # fmt: skip
        self.made: Callable[[dict[str, Any]], str] = lambda claims: token_of(claims, self.signer)
        self.instead: dict[str, Reply | Callable[[], Reply]] = {}
        self.denied = ""
        self.asks_first = False
        self.asks: list[str] = []
        self.queries: list[dict[str, str]] = []
        self.forms: list[dict[str, str]] = []
        self.left: list[dict[str, str]] = []
        self._grants: dict[str, _Grant] = {}

    def respond(self, method: str, target: str, body: bytes, authorization: str) -> Reply:
        """The response to a request."""
        path, query = urlsplit(target).path, _flat(urlsplit(target).query)
        self.asks.append(path)
        if (other := self.instead.get(path)) is not None:
            return other if isinstance(other, Reply) else other()
        match method, path:
            case "GET", "/.well-known/openid-configuration":
                return Reply(200, json.dumps(self.metadata).encode())
            case "GET", "/keys":
                return Reply(200, json.dumps({"keys": self.keys}).encode())
            case "GET", "/authorize":
                return self._authorize(query)
            case "POST", "/token":
                return self._redeem(_flat(body.decode()), authorization)
            case "GET", "/leave":
                self.left.append(query)
                return _sent_to(query["post_logout_redirect_uri"])
        return Reply(404)

    def _authorize(self, query: dict[str, str]) -> Reply:
        if self.asks_first and not query.pop("agreed", ""):
            again = escape(f"/authorize?{urlencode({**query, 'agreed': 'yes'})}")
            page = f'<!doctype html><title>Provider</title><h1>Who are you?</h1><a href="{again}">I am Ann</a>'
            return Reply(200, page.encode(), (("Content-Type", "text/html"),))
        self.queries.append(query)
        assert (query["response_type"], query["client_id"], query["tenant"]) == ("code", CLIENT, "1")
        assert query["code_challenge_method"] == "S256" and len(query["code_challenge"]) == 43
        if self.denied:
            return _back(query, {"error": self.denied, "iss": self.url})
        code = secrets.token_urlsafe(16)
        now = int(time.time())
        standard = {"iss": self.url, "aud": CLIENT, "iat": now, "exp": now + 300, "nonce": query["nonce"]}
        self._grants[code] = _Grant(query, {**standard, **self.person})
        return _back(query, {"code": code, "iss": self.url})

    def _redeem(self, form: dict[str, str], authorization: str) -> Reply:
        self.forms.append(form)
        # RFC 6749 §2.3.1 and appendix B: both are encoded as in forms before they are put together.
        name, _, word = b64decode(authorization.removeprefix("Basic ")).decode().partition(":")
        if (unquote_plus(name), unquote_plus(word)) != (CLIENT, SECRET):
            sent = form.get("client_id"), form.get("client_secret")
            methods = self.metadata.get("token_endpoint_auth_methods_supported", [])
            may = {(CLIENT, SECRET): "client_secret_post", (CLIENT, None): "none"}
            if may.get(sent) not in methods:
                return Reply(401, b'{"error": "invalid_client"}')
        grant = self._grants.pop(form["code"], None)  # once (RFC 6749 §4.1.2)
        if grant is None or form["redirect_uri"] != grant.query["redirect_uri"]:
            return Reply(400, b'{"error": "invalid_grant", "error_description": "the code is used or not yours"}')
        if coded(hashlib.sha256(form["code_verifier"].encode()).digest()) != grant.query["code_challenge"]:
            return Reply(400, b'{"error": "invalid_grant"}')  # RFC 7636 §4.6
        token = self.made(grant.claims)
        return Reply(200, json.dumps({"access_token": "x", "token_type": "Bearer", "id_token": token}).encode())


def _flat(query: str) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(query, keep_blank_values=True).items()}


def _back(query: dict[str, str], more: dict[str, str]) -> Reply:
    # What a client does not know it passes over (RFC 6749 §4.1.2); Keycloak sends this.
    more = {**more, "state": query["state"], "session_state": "d5c2"}
    return _sent_to(f"{query['redirect_uri']}?{urlencode(more)}")


def _sent_to(url: str) -> Reply:
    return Reply(302, b"", (("Location", url),))


@contextlib.contextmanager
def providing(host: str = "127.0.0.1") -> Iterator[Provider]:
    """A provider that listens until the block ends."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._respond()

        def do_POST(self) -> None:
            self._respond()

        def _respond(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            reply = provider.respond(self.command, self.path, body, self.headers.get("Authorization", ""))
            with contextlib.suppress(OSError):  # who asked may have gone
                self.send_response(reply.status)
                for name, value in reply.headers:
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(reply.body)))
                self.end_headers()
                self.wfile.write(reply.body)

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    provider = Provider(f"http://{host}:{server.server_address[1]}")
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield provider
    finally:
        server.shutdown()
        server.server_close()
        thread.join(60)
