"""Every operation of the API, asked with ids, cursors, queries and bodies that nobody should send: answered with a
problem in words or with what is there, never with an error of ours, and to nobody who may not ask.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from harness.running import HEAD
from harness.serving import Served, served, until
from noetl.api.bearer_tokens import MAY, BearerToken, digest_of
from noetl.api.operation import Operation
from noetl.api.routes import ROUTES
from noetl.secrets.credentials import Credentials

SECRET = "kana ri!(1)"
TOKENS = {role: f"noetl_{role}" for role in MAY}
IDS = [
    "no",
    "%2e%2e%2fetc%2fpasswd",
    "%00",
    "%ff%fe",
    "a" * 3000,
    "9" * 400,
    "-1",
    "%F0%9F%92%A5",
    "%0d%0aX:%20y",
    "%25",
]
VALUES = [
    "", "-1", "9" * 30, "1e3", "null", "[]", "{", "%00", "%ff", "a" * 5000, "NaN", "1_000", "%D9%A3", "%2B1",
    "'%20or%201--", "%5B%5B%5D%5D", "%7B%22a%22%3A1%7D", "%ED%A0%80",
]  # fmt: skip
BODIES = [
    b"", b"null", b"[]", b"\xff\xfe", b"[" * 100_000, b'{"payload":{"a":NaN}}', b'{"path":"t/p","payload":{"a":1e999}}',
    b'{"name":"x","data":"\\ud800"}', b'{"key":"k","name":"\\u0000"}', b'{"reference":{"key":"../../x"}}',
    b'{"keep_for":"1e400s","key":"k","name":"n"}', b'{"path":["x"],"payload":1}',
]  # fmt: skip
TEXT = (
    "keychain: [{name: c, kind: credential, credential: kept}]\nworkflow:\n  - step: start\n    tool:\n"
    "      - {name: s, kind: shell, command: 'echo $S', env: {S: '{{ keychain.c.password }}'}}\n"
    "      - {name: w, kind: wait, events: [go]}\n"
)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Served, str]]:
    folder: Path = tmp_path_factory.mktemp("api")
    tokens = [BearerToken(role, role, digest_of(token)) for role, token in TOKENS.items()]
    with served(folder, *tokens) as up:
        Credentials(up.runtime.secrets_path).add_credential("kept", "login", {"password": SECRET})
        ask(up, "POST", "/playbooks?name=t.yaml", (HEAD + TEXT).encode())
        begun = ask(up, "POST", "/executions", b'{"path": "t/t"}')
        assert begun.status_code == 201, begun.text
        name = begun.json()["execution_id"]
        until(lambda: '"what":"wait"' in ask(up, "GET", f"/executions/{name}").text)
        yield up, name


def ask(server: Served, method: str, path: str, body: bytes = b"", role: str = "admin") -> Any:
    """The response to one who has a role; nobody has none."""
    headers = {"Authorization": f"Bearer {TOKENS[role]}"} if role else {}
    if body.startswith(b"{") or body in BODIES:
        headers["Content-Type"] = "application/json"
    return server.client.request(method, path, content=body or None, headers=headers)


def operations() -> list[Operation]:
    """All but the one that ends the server."""
    return [row for row in ROUTES if row.path != "/stop"]


def path_of(row: Operation, value: str) -> str:
    return re.sub(r"\{[^}]*\}", lambda _: value, row.path)


def assert_told(response: Any, what: str) -> None:
    """Fails for an answer that is neither good nor a problem in words, and for one with a secret in it."""
    assert response.status_code < 500 and SECRET not in response.text, (what, response.text[:300])
    if response.status_code >= 400:
        assert response.headers["content-type"].startswith("application/problem+json"), what
        assert response.json()["detail"] and "Traceback" not in response.text, what


@pytest.mark.parametrize("row", operations(), ids=lambda row: f"{row.method} {row.path}")
def test_an_operation_takes_nothing_amiss(server: tuple[Served, str], row: Operation) -> None:
    up, name = server
    if "{" in row.path:
        for value in IDS:
            assert_told(
                ask(up, row.method, path_of(row, value), b"{}" * (row.method != "GET")), f"{row.path} {value[:40]}"
            )
    path = path_of(row, name)
    for parameter in (*row.query, *(("limit", row.pages.cursor) if row.pages else ())):
        for value in VALUES:
            assert_told(ask(up, row.method, f"{path}?{parameter}={value}"), f"{path} {parameter}={value[:40]}")
        twice = ask(up, row.method, f"{path}?{parameter}=1&{parameter}=2")
        if row.path.startswith("/sign-in/"):  # this server has no provider; `test_oidc_sign_in` asks one that has
            assert twice.status_code == 404
            continue
        assert twice.status_code == 400 and f"`{parameter}` is there twice" in twice.json()["detail"]
    for body in BODIES if row.method != "GET" and row.path not in ("/sign-out",) else ():
        if not row.path.endswith(("cancel", "pause", "resume")):
            assert_told(ask(up, row.method, path, body), f"{path} {body[:40]!r}")


@pytest.mark.parametrize("role", ["", *MAY])
def test_nobody_may_more_than_the_role_says(server: tuple[Served, str], role: str) -> None:
    up, _ = server
    refused = [row for row in operations() if row.role and (not role or row.role not in MAY[role])]
    for row in refused:
        # Who has no token may ask a hundred times at once, and there are more than fifty operations.
        for query in ("", "?unknown=1") if role else ("",):
            response = ask(up, row.method, path_of(row, "no") + query, b"{}" * (row.method != "GET"), role)
            assert response.status_code == (403 if role else 401), (role, row.path, response.text)
    assert refused or role == "admin"
    for row in operations():
        for method in {"GET", "POST", "PUT", "DELETE", "PATCH"} - {o.method for o in ROUTES if o.path == row.path}:
            assert ask(up, method, path_of(row, "no"), b"", "admin").status_code in (400, 404, 405, 409), (
                method,
                row.path,
            )
