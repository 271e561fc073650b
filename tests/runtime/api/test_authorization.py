"""Tokens, roles and where a server may listen."""

from pathlib import Path

import pytest
from starlette.requests import HTTPConnection

from harness.serving import served
from noetl.api.authorization import Authorization, check_binding
from noetl.api.bearer_tokens import (
    ROLES,
    BearerToken,
    TokenFile,
    TokenProblem,
    TokenTaken,
    add_token,
    delete_token,
    digest_of,
    read_tokens,
    replace_token,
)
from noetl.api.page_sessions import PageSessions
from noetl.api.problems import BadRequest
from noetl.api.routes import ROUTES

TOKENS = [BearerToken(role, role, digest_of(f"secret-{role}")) for role in ROLES]


def test_each_operation_asks_for_its_role(tmp_path: Path) -> None:
    """The roles: viewer looks, operator changes, admin stops."""
    with served(tmp_path, *TOKENS, host="http://anything.example") as server:
        for role in ROLES:
            head = {"authorization": f"Bearer secret-{role}"}
            look = server.client.get("/executions", headers=head)
            change = server.client.post("/executions", json={"path": "x"}, headers=head)
            assert look.status_code == 200
            assert (change.status_code == 403) is (role in ("viewer", "worker"))
        stops = {
            role: server.client.post("/stop", headers={"authorization": f"bearer secret-{role}"}) for role in ROLES
        }
        assert {role: response.status_code for role, response in stops.items()} == {
            "viewer": 403, "worker": 403, "operator": 403, "admin": 202,
        }  # fmt: skip


@pytest.mark.parametrize(
    "header", [None, "", "Bearer", "Bearer ", "Bearer wrong", "Basic secret-admin", "Bearer \udcff"]
)
def test_without_a_valid_token_nothing_is_told(tmp_path: Path, header: str | None) -> None:
    with served(tmp_path, *TOKENS) as server:
        head = {"authorization": header.encode("utf-8", "surrogateescape")} if header is not None else {}
        for row in ROUTES:
            path = row.path.replace("{execution_id}", "e").replace("{digest}", "d").replace("{path:path}", "p")
            response = server.client.request(row.method, path, headers=head)
            is_signed = row.path.startswith("/hooks/")
            assert (response.status_code == 401) is (row.role != "" or is_signed), path
            if row.role:
                assert response.headers["www-authenticate"] == "Bearer"


@pytest.mark.parametrize("tokens", [(), tuple(TOKENS)], ids=["open", "tokens"])
def test_a_page_of_another_site_changes_nothing(tmp_path: Path, tokens: tuple[BearerToken, ...]) -> None:
    """Browsers send `Origin` with every POST of a page, and what forms send without asking first."""
    with served(tmp_path, *tokens) as server:
        admin = {"authorization": "Bearer secret-admin"} if tokens else {}
        own = str(server.client.base_url).rstrip("/")
        foreign = [
            {"origin": "http://pages.example"}, {"origin": "null"}, {"origin": f"{own}1"},
            {"sec-fetch-site": "cross-site"}, {"sec-fetch-site": "same-site"}, {"origin": "http://[::1"},
        ]  # fmt: skip
        changing = [row for row in ROUTES if row.method not in ("GET", "HEAD") and row.role]
        assert len(changing) > 5
        for row in changing:
            path = row.path.replace("{execution_id}", "e").replace("{digest}", "d").replace("{path:path}", "p")
            for head in foreign:
                assert server.client.request(row.method, path, headers={**admin, **head}).status_code == 403, path
            for kind in ("text/plain", "application/x-www-form-urlencoded; charset=utf-8", "multipart/form-data"):
                response = server.client.request(
                    row.method, path, content=b"{}", headers={**admin, "content-type": kind}
                )
                assert response.status_code == 415, path
        for head in ({"origin": own}, {"sec-fetch-site": "same-origin"}, {"sec-fetch-site": "none"}, {}):
            response = server.client.post("/executions", json={"path": "none"}, headers={**admin, **head})
            assert response.status_code not in (403, 415), head
        looks = server.client.get("/executions", headers={**admin, "origin": "http://pages.example"})
        assert looks.status_code == 200  # nothing is said of what it may read: no page gets the answer


def test_of_a_header_that_is_sent_twice_both_count(tmp_path: Path) -> None:
    with served(tmp_path, *TOKENS) as server:
        own, admin = str(server.client.base_url).rstrip("/"), ("authorization", "Bearer secret-admin")
        for heads, code in (
            ([admin, ("origin", own), ("origin", "http://pages.example")], 403),
            ([admin, ("sec-fetch-site", "none"), ("sec-fetch-site", "cross-site")], 403),
            ([admin, ("authorization", "Bearer secret-viewer")], 401),
            ([("authorization", "Bearer secret-viewer"), admin], 401),
            ([admin, ("origin", own)], 404),
        ):
            assert server.client.post("/executions/e/cancel", headers=heads).status_code == code, heads


def test_without_tokens_only_names_of_this_machine_are_answered(tmp_path: Path) -> None:
    """A page in a browser that made its own name lead to 127.0.0.1 gets nothing."""
    with served(tmp_path, host="http://evil.example") as server:
        assert server.client.get("/executions").status_code == 403
        assert server.client.get("/executions", headers={"host": "127.0.0.1:8082"}).status_code == 200


@pytest.mark.parametrize("said", ["a{b.evil.example", 'a"b.evil.example:8082', "a`b.evil.example", "", "a b", "[::1"])
def test_what_is_no_host_is_no_name_of_this_machine(tmp_path: Path, said: str) -> None:
    """Browsers send such names (WHATWG URL §3.5 forbids neither braces nor quotes), wherever they lead."""
    with served(tmp_path, host="http://127.0.0.1") as server:
        assert server.client.get("/executions").status_code == 200
        assert server.client.get("/executions", headers={"host": said}).status_code == 403


@pytest.mark.parametrize(
    ("host", "tokens", "encrypted", "allowed"),
    [
        ("127.0.0.1", False, False, True), ("localhost", False, False, True), ("::1", False, False, True),
        ("0.0.0.0", False, True, False), ("0.0.0.0", True, False, False), ("0.0.0.0", True, True, True),
        ("::", True, False, False), ("example.org", False, False, False), ("10.0.0.1", True, True, True),
    ],
)  # fmt: skip
def test_beyond_loopback_tokens_and_tls_are_needed(host: str, tokens: bool, encrypted: bool, allowed: bool) -> None:
    assert (check_binding(host, has_tokens=tokens, is_encrypted=encrypted) is None) is allowed


def test_the_file_has_hashes_only(tmp_path: Path) -> None:
    path = str(tmp_path / "a" / "tokens")
    token = add_token(path, "ann", "viewer")
    other = add_token(path, "bob", "admin")
    assert read_tokens(path) == (
        BearerToken("ann", "viewer", digest_of(token)),
        BearerToken("bob", "admin", digest_of(other)),
    )
    text = Path(path).read_text()
    assert token not in text
    assert Path(path).stat().st_mode & 0o077 == 0
    with pytest.raises(TokenTaken, match="`ann` already, with the role `viewer`"):
        add_token(path, "ann", "admin")
    assert digest_of(token) in {row.digest for row in read_tokens(path)}
    made, before = replace_token(path, "ann", "admin")
    assert before is not None and (before.role, before.digest) == ("viewer", digest_of(token))
    assert digest_of(made) in {row.digest for row in read_tokens(path)}
    assert [(row.name, row.role) for row in read_tokens(path)] == [("bob", "admin"), ("ann", "admin")]
    assert delete_token(path, "bob")
    assert not delete_token(path, "bob")


@pytest.mark.parametrize("text", ["{", "[1]", '[{"name": "a", "role": "king", "sha256": "x"}]', '{"a": 1}', "[" * 9999])
def test_a_damaged_file_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "tokens").write_text(text)
    with pytest.raises(TokenProblem, match="tokens"):
        read_tokens(str(tmp_path / "tokens"))


def _status(lets: Authorization, token: str) -> int:
    """The status that a request with a token gets; 200 when it is let through."""
    headers = [(b"host", b"localhost"), *([(b"authorization", f"Bearer {token}".encode())] if token else [])]
    scope = {"type": "http", "path": "/", "headers": headers, "scheme": "http", "query_string": b""}
    try:
        lets.check(HTTPConnection(scope), "viewer")
    except BadRequest as refused:
        return refused.status
    return 200


def test_a_change_of_the_file_counts_at_once(tmp_path: Path) -> None:
    path, said = str(tmp_path / "tokens"), list[str]()
    lets = Authorization(TokenFile(path, said.append), PageSessions(lambda: bytes(32)))
    assert _status(lets, "") == 200
    ann = add_token(path, "ann", "viewer")
    assert (_status(lets, ""), _status(lets, ann)) == (401, 200)
    again, _ = replace_token(path, "ann", "viewer")
    assert (_status(lets, ann), _status(lets, again)) == (401, 200)
    assert delete_token(path, "ann")
    assert (_status(lets, again), _status(lets, "")) == (401, 401), "a guarded server stays guarded without tokens"
    Path(path).write_text("no list")
    assert (_status(lets, again), _status(lets, ""), len(said)) == (401, 401, 1)
