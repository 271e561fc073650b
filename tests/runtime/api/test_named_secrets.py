"""Pools, credentials and tokens over the API: by name, for the role that may, and never a secret."""

from pathlib import Path

import pytest

from harness.serving import served
from noetl.api.bearer_tokens import ROLES, BearerToken, digest_of
from noetl.app.workers import pool_documents
from noetl.secrets.credentials import Credentials
from noetl_ir.orders import WorkerHeartbeat

TOKENS = [BearerToken(f"{role} of mine", role, digest_of(f"secret-{role}")) for role in ROLES]
SECRET = "hidden-12345678"


@pytest.mark.parametrize("role", ROLES)
def test_who_sees_which(tmp_path: Path, role: str) -> None:
    with served(tmp_path, *TOKENS) as up:
        Credentials(up.runtime.secrets_path).add_credential("bank", "bearer", {"token": SECRET})
        up.client.headers["authorization"] = f"Bearer secret-{role}"
        codes = {path: up.client.get(path).status_code for path in ("/pools", "/credentials", "/tokens")}
        assert codes == {
            "/pools": 200,
            "/credentials": 200 if role in ("operator", "admin") else 403,
            "/tokens": 200 if role == "admin" else 403,
        }


def test_names_and_no_secrets(tmp_path: Path) -> None:
    with served(tmp_path, *TOKENS) as up:
        Credentials(up.runtime.secrets_path).add_credential("bank", "bearer", {"token": SECRET})
        up.client.headers["authorization"] = "Bearer secret-admin"
        credentials, tokens = up.client.get("/credentials"), up.client.get("/tokens")
    (row,) = credentials.json()["credentials"]
    assert (row["name"], row["type"]) == ("bank", "bearer") and row["changed"].endswith("Z")
    assert row.keys() == {"name", "type", "changed"} and SECRET not in credentials.text
    unlimited = {"expires": None, "paths": [], "pools": []}
    assert tokens.json()["tokens"] == sorted(
        ({"name": token.name, "role": token.role, **unlimited} for token in TOKENS), key=lambda one: one["name"]
    )


def test_a_credential_store_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    with served(tmp_path) as up:
        Path(up.runtime.secrets_path).write_bytes(b"no database" * 100)
        response = up.client.get("/credentials")
        assert response.status_code == 409 and "cannot" not in response.json()["title"]
        assert "credential store" in response.json()["detail"]
        assert up.client.get("/tokens").json() == {"tokens": [], "next": None}


def test_pools_are_those_of_workers_those_with_a_limit_and_the_one_by_default() -> None:
    workers = [
        WorkerHeartbeat("a", "fast", 4, 1, False), WorkerHeartbeat("b", "fast", 4, 4, False),
        WorkerHeartbeat("c", "gone", 2, 0, True), WorkerHeartbeat("d", "*", 8, 2, False),
    ]  # fmt: skip
    found = {str(row["name"]): row for row in pool_documents(workers, {"slow": 1})}
    assert list(found) == ["default", "fast", "gone", "slow"]
    assert found["fast"] == {
        "name": "fast", "workers": ["a", "b", "d"], "slots": 16, "busy": 7, "limit": None, "hindrance": "",
    }  # fmt: skip
    assert (found["slow"]["limit"], found["slow"]["workers"]) == (1, ["d"])
    alone = {str(row["name"]): row["hindrance"] for row in pool_documents(workers[:3], {"slow": 1})}
    assert alone == {
        "default": "no worker of pool `default` is there", "fast": "",
        "gone": "all workers of pool `gone` are leaving", "slow": "no worker of pool `slow` is there",
    }  # fmt: skip
