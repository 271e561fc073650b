"""Keychain entries: what each kind resolves to, what it hides, and how it says that it cannot (LANGUAGE §7)."""

from pathlib import Path

import pytest

from noetl.secrets.credentials import Credentials
from noetl.secrets.keychain import Entry, Keychain, Unresolved, secrets_of
from noetl_ir.expr import Json

PG: dict[str, Json] = {"host": "db", "user": "u", "password": "stored-pw"}
ENVIRON = {"EMPTY": "", "TOKEN": "tok-from-env", "PG_PASSWORD": "pw-from-env", "named": "by-its-name"}


@pytest.fixture(autouse=True)
def no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NOETL_CREDENTIAL_KEY", raising=False)


@pytest.fixture
def store(tmp_path: Path) -> Credentials:
    store = Credentials(str(tmp_path / "credentials.db"))
    store.add_credential("pg", "postgres", PG)
    store.add_credential("single", "secret", {"value": "stored-value"})
    store.add_credential("odd", "secret", {"private": "stored-private"})
    (tmp_path / "token.txt").write_text("tok-from-file\n")
    (tmp_path / "token.json").write_text('{"client": {"secret": "deep-secret"}, "user": "u"}')
    (tmp_path / "list.json").write_text("[]")
    (tmp_path / "empty.txt").write_text("\n")
    return store


def keychain(store: Credentials, tmp_path: Path, *entries: tuple[str, str, dict[str, Json]]) -> Keychain:
    return Keychain([Entry(*entry) for entry in entries], store, root=str(tmp_path), environ=ENVIRON)


@pytest.mark.parametrize(
    ("kind", "fields", "found"),
    [
        ("env", {"var": "TOKEN"}, {"value": "tok-from-env"}),
        ("env", {}, {"value": "by-its-name"}),
        ("env", {"map": {"a": "TOKEN", "b": "PG_PASSWORD"}}, {"a": "tok-from-env", "b": "pw-from-env"}),
        ("file", {"path": "token.txt"}, {"value": "tok-from-file"}),
        ("file", {"path": "token.json", "format": "json"}, {"client": {"secret": "deep-secret"}, "user": "u"}),
        ("static", {"value": "v"}, {"value": "v"}),
        ("static", {"map": {"a": 1}}, {"a": 1}),
        ("static", {"a": 1, "scope": "global"}, {"a": 1}),
        ("bearer", {"token": "t"}, {"token": "t"}),
        ("bearer", {"env": "TOKEN", "header": "X-Token"}, {"token": "tok-from-env", "header": "X-Token"}),
        ("bearer", {"file": "token.txt"}, {"token": "tok-from-file"}),
        ("bearer", {"credential": "single"}, {"token": "stored-value"}),
        ("postgres_credential", {"host": "h", "password_env": "PG_PASSWORD"}, {"host": "h", "password": "pw-from-env"}),
        ("postgres_credential", {"credential": "pg", "dbname": "d"}, {**PG, "dbname": "d"}),
        ("credential", {"credential": "pg"}, PG),
        ("secrets", {"map": {"a": "single", "b": "odd"}}, {"a": "stored-value", "b": "stored-private"}),
        ("secrets", {"secret_name": "single"}, {"value": "stored-value"}),
        ("secrets", {"provider": "env", "map": {"a": "TOKEN"}}, {"a": "tok-from-env"}),
        ("secret_manager", {}, {"value": "by-its-name"}),
        ("secret_manager", {"provider": "env", "secret": "TOKEN"}, {"value": "tok-from-env"}),
        ("secret_manager", {"map": {"a": "TOKEN"}}, {"a": "tok-from-env"}),
        ("secret_manager", {"provider": "file", "secret": "token.txt"}, {"value": "tok-from-file"}),
    ],
)  # fmt: skip
def test_what_a_kind_resolves_to(
    store: Credentials, tmp_path: Path, kind: str, fields: dict[str, Json], found: dict[str, Json]
) -> None:
    chain = keychain(store, tmp_path, ("named", kind, fields))
    assert chain.fields("named") == found
    assert chain.check() == {}


@pytest.mark.parametrize(
    ("kind", "fields", "problem"),
    [
        ("env", {"var": "MISSING"}, "the environment variable 'MISSING' is not set"),
        ("env", {"var": "EMPTY"}, "the environment variable 'EMPTY' is set, and empty: export it"),
        ("env", {"map": {"a": "TOKEN", "b": "EMPTY"}}, "the environment variable 'EMPTY' is set, and empty"),
        ("bearer", {"env": "EMPTY"}, "the environment variable 'EMPTY' is set, and empty"),
        ("postgres_credential", {"host": "h", "password_env": "EMPTY"}, "'EMPTY' is set, and empty"),
        ("secret_manager", {"secret": "EMPTY"}, "'EMPTY' is set, and empty"),
        ("file", {"path": "empty.txt"}, "'empty.txt' is empty: write the secret into it"),
        ("bearer", {"file": "empty.txt"}, "'empty.txt' is empty"),
        ("file", {"path": "missing.txt"}, "cannot be read"),
        ("file", {}, "path is missing"),
        ("file", {"path": "list.json", "format": "json"}, "no JSON mapping"),
        ("static", {"scope": "global"}, "value is missing"),
        ("bearer", {}, "no stored credential named 'named'"),
        ("bearer", {"credential": "pg2"}, "no stored credential named 'pg2'"),
        ("credential", {}, "no stored credential named 'named'"),
        ("postgres_credential", {}, "no stored credential named 'named'"),
        ("secrets", {"provider": "gcp", "map": {"a": "x"}}, "there is no provider 'gcp'"),
        ("secret_manager", {"secret": "MISSING"}, "the environment variable 'MISSING' is not set"),
        ("secret_manager", {"provider": "file", "folder": "none"}, "cannot be read"),
        ("secret_manager", {"provider": "vault"}, "there is no provider 'vault': use env, file, nats or google"),
        ("secret_manager", {"provider": "nats"}, "bucket is missing"),
        ("secret_manager", {"provider": "nats", "bucket": "b"}, "nothing says which server"),
        ("secret_manager", {"provider": "google"}, "a service account is missing"),
        ("oauth2", {}, "token_url is missing"),
        ("oauth2", {"token_url": "http://x", "client_id": "i"}, "client_secret is missing"),
        ("oauth2", {"token_url": "http://x", "credential": "nobody"}, "no stored credential named 'nobody'"),
        ("google_id_token", {}, "audience is missing"),
        ("google_id_token", {"audience": "a", "file": "list.json"}, "a service account is missing"),
    ],
)
def test_what_cannot_be_resolved_is_said_before_the_run(
    store: Credentials, tmp_path: Path, kind: str, fields: dict[str, Json], problem: str
) -> None:
    chain = keychain(store, tmp_path, ("named", kind, fields), ("fine", "static", {"value": "secret-value"}))
    ((name, found),) = chain.check().items()
    assert name == "named" and problem in found and "'named'" in found
    with pytest.raises(Unresolved):
        chain.fields("named")
    assert chain.known_secrets() == (("fine", "value", "secret-value"),)


def test_a_name_without_an_entry_is_a_stored_credential(store: Credentials, tmp_path: Path) -> None:
    chain = keychain(store, tmp_path)
    assert chain.fields("single") == {"value": "stored-value"}
    assert chain.secrets("pg") == (("pg", "password", "stored-pw"),)
    with pytest.raises(KeyError, match="no keychain entry and no stored credential named 'nobody'"):
        chain.fields("nobody")


def test_a_value_is_read_at_each_use(store: Credentials, tmp_path: Path) -> None:
    chain = keychain(store, tmp_path, ("t", "file", {"path": "token.txt"}))
    (tmp_path / "token.txt").write_text("rotated")
    assert chain.fields("t") == {"value": "rotated"}


@pytest.mark.parametrize(
    ("fields", "secrets"),
    [
        ({"host": "h", "user": "u", "port": 1, "password": "p"}, [("password", "p")]),
        ({"url": "https://api.test/x", "token": "t"}, [("token", "t")]),
        (
            {"dsn": "postgres://u:p%40ss@h/d"},
            [("dsn", "postgres://u:p%40ss@h/d"), ("dsn#password", "p@ss")],
        ),
        (
            {"dsn": "host=h password='p ss' x"},
            [("dsn", "host=h password='p ss' x"), ("dsn#password", "p ss")],
        ),
        ({"client": {"id": "i", "keys": {"a": "k"}}}, [("client/id", "i"), ("client/keys/a", "k")]),
        ({"anything": "else"}, [("anything", "else")]),
    ],
)
def test_which_fields_are_secret(fields: dict[str, Json], secrets: list[tuple[str, str]]) -> None:
    assert list(secrets_of(fields)) == secrets


def test_every_secret_is_found_again_by_its_name(store: Credentials, tmp_path: Path) -> None:
    fields: dict[str, Json] = {"dsn": "postgres://u:p%40ss@h/d", "deep": {"key": "k"}, "token": "t"}
    chain = keychain(store, tmp_path, ("e", "static", fields))
    found = chain.secrets("e")
    assert len(found) == 4
    assert all(chain.value(name, field) == value for name, field, value in found)
    with pytest.raises(Unresolved, match="any more"):
        chain.value("e", "gone")
