"""The credential store: encrypted at rest, with a key that only its owner can read."""

import os
import sqlite3
import sys
from base64 import urlsafe_b64encode
from pathlib import Path

import pytest

from noetl.secrets.credentials import CredentialProblem, Credentials, CredentialTaken
from noetl.secrets.keys import KeyProblem, execution_key, master_key
from noetl_ir.expr import Json

FIELDS: dict[str, Json] = {"user": "alice", "password": "correct horse", "port": 5432, "key": "a\0\ud800é"}


@pytest.fixture(autouse=True)
def no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NOETL_CREDENTIAL_KEY", raising=False)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "credentials.db"


@pytest.fixture
def store(path: Path) -> Credentials:
    return Credentials(str(path))


def test_what_is_stored_is_found(store: Credentials) -> None:
    store.add_credential("pg", "postgres", FIELDS)
    store.add_credential("api", "bearer", {"token": "t"})
    with pytest.raises(CredentialTaken, match="`api` already, of type bearer"):
        store.add_credential("api", "other", {"token": "t1"})
    store.replace("api", "bearer", {"token": "t2"})
    assert store.fields("pg") == FIELDS
    assert store.fields("api") == {"token": "t2"}
    assert store.fields("nobody") is None
    assert [(row.name, row.type) for row in store.list()] == [("api", "bearer"), ("pg", "postgres")]
    assert store.delete("pg") is True
    assert store.delete("pg") is False
    assert [row.name for row in store.list()] == ["api"]


def test_reading_makes_no_files(store: Credentials, tmp_path: Path) -> None:
    assert store.fields("pg") is None and store.list() == () and store.delete("pg") is False
    assert list(tmp_path.iterdir()) == []


def test_nothing_readable_is_on_disk(store: Credentials, tmp_path: Path) -> None:
    store.add_credential("pg", "postgres", FIELDS)
    for file in tmp_path.iterdir():
        assert b"correct horse" not in file.read_bytes()
        assert b"alice" not in file.read_bytes()
        assert file.stat().st_mode & 0o077 == 0, file


def test_another_key_opens_nothing(store: Credentials, path: Path) -> None:
    store.add_credential("pg", "postgres", FIELDS)
    whose = Path(store.key_path).read_bytes()
    Path(store.key_path).unlink()
    # As in a copy that was put in the place of a store: no new key is made without a word.
    for use in (lambda: store.fields("pg"), lambda: store.add_credential("other", "postgres", FIELDS)):
        with pytest.raises(
            CredentialProblem, match=r"key file .* is not there, .*: put it back, or set NOETL_CREDENTIAL_KEY"
        ):
            use()
    assert not Path(store.key_path).exists()
    other = Credentials(str(path.with_name("other")))
    other.add_credential("pg", "postgres", FIELDS)
    os.replace(other.key_path, store.key_path)
    with pytest.raises(CredentialProblem, match="another key"):
        store.fields("pg")
    Path(store.key_path).write_bytes(whose)
    assert store.fields("pg") == FIELDS


def test_a_row_cannot_pass_for_another(store: Credentials, path: Path) -> None:
    store.add_credential("a", "x", {"token": "ta"})
    store.add_credential("b", "x", {"token": "tb"})
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE credential SET body = (SELECT body FROM credential WHERE name = 'a')")
    connection.close()
    with pytest.raises(CredentialProblem, match="altered"):
        store.fields("b")


def test_what_cannot_be_stored(store: Credentials) -> None:
    for name, fields in (("", {"a": "b"}), ("a", {})):
        with pytest.raises(CredentialProblem, match="needs a name"):
            store.add_credential(name, "x", fields)  # type: ignore[arg-type]


def test_a_broken_store_is_told_in_words(path: Path) -> None:
    path.write_bytes(b"this is no database, whatever its name says" * 100)
    with pytest.raises(CredentialProblem, match="credential store"):
        Credentials(str(path)).list()


def test_without_the_library_the_problem_names_the_extra(store: Credentials, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cryptography.fernet", None)
    with pytest.raises(CredentialProblem, match=r"noetlc\[credentials\]"):
        store.add_credential("a", "x", {"token": "t"})


def test_the_key_is_made_once_and_for_its_owner_only(tmp_path: Path) -> None:
    path = tmp_path / "k"
    key = master_key(str(path))
    assert len(key) == 32 and master_key(str(path)) == key
    assert path.stat().st_mode & 0o777 == 0o600
    assert [file.name for file in tmp_path.iterdir()] == ["k"]
    path.chmod(0o644)
    with pytest.raises(KeyProblem, match="chmod 600"):
        master_key(str(path))


def test_the_key_may_come_from_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    key = os.urandom(32)
    monkeypatch.setenv("NOETL_CREDENTIAL_KEY", urlsafe_b64encode(key).decode())
    assert master_key(str(tmp_path / "k")) == key
    assert list(tmp_path.iterdir()) == []
    for bad in ("", "short", "not base64 at all!"):
        monkeypatch.setenv("NOETL_CREDENTIAL_KEY", bad)
        with pytest.raises(KeyProblem, match="32 bytes"):
            master_key(str(tmp_path / "k"))


def test_executions_have_keys_of_their_own() -> None:
    keys = {execution_key(b"m" * 32, "1"), execution_key(b"m" * 32, "2"), execution_key(b"n" * 32, "1")}
    assert len(keys) == 3 and all(len(key) == 32 for key in keys)
