"""gcs: objects in an emulator that speaks Google's JSON API, with a service account that signs (LANGUAGE §7)."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from google_emulator import Google, account, google
from noetl.clients.egress import Egress
from noetl.tools import gcs
from noetl_ir.expr import Json
from noetl_ir.outcome import Outcome
from tool_doubles import FakeEnv, call_of, failed, waited


@pytest.fixture
def url() -> Iterator[str]:
    with google() as address:
        yield address


@pytest.fixture
def env(url: str, tmp_path: Path) -> FakeEnv:
    robot = account(url)
    return FakeEnv(tmp_path, {"robot": robot, "text": {"value": json.dumps(robot)}, "token": {"token": "known"}})


def slow_gcs(_: Path, url: str) -> dict[str, Json]:
    """A call that is held up by a server that never responds."""
    return {"operation": "list", "bucket": "b", "endpoint": url}


def ran(env: FakeEnv, url: str, operation: str, /, knobs: dict[str, Json] | None = None, **fields: Json) -> Outcome:
    call = call_of("gcs", {"operation": operation, "bucket": "b", "endpoint": url, **fields}, knobs=knobs, timeout=20)
    return waited(gcs.run(call, env))


def test_a_file_goes_up_and_comes_down(env: FakeEnv, url: str, tmp_path: Path) -> None:
    (tmp_path / "in.bin").write_bytes(bytes(range(256)))
    outcome = ran(env, url, "upload", auth="robot", source="in.bin", destination="a b/ü?.csv")
    assert outcome.result == {"uri": "gs://b/a b/ü?.csv", "size": 256}
    assert Google.objects["b", "a b/ü?.csv"] == ("text/csv", bytes(range(256)))
    assert [asked["authorization"] for asked in Google.asked] == [None, "Bearer storage-token-0"]
    outcome = ran(env, url, "download", auth="robot", source="a b/ü?.csv", destination="deep/out.bin")
    assert outcome.result == {"uri": "gs://b/a b/ü?.csv", "size": 256}
    assert (tmp_path / "deep" / "out.bin").read_bytes() == bytes(range(256))
    assert [path.name for path in (tmp_path / "deep").iterdir()] == ["out.bin"]


@pytest.mark.parametrize(
    ("name", "data", "kind", "found"),
    [
        ("x", {"a": [1]}, "application/json", {"a": [1]}),
        ("x.txt", '{"a": 1}', "text/plain", '{"a": 1}'),
        ("x.json", '{"a": 1}', "application/json", {"a": 1}),
        ("x", "", "application/octet-stream", ""),
    ],
)
def test_a_value(env: FakeEnv, url: str, name: str, data: Json, kind: str, found: Json) -> None:
    assert ran(env, url, "upload", key=name, data=data).status == "ok"
    result = ran(env, url, "download", key=f"gs://b/{name}").result
    assert isinstance(result, dict)
    assert (result["content_type"], result["data"]) == (kind, found)


def test_a_list_goes_over_all_pages(env: FakeEnv, url: str) -> None:
    for name in ("p/1", "p/2", "p/3", "p/4", "p/5", "q"):
        ran(env, url, "upload", key=name, data=name)
    result = ran(env, url, "list", key="p/").result
    assert isinstance(result, dict) and isinstance(objects := result["objects"], list)
    assert [row["name"] for row in objects if isinstance(row, dict)] == ["p/1", "p/2", "p/3", "p/4", "p/5"]
    assert objects[0] == {
        "name": "p/1", "size": 3, "content_type": "application/octet-stream", "updated": "2026-01-31T12:00:00.000Z"
    }  # fmt: skip
    assert ran(env, url, "list", bucket="empty").result == {"objects": []}
    assert failed(ran(env, url, "list", knobs={"max_objects": 3}))["code"] == "gcs.error"


def test_deletion(env: FakeEnv, url: str) -> None:
    ran(env, url, "upload", key="x", data=1)
    assert ran(env, url, "delete", key="x").result == {"uri": "gs://b/x"}
    error = failed(ran(env, url, "delete", key="x"))
    assert (error["code"], error["retryable"]) == ("gcs.not_found", False)
    assert error["message"] == "the storage answered with status 404: No such object: b/x"


def test_logins(env: FakeEnv, url: str) -> None:
    Google.tokens.add("known")
    assert failed(ran(env, url, "upload", key="x", data=1))["code"] == "gcs.error"
    for auth in ("token", "text", {"credential": "robot"}):
        assert ran(env, url, "upload", key="x", data=1, auth=auth).status == "ok"
    env.credentials["wrong"] = {**account(url), "private_key": "no key"}
    error = failed(ran(env, url, "upload", key="x", data=1, auth="wrong"))
    assert (error["code"], "no key" in str(error["message"])) == ("gcs.auth", True)
    assert failed(ran(env, url, "list", auth="nobody"))["code"] == "credential.missing"


def test_a_server_in_trouble_may_be_asked_again(env: FakeEnv, url: str) -> None:
    Google.failing.append(503)
    error = failed(ran(env, url, "list"))
    assert (error["code"], error["retryable"]) == ("gcs.error", True)
    assert failed(ran(env, "http://127.0.0.1:1", "list"))["code"] == "http.connect"


@pytest.mark.parametrize(
    ("operation", "fields", "code"),
    [
        ("upload", {"key": "x"}, "fields.invalid"),
        ("upload", {"key": "x", "source": "a", "data": 1}, "fields.invalid"),
        ("upload", {"data": 1}, "fields.invalid"),
        ("upload", {"key": "x", "source": "../secret"}, "file.refused"),
        ("upload", {"key": "x", "source": "missing"}, "file.refused"),
        ("download", {"key": "x", "destination": "/etc/x"}, "file.refused"),
        ("download", {"key": "x", "bucket": "b/../c"}, "fields.invalid"),
        ("download", {"key": "a\r\nb"}, "fields.invalid"),
        ("rename", {"key": "x"}, "fields.invalid"),
    ],
)
def test_what_cannot_be_asked_for(env: FakeEnv, url: str, operation: str, fields: dict[str, Json], code: str) -> None:
    assert failed(ran(env, url, operation, **fields))["code"] == code
    assert not Google.asked


def test_limits_and_the_fence(env: FakeEnv, url: str) -> None:
    ran(env, url, "upload", key="x", data="x" * 100)
    assert failed(ran(env, url, "download", key="x", knobs={"max_bytes": 99}))["code"] == "http.too_large"
    env.fenced = Egress().refusal
    assert failed(ran(env, url, "list"))["code"] == "http.refused"
    assert failed(ran(env, "https://storage.test", "list", auth="robot"))["code"] == "http.refused"


def test_the_emulator_of_the_environment(env: FakeEnv, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STORAGE_EMULATOR_HOST", url.removeprefix("http://"))
    assert waited(gcs.run(call_of("gcs", {"operation": "list", "bucket": "b"}), env)).result == {"objects": []}
