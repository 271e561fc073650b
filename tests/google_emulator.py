"""Google Cloud as far as the tools and the keychain speak to it: the JSON API of Storage, tokens of service accounts,
and Secret Manager. Each answer is as their references say; nothing is written to a disk.
"""

import json
from base64 import b64encode, urlsafe_b64decode
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from http.server import BaseHTTPRequestHandler
from typing import Any, ClassVar
from urllib.parse import parse_qs, unquote, urlsplit

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey, generate_private_key
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from noetl_ir.expr import Json
from tool_doubles import http_server

EMAIL = "robot@project.iam.gserviceaccount.com"
PAGE = 2  # objects on a page of a list


@cache
def key() -> RSAPrivateKey:
    """The key of the service account."""
    return generate_private_key(65537, 2048)


class Google(BaseHTTPRequestHandler):
    """One request. `tokens` are those it takes; empty for a storage that everybody may use."""

    objects: ClassVar[dict[tuple[str, str], tuple[str, bytes]]] = {}
    secrets: ClassVar[dict[str, bytes]] = {}
    tokens: ClassVar[set[str]] = set()
    asked: ClassVar[list[dict[str, Any]]] = []
    failing: ClassVar[list[int]] = []
    revoked: ClassVar[list[str]] = []

    def do_GET(self) -> None:
        """An object, a page of a list, or a version of a secret."""
        path, query = self._begin()
        if path.startswith("/v1/projects/"):
            return self._secret(path)
        bucket, _, name = path.removeprefix("/storage/v1/b/").partition("/o/")
        if name:
            kind, data = self.objects.get((bucket, unquote(name)), ("", b""))
            return self._say(200, data, kind) if kind else self._fail(404, f"No such object: {bucket}/{name}")
        prefix, start = query.get("prefix", ""), int(query.get("pageToken") or 0)
        known = [
            key for key in sorted(self.objects) if key[0] == bucket.removesuffix("/o") and key[1].startswith(prefix)
        ]
        page = {"kind": "storage#objects", "items": [self._row(*key) for key in known[start : start + PAGE]]}
        more = {"nextPageToken": str(start + PAGE)} if start + PAGE < len(known) else {}
        return self._json(200, {**page, **more})

    def do_POST(self) -> None:
        """An upload, or a token for an assertion."""
        path, query = self._begin()
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if path == "/token":
            return self._token({name: values[0] for name, values in parse_qs(body.decode()).items()})
        bucket = path.removeprefix("/upload/storage/v1/b/").removesuffix("/o")
        if not self._is_known():
            return self._fail(401, "Anonymous caller does not have storage.objects.create access")
        self.objects[bucket, query["name"]] = (self.headers["Content-Type"], body)
        return self._json(200, self._row(bucket, query["name"]))

    def do_DELETE(self) -> None:
        """A deletion."""
        path, _ = self._begin()
        bucket, _, name = path.removeprefix("/storage/v1/b/").partition("/o/")
        if self.objects.pop((bucket, unquote(name)), None) is None:
            return self._fail(404, f"No such object: {bucket}/{name}")
        return self._say(204, b"", "application/json")

    def _begin(self) -> tuple[str, dict[str, str]]:
        parts = urlsplit(self.path)
        self.asked.append({"path": parts.path, "authorization": self.headers.get("Authorization")})
        return parts.path, {name: values[0] for name, values in parse_qs(parts.query).items()}

    def _row(self, bucket: str, name: str) -> dict[str, Json]:
        kind, data = self.objects[bucket, name]
        updated = "2026-01-31T12:00:00.000Z"
        return {"bucket": bucket, "name": name, "size": str(len(data)), "contentType": kind, "updated": updated}

    def _token(self, form: dict[str, str]) -> None:
        """RFC 7523 for a service account; RFC 6749 §4.4 for a client `id` with the secret `s3cret-of-the-client`."""
        if form.get("grant_type") == "client_credentials":
            basic = "Basic " + b64encode(b"id:s3cret-of-the-client").decode()
            by_form = (form.get("client_id"), form.get("client_secret")) == ("id", "s3cret-of-the-client")
            if not by_form and self.headers.get("Authorization") != basic:
                return self._json(401, {"error": "invalid_client"})
            again: dict[str, Json] = {"refresh_token": "refresh-secret-1"} if form.get("scope") == "offline" else {}
            return self._issue({"access_token": f"client-token-{len(self.tokens)}", **again})
        if form.get("grant_type") == "refresh_token":
            if form["refresh_token"] != "refresh-secret-1" or self.revoked:
                return self._json(400, {"error": "invalid_grant"})
            return self._issue({"access_token": f"refreshed-token-{len(self.tokens)}"})
        header, claims, signature = form["assertion"].split(".")
        try:
            key().public_key().verify(_decoded(signature), f"{header}.{claims}".encode(), PKCS1v15(), SHA256())
        except InvalidSignature:
            return self._json(400, {"error": "invalid_grant", "error_description": "Invalid JWT Signature."})
        said = json.loads(_decoded(claims))
        assert said["iss"] == EMAIL and said["exp"] - said["iat"] == 3600 and said["aud"].endswith("/token")
        if "target_audience" in said:
            return self._issue({"id_token": f"identity-for-{said['target_audience']}-{len(self.tokens)}"})
        return self._issue({"access_token": f"storage-token-{len(self.tokens)}", "scope": said["scope"]})

    def _issue(self, body: dict[str, Json]) -> None:
        self.tokens.add(str(body.get("access_token") or body.get("id_token")))
        self._json(200, {**body, "expires_in": 3600, "token_type": "Bearer"})

    def _secret(self, path: str) -> None:
        if not self._is_known():
            return self._fail(403, "Permission denied on resource")
        found = self.secrets.get(path.removeprefix("/v1/").removesuffix(":access"))
        if found is None:
            return self._fail(404, "Secret not found")
        return self._json(200, {"name": path, "payload": {"data": b64encode(found).decode()}})

    def _is_known(self) -> bool:
        return not self.tokens or self.headers.get("Authorization", "").removeprefix("Bearer ") in self.tokens

    def _fail(self, status: int, message: str) -> None:
        self._json(status, {"error": {"code": status, "message": message}})

    def _json(self, status: int, body: dict[str, Any]) -> None:
        self._say(status, json.dumps(body).encode(), "application/json; charset=UTF-8")

    def _say(self, status: int, data: bytes, kind: str) -> None:
        self.send_response(self.failing.pop() if self.failing else status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: object) -> None:
        """Nothing."""


@contextmanager
def google() -> Iterator[str]:
    """The address of an emulator with nothing in it."""
    for kept in (Google.objects, Google.secrets, Google.tokens, Google.asked, Google.failing, Google.revoked):
        kept.clear()
    with http_server(Google) as url:
        yield url


def account(url: str) -> dict[str, Json]:
    """The key file of the service account."""
    pem = key().private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
    return {"type": "service_account", "client_email": EMAIL, "private_key": pem, "token_uri": f"{url}/token"}


def _decoded(text: str) -> bytes:
    return urlsafe_b64decode(text + "=" * (-len(text) % 4))
