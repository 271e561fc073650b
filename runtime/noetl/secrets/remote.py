"""Keychain entries whose values are asked for over the network: tokens, and secrets kept elsewhere.

    oauth2           `token_url`, `client_id`, and the secret: `client_secret_env`, or all of them in the stored
                     `credential`; `scopes`, `audience`; `client_auth: basic` for a server that wants it so
    google_id_token  `audience`, and the service account: a stored `credential`, or `file`, a key file
    secret_manager   `provider` google: `project`, `version`, and a service account as above; nats: `bucket`, and `url`
                     or a stored `credential`; it is `secret` (else the entry's name), or `map` of field to secret

What is fetched is kept as long as it holds: a token until shortly before it ends, a secret for a minute. Every
request stays inside the fence. No text that a server sent is in a message, but for the error words of RFC 6749.
"""

import hashlib
import json
import re
import threading
import time
from base64 import b64decode
from collections.abc import Callable, Mapping
from functools import cache
from typing import TypeAlias
from urllib.parse import quote, urlencode

from noetl.clients.content import json_of
from noetl.clients.google import UnusableAccount, account_of, token_request
from noetl.clients.http import HttpRequest, HttpResponse, RequestLimits, exchange_now, is_there, waited
from noetl.ports import Fence
from noetl_ir.expr import Json
from noetl_ir.outcome import Outcome
from noetl_ir.records import NamedTuple
from noetl_ir.responses import shown_url

SECONDS = 10.0
RESPONSE_BYTES = 1 << 20
LEEWAY = 60.0  # seconds before its end in which a token is not used any more
KEPT = 60.0
MOST_KEPT = 1000  # values before those that are over are dropped
SECRETS_URL = "https://secretmanager.googleapis.com"
SCOPE = "https://www.googleapis.com/auth/cloud-platform"

_WORD = re.compile(r"[a-z_]{1,40}")


class NotFetched(Exception):
    """A value that is not to be had now; the text says why and holds no secret."""


class TokenEntry(NamedTuple):
    """An entry to be fetched: its name, its fields, and those of the credential that it names."""

    name: str
    fields: Mapping[str, Json]
    credential: Mapping[str, Json]

    @property
    def key(self) -> bytes:
        """The key of an entry in the cache of the process: a kept value is given only to an entry with the very same
        fields and the same credential.
        """
        # By the whole content, secrets too, since the cache is for all executions of the process: who lacks the
        # secret has another key, and not the token.
        said = json.dumps([self.name, dict(self.fields), dict(self.credential)], sort_keys=True)
        return hashlib.sha256(said.encode("ascii")).digest()

    def text(self, *names: str) -> str | None:
        """The first of some fields that is given, by the entry itself or by its credential."""
        places = (self.fields, self.credential)
        values = [where[name] for where in places for name in names if where.get(name) is not None]
        return str(values[0]) if values else None


@cache
def fetcher_of(fence: Fence | None) -> "Fetcher":
    """The one of this process behind a fence, so that executions share what is kept."""
    return Fetcher(fence)


class Fetcher:
    """Fetches values and keeps them while they hold; from any thread. `now` is a monotonic clock."""

    def __init__(self, fence: Fence | None = None, now: Callable[[], float] = time.monotonic) -> None:
        self._fence = fence
        self._now = now
        self._kept: dict[bytes, tuple[float, dict[str, Json]]] = {}
        self._refresh: dict[bytes, str] = {}
        self._lock = threading.Lock()

    def kept_value(self, asked: TokenEntry, fetch: "TokenFetch") -> dict[str, Json] | None:
        """The fields of an entry that `fetch` gave before, while they hold."""
        # Read without the lock: the table is replaced as a whole or set by one key, and a value that is just missed
        # is fetched again.
        kept = self._kept.get(_key_of(asked, fetch))
        return dict(kept[1]) if kept is not None and kept[0] > self._now() else None

    def fetched(self, asked: TokenEntry, fetch: "TokenFetch") -> dict[str, Json]:
        """The fields of an entry, from where they are; they are kept for the seconds that `fetch` says. Raises
        NotFetched.
        """
        seconds, fields = fetch(self, asked)
        now = self._now()
        with self._lock:
            # Looked through only when it is full, so that a fetch costs the same however many are kept.
            if len(self._kept) >= MOST_KEPT:
                self._kept = {one: value for one, value in self._kept.items() if value[0] > now}
            self._kept[_key_of(asked, fetch)] = (now + seconds, fields)
        return dict(fields)

    def oauth2(self, asked: TokenEntry) -> tuple[float, dict[str, Json]]:
        """A token by client credentials (RFC 6749 §4.4), by a refresh token where there is one (§6)."""
        form = {"scope": _scopes(asked), "audience": asked.text("audience")}
        refresh = self._refresh.get(asked.key) or asked.text("refresh_token")
        if refresh is not None:
            try:
                return self._granted(asked, {"grant_type": "refresh_token", "refresh_token": refresh, **form})
            except NotFetched:
                # A refresh token that the server gave may have ended; the one that the author wrote is tried once
                # more, by the next call.
                if self._refresh.pop(asked.key, None) is None:
                    raise
        return self._granted(asked, {"grant_type": "client_credentials", **form})

    def google_id_token(self, asked: TokenEntry) -> tuple[float, dict[str, Json]]:
        """An identity token of a service account for an audience."""
        audience = asked.text("audience", "target_audience")
        if audience is None:
            raise NotFetched("audience is missing")
        found = self._google(asked, {"target_audience": audience})
        token = _secret(found, "id_token")
        return 3600 - LEEWAY, {"token": token, "id_token": token}

    def google_secrets(self, asked: TokenEntry) -> tuple[float, dict[str, Json]]:
        """Secrets of Google Secret Manager."""
        token = _secret(self._google(asked, {"scope": SCOPE}), "access_token")
        endpoint = (asked.text("endpoint") or SECRETS_URL).rstrip("/")
        found: dict[str, Json] = {}
        for field, secret in named_secrets(asked).items():
            name = secret
            if not name.startswith("projects/"):
                project = asked.text("project", "project_id")
                if project is None:
                    raise NotFetched("project is missing")
                name = f"projects/{project}/secrets/{secret}"
            if "/versions/" not in name:
                name = f"{name}/versions/{asked.text('version') or 'latest'}"
            url = f"{endpoint}/v1/{quote(name, safe='/')}:access"
            payload = self._json(HttpRequest("GET", url, {"Authorization": f"Bearer {token}"}), name).get("payload")
            data = payload.get("data") if isinstance(payload, dict) else None
            try:
                found[field] = b64decode(str(data), validate=True).decode("utf-8")
            except ValueError:
                raise NotFetched(f"{name} is no text") from None
        return KEPT, found

    def nats_secrets(self, asked: TokenEntry) -> tuple[float, dict[str, Json]]:
        """Values of a NATS key-value bucket."""
        import asyncio

        from noetl.clients import nats
        from noetl.clients.egress import NotAllowed

        bucket = asked.text("bucket")
        if bucket is None:
            raise NotFetched("bucket is missing")
        if not nats.is_there():
            raise NotFetched(f"secrets in NATS: {nats.EXTRA}")
        try:
            target = nats.target_of(asked.fields.get("url"), asked.credential)
            secrets = named_secrets(asked)
            kept = nats.kept_values(target, self._fence, bucket, tuple(secrets.values()))
            values = waited(lambda: asyncio.wait_for(kept, SECONDS))
            return KEPT, {field: values[secret].decode("utf-8") for field, secret in secrets.items()}
        except TimeoutError:
            raise NotFetched("NATS did not answer in time") from None
        except UnicodeDecodeError:
            raise NotFetched("a secret in NATS is no text") from None
        except (nats.NatsUnreachable, NotAllowed, ValueError) as problem:
            raise NotFetched(str(problem)) from None

    def _google(self, asked: TokenEntry, claims: dict[str, str]) -> dict[str, Json]:
        account = account_of(asked.credential) or account_of(asked.fields)
        if account is None:
            raise NotFetched("a service account is missing: name a stored credential, or file, its key file")
        try:
            return self._json(token_request(account, claims, int(time.time())), "the token")
        except UnusableAccount as problem:
            raise NotFetched(str(problem)) from None

    def _granted(self, asked: TokenEntry, form: Mapping[str, str | None]) -> tuple[float, dict[str, Json]]:
        url = asked.text("token_url", "token_endpoint", "endpoint", "url")
        client, secret = asked.text("client_id"), asked.text("client_secret")
        if url is None or client is None or secret is None:
            missing = "token_url" if url is None else "client_id" if client is None else "client_secret"
            raise NotFetched(f"{missing} is missing")
        headers = {"Content-Type": "application/x-www-form-urlencoded", "Accept": "application/json"}
        sent = {name: value for name, value in form.items() if value is not None}
        basic = None
        if asked.text("client_auth") == "basic":
            basic = (quote(client, safe=""), quote(secret, safe=""))  # RFC 6749 §2.3.1
        else:
            sent |= {"client_id": client, "client_secret": secret}
        request = HttpRequest("POST", url, headers, content=urlencode(sent).encode("ascii"), basic=basic)
        found = self._json(request, "the token")
        token = _secret(found, "access_token")
        if isinstance(again := found.get("refresh_token"), str) and again:
            # A server may give a new refresh token with each use and let the old one end (RFC 6749 §6), so the newest
            # is used next.
            self._refresh[asked.key] = again
        seconds = found.get("expires_in")
        lasts = float(seconds) if isinstance(seconds, int | float) else 300.0
        # A token that lasts less than the leeway is used for half of its life, not asked for at each use.
        return max(lasts - LEEWAY, lasts / 2), {"token": token, "access_token": token}

    def _json(self, request: HttpRequest, what: str) -> dict[str, Json]:
        """The mapping that a server answers with. Raises NotFetched."""
        if not is_there():
            raise NotFetched("what is asked for over HTTP needs httpx, which is not installed: pip install httpx")
        response = exchange_now(request, RequestLimits(SECONDS, most=RESPONSE_BYTES), self._fence)
        if isinstance(response, Outcome):
            raise NotFetched(f"{shown_url(request.url)}: {(response.error or {}).get('message')}")
        try:
            found = json_of(response.content)
        except ValueError:
            found = None
        if response.status >= 300 or not isinstance(found, dict):
            raise NotFetched(f"{shown_url(request.url)} does not give {what}: {_reason(response, found)}")
        return found


TokenFetch: TypeAlias = Callable[[Fetcher, TokenEntry], tuple[float, dict[str, Json]]]
"""How the fields of an entry are had, and for how many seconds they hold."""


def _key_of(asked: TokenEntry, fetch: TokenFetch) -> bytes:
    return fetch.__name__.encode() + asked.key


def named_secrets(asked: TokenEntry) -> dict[str, str]:
    """The secrets that an entry names, by the field that each becomes."""
    mapping = asked.fields.get("map")
    if isinstance(mapping, dict):
        return {field: str(secret) for field, secret in mapping.items()}
    own = TokenEntry(asked.name, asked.fields, {})
    return {"value": own.text("secret", "secret_name", "key", "path") or asked.name}


def _secret(found: Mapping[str, Json], name: str) -> str:
    token = found.get(name)
    if not isinstance(token, str) or not token:
        raise NotFetched(f"the answer has no {name}")
    return token


def _scopes(asked: TokenEntry) -> str | None:
    """The scopes of a token; `scope: global` and the like say in older playbooks for whom a token is kept."""
    scopes = asked.fields.get("scopes")
    if isinstance(scopes, list):
        return " ".join(map(str, scopes))
    scope = asked.text("scopes", "scope")
    return None if scope in ("global", "catalog", "local", "shared") else scope


def _reason(response: HttpResponse, found: Json) -> str:
    # Only a word of a few letters: a server may put what it was sent, the secret too, into the text of its error.
    word = found.get("error") if isinstance(found, dict) else None
    told = f" ({word})" if isinstance(word, str) and _WORD.fullmatch(word) else ""
    return f"status {response.status}{told}"
