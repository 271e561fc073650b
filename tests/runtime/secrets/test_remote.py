"""Keychain entries that ask the network: against an emulation of Google's services and a real NATS server."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from google_emulator import Google, account, google
from noetl.clients.egress import Egress
from noetl.secrets.credentials import Credentials
from noetl.secrets.keychain import Entry, Keychain, Unresolved
from noetl.secrets.remote import Fetcher
from noetl.tools import nats as tool
from noetl_ir.expr import Json
from services import nats
from tool_doubles import FakeEnv, call_of, waited

SECRET = "s3cret-of-the-client"


class Clock:
    """Time that a test moves."""

    def __init__(self) -> None:
        self.time = 1000.0

    def __call__(self) -> float:
        return self.time


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def url() -> Iterator[str]:
    with google() as address:
        yield address


@pytest.fixture
def store(tmp_path: Path, url: str, monkeypatch: pytest.MonkeyPatch) -> Credentials:
    monkeypatch.delenv("NOETL_CREDENTIAL_KEY", raising=False)
    store = Credentials(str(tmp_path / "credentials.db"))
    store.add_credential("robot", "google", account(url))
    store.add_credential("client", "oauth2", {"client_id": "id", "client_secret": SECRET})
    (tmp_path / "robot.json").write_text(json.dumps(account(url)))
    return store


def chain(
    store: Credentials, tmp_path: Path, clock: Clock, kind: str, fields: dict[str, Json], fenced: bool = False
) -> Keychain:
    fetcher = Fetcher(Egress().refusal if fenced else None, clock)
    environ = {"CLIENT_SECRET": SECRET}
    return Keychain([Entry("e", kind, fields)], store, root=str(tmp_path), environ=environ, fetcher=fetcher)


@pytest.mark.parametrize(
    "fields",
    [
        {"credential": "client"},
        {"credential": "client", "client_auth": "basic"},
        {"client_id": "id", "client_secret_env": "CLIENT_SECRET"},
    ],
)
def test_client_credentials(
    store: Credentials, tmp_path: Path, clock: Clock, url: str, fields: dict[str, Json]
) -> None:
    keys = chain(store, tmp_path, clock, "oauth2", {"token_url": f"{url}/token", **fields})
    assert keys.check() == {}
    assert keys.fields("e") == {"token": "client-token-0", "access_token": "client-token-0"}
    assert len(Google.asked) == 1, "a token is kept"
    assert set(keys.known_secrets()) == {("e", "token", "client-token-0"), ("e", "access_token", "client-token-0")}
    clock.time += 3539
    assert keys.value("e", "token") == "client-token-0"
    clock.time += 2
    assert keys.value("e", "token") == "client-token-1", "a minute before its end it is replaced"


def test_a_refresh_token_is_used_until_it_is_refused(
    store: Credentials, tmp_path: Path, clock: Clock, url: str
) -> None:
    fields: dict[str, Json] = {"token_url": f"{url}/token", "credential": "client", "scope": "offline"}
    keys = chain(store, tmp_path, clock, "oauth2", fields)
    found = []
    for revoked in (False, False, True):
        Google.revoked[:] = ["yes"] if revoked else []
        found.append(keys.value("e", "token"))
        clock.time += 4000
    assert found == ["client-token-0", "refreshed-token-1", "client-token-2"]


@pytest.mark.parametrize("fields", [{"credential": "robot"}, {"file": "robot.json"}])
def test_identity_tokens(store: Credentials, tmp_path: Path, clock: Clock, fields: dict[str, Json]) -> None:
    keys = chain(store, tmp_path, clock, "google_id_token", {"audience": "https://run.test", **fields})
    token = "identity-for-https://run.test-0"
    assert keys.fields("e") == {"token": token, "id_token": token}
    assert keys.fields("e")["token"] == token
    clock.time += 3600
    assert keys.fields("e")["token"] == "identity-for-https://run.test-1"


def test_what_is_kept_is_for_whoever_says_the_same(store: Credentials, tmp_path: Path, clock: Clock, url: str) -> None:
    fetcher = Fetcher(None, clock)

    def token(name: str, **fields: Json) -> Json:
        entry = Entry(name, "oauth2", {"token_url": f"{url}/token", "credential": "client", **fields})
        return Keychain([entry], store, root=str(tmp_path), fetcher=fetcher).value(name, "token")

    first = token("e")
    assert token("e") == first and len(Google.asked) == 1
    assert token("e", audience="other") != first
    store.replace("client", "oauth2", {"client_id": "id", "client_secret": SECRET, "rotated": 1})
    assert token("e") != first, "another credential is not served from what is kept"


def test_google_secret_manager(store: Credentials, tmp_path: Path, clock: Clock, url: str) -> None:
    Google.secrets["projects/p/secrets/e/versions/latest"] = b"the-newest"
    Google.secrets["projects/p/secrets/other/versions/3"] = b"the-third"
    fields: dict[str, Json] = {"provider": "google", "project": "p", "endpoint": url, "credential": "robot"}
    keys = chain(store, tmp_path, clock, "secret_manager", fields)
    assert keys.fields("e") == {"value": "the-newest"}
    Google.secrets["projects/p/secrets/e/versions/latest"] = b"rotated-value"
    assert keys.fields("e") == {"value": "the-newest"}
    clock.time += 61
    assert keys.fields("e") == {"value": "rotated-value"}
    named: dict[str, Json] = {"a": "projects/p/secrets/other/versions/3", "b": "e"}
    assert chain(store, tmp_path, clock, "secret_manager", {**fields, "map": named}).fields("e") == {
        "a": "the-third",
        "b": "rotated-value",
    }
    problem = chain(store, tmp_path, clock, "secret_manager", {**fields, "secret": "no"}).check()["e"]
    assert problem.endswith("does not give projects/p/secrets/no/versions/latest: status 404")


def test_secrets_in_nats(store: Credentials, tmp_path: Path, clock: Clock) -> None:
    env = FakeEnv(tmp_path)
    url = f"nats://{nats().address}"
    put: dict[str, Json] = {
        "operation": "kv_put",
        "url": url,
        "bucket": "secrets",
        "key": "api.key",
        "value": "kept-in-nats",
    }
    assert waited(tool.run(call_of("nats", put), env)).status == "ok"
    fields: dict[str, Json] = {"provider": "nats", "bucket": "secrets", "url": url, "secret": "api.key"}
    keys = chain(store, tmp_path, clock, "secret_manager", fields)
    assert keys.fields("e") == {"value": "kept-in-nats"}
    problem = chain(store, tmp_path, clock, "secret_manager", {**fields, "secret": "no"}).check()["e"]
    assert problem == "keychain entry 'e': the bucket secrets does not give the value: KeyNotFoundError"
    problem = chain(store, tmp_path, clock, "secret_manager", {**fields, "url": "nats://u:hidden@127.0.0.1:1"}).check()[
        "e"
    ]
    assert "no connection to 127.0.0.1:1" in problem and "hidden" not in problem


def test_what_is_refused_says_no_secret(store: Credentials, tmp_path: Path, clock: Clock, url: str) -> None:
    store.add_credential("wrong", "oauth2", {"client_id": "id", "client_secret": "wrong-canary-value"})
    fields: dict[str, Json] = {"token_url": f"{url}/token", "credential": "wrong"}
    problem = chain(store, tmp_path, clock, "oauth2", fields).check()["e"]
    assert problem == f"keychain entry 'e': {url}/token does not give the token: status 401 (invalid_client)"
    with pytest.raises(Unresolved, match=r"^keychain entry 'e': http://127\.0\.0\.1:1/token: no connection"):
        chain(store, tmp_path, clock, "oauth2", {**fields, "token_url": "http://127.0.0.1:1/token?x=1"}).fields("e")


@pytest.mark.parametrize("kind", ["oauth2", "google", "nats"])
def test_the_fence_is_asked(store: Credentials, tmp_path: Path, clock: Clock, url: str, kind: str) -> None:
    fields: dict[str, dict[str, Json]] = {
        "oauth2": {"token_url": f"{url}/token", "credential": "client"},
        "google": {"provider": "google", "project": "p", "credential": "robot"},
        "nats": {"provider": "nats", "bucket": "secrets", "url": f"nats://{nats().address}"},
    }
    name = "oauth2" if kind == "oauth2" else "secret_manager"
    problem = chain(store, tmp_path, clock, name, fields[kind], fenced=True).check()["e"]
    assert "is not public" in problem
    assert not Google.asked
