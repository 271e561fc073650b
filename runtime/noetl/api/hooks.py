"""Webhooks: requests from elsewhere that start a playbook, signed by who shares a secret."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Mapping
from hashlib import sha256
from urllib.parse import parse_qsl

from noetl.app.named_credentials import secret_of
from noetl.clients.content import json_of
from noetl.secrets.credentials import CredentialProblem
from noetl.server.triggers.document import Webhook
from noetl.server.triggers.mapping import NotMapped
from noetl.server.triggers.starter import Happening, KnownTrigger, key_of
from noetl_ir import codec
from noetl_ir.correlation import HALF, is_storable
from noetl_ir.expr import Json

_PRIVATE = frozenset({"authorization", "cookie", "proxy-authorization"})
"""Headers that no expression sees: what they hold would end up in a log."""

_LONGEST = 1_000
"""Fields of a form, and characters of a key that an execution shows; a start has the whole key, or its hash."""


_LOOK = 5.0
"""Seconds for which what was found of all secrets is good."""


class BadBody(ValueError):
    """A body that no expression can read; the text says why."""


class HookRequest:
    """A request to a webhook, as expressions see it."""

    def __init__(self, headers: Mapping[str, str], query: Mapping[str, str], data: bytes) -> None:
        self.headers = headers
        self.query = query
        self.data = data

    def is_signed(self, webhook: Webhook, secret: str, now: int) -> bool:
        """Whether who shares the secret has sent it, not too long ago."""
        return bool(secret) and webhook.signature.is_good(self.headers, self.data, secret, now)

    def happening(self, known: KnownTrigger, webhook: Webhook) -> Happening:
        """The request as something that happened. Raises BadBody, NotMapped."""
        hidden = _PRIVATE | {webhook.signature.header}
        headers: dict[str, Json] = {name: text for name, text in self.headers.items() if name not in hidden}
        scope: dict[str, Json] = {"body": self._body(), "headers": headers, "query": {**self.query}}
        key = self._key(known, webhook, scope)
        if not is_storable(key):
            raise NotMapped(f"the key of the request {HALF}")
        started_by: dict[str, Json] = {"request": key[:_LONGEST]} if key else {}
        if not key:
            # Nothing tells two requests apart but what is signed: the same once more is a repeat.
            stamp = webhook.signature.stamp_of(self.headers).encode()
            key = sha256(stamp + b"." + self.data).hexdigest()
        return Happening(key_of(known.row.name, f"request {key}"), scope, started_by, scope)

    def _key(self, known: KnownTrigger, webhook: Webhook, scope: Mapping[str, Json]) -> str:
        """The key that tells it from others, by the document or by the form of its signature; empty for nothing."""
        if webhook.has_key:
            return known.mapping.key({**scope, "trigger": known.row.name})
        body, header = scope["body"], webhook.signature.key_header
        if header:
            return self.headers.get(header, "")
        found = body.get("id") if isinstance(body, dict) and webhook.signature.form == "stripe" else None
        return found if isinstance(found, str) else ""

    def _body(self) -> Json:
        kind = self.headers.get("content-type", "").partition(";")[0].strip().lower()
        try:
            if kind == "application/x-www-form-urlencoded":
                return dict(parse_qsl(self.data.decode(), keep_blank_values=True, max_num_fields=_LONGEST))
            if kind == "application/json" or kind.endswith("+json"):
                value = json_of(self.data)
                codec.check(value)
                return value
            return self.data.decode()
        except (ValueError, codec.CodecError) as problem:
            raise BadBody(f"the body is no {kind or 'text'}: {problem}") from None


class HookSecrets:
    """The secrets of webhooks, from the credentials beside the store at `path`."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._looked = -math.inf
        self._lacking = False

    def secret_of(self, webhook: Webhook) -> str:
        """The secret of a webhook. Raises CredentialProblem."""
        try:
            return self._read(webhook)
        except CredentialProblem:
            self._looked, self._lacking = time.monotonic(), True
            raise

    def are_lacking(self, webhooks: Callable[[], Iterable[Webhook]]) -> bool:
        """Whether the secret of any of them cannot be had. Whoever signs nothing may ask as often as they like, so they
        are looked at once in a while.
        """
        if time.monotonic() - self._looked >= _LOOK:
            self._lacking = not all(map(self._can_read, webhooks()))
            self._looked = time.monotonic()
        return self._lacking

    def _can_read(self, webhook: Webhook) -> bool:
        try:
            return bool(self._read(webhook))
        except CredentialProblem:
            return False

    def _read(self, webhook: Webhook) -> str:
        return secret_of(self._path, webhook)
