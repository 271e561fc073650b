"""Tokens with an end and with scopes: their file, who is refused, and sessions that end with them."""

import json
import time
from pathlib import Path
from typing import Any

import pytest
from starlette.requests import HTTPConnection
from starlette.responses import Response

from harness.serving import served
from noetl.api.authorization import Authorization
from noetl.api.bearer_tokens import BearerToken, TokenProblem, add_token, digest_of, read_tokens, replace_token
from noetl.api.page_sessions import LASTS, PageSessions
from noetl.api.problems import BadRequest
from noetl.api.routes import ROUTES
from noetl.ports.scopes import is_within, path_trouble

END = 1_800_000_000
"""2027-01-15T08:00:00Z in seconds since the epoch."""


def _connection(token: str = "", cookie: str = "") -> HTTPConnection:
    headers = [(b"host", b"localhost")]
    headers += [(b"authorization", f"Bearer {token}".encode())] if token else []
    headers += [(b"cookie", cookie.encode())] if cookie else []
    return HTTPConnection({"type": "http", "path": "/", "headers": headers, "scheme": "http", "query_string": b""})


@pytest.mark.parametrize(
    ("path", "prefixes", "fits"),
    [
        ("team-a/x", ["team-a/"], True), ("team-a/deep/x", ["team-a/"], True), ("team-ab/x", ["team-a/"], False),
        ("team-a", ["team-a/"], False), ("team-a", ["team-a"], True), ("team-a/x", ["team-a"], False),
        ("team-ab", ["team-a"], False), ("Team-a/x", ["team-a/"], False), ("b", ["a/", "b"], True), ("", ["a/"], False),
        ("anything", [], True),
    ],
)  # fmt: skip
def test_a_prefix_ends_with_a_slash_or_is_a_whole_path(path: str, prefixes: list[str], fits: bool) -> None:
    assert is_within(path, prefixes) is fits


@pytest.mark.parametrize("text", ["", "/", "//", "/team-a/", "team-*", "a?", "a\nb/", "\ud800/", "x" * 513])
def test_what_can_be_no_prefix_is_told(text: str) -> None:
    assert path_trouble(text)


def test_the_file_keeps_ends_and_scopes(tmp_path: Path) -> None:
    path = str(tmp_path / "tokens")
    token = add_token(path, "ann", "operator", expires=END * 1_000_000, paths=["team-a/"], pools=["gpu"])
    add_token(path, "bob", "viewer")
    ann, bob = read_tokens(path)
    assert ann == BearerToken("ann", "operator", digest_of(token), END * 1_000_000, ("team-a/",), ("gpu",))
    assert (bob.expires, bob.paths, bob.pools) == (None, (), ())
    rows = json.loads(Path(path).read_text())
    assert rows[0]["expires"] == "2027-01-15T08:00:00.000000Z"
    assert rows[1].keys() == {"name", "role", "sha256"}, "what has no limits is written as before"
    replace_token(path, "ann", "viewer", paths=["team-b/"])
    assert [(row.name, row.expires, row.paths) for row in read_tokens(path)] == [
        ("bob", None, ()), ("ann", None, ("team-b/",)),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("limits", "said"),
    [
        ({"expire": "2027-01-15T08:00:00Z"}, "`expire`"), ({"namespace": "a"}, "`namespace`"),
        ({"expires": None}, "expires"), ({"expires": 5}, "expires"), ({"expires": "2027-01-15"}, "expires"),
        ({"paths": []}, "not empty"), ({"paths": None}, "paths"), ({"paths": "team-a/"}, "paths"),
        ({"paths": [1]}, "no text"), ({"paths": ["/"]}, "paths"), ({"pools": [""]}, "pools"), ({"pools": {}}, "pools"),
        ({"paths": [f"t{number}/" for number in range(101)]}, "at most 100"),
    ],
)  # fmt: skip
def test_a_limit_that_is_not_understood_is_not_passed_over(tmp_path: Path, limits: dict[str, Any], said: str) -> None:
    row = {"name": "ann", "role": "admin", "sha256": "a" * 64, **limits}
    (tmp_path / "tokens").write_text(json.dumps([row]))
    with pytest.raises(TokenProblem, match=said):
        read_tokens(str(tmp_path / "tokens"))


def test_an_expired_token_is_refused_and_only_its_bearer_is_told() -> None:
    now = [END - 1.0]
    token = BearerToken("ann", "viewer", digest_of("secret"), END * 1_000_000)
    lets = Authorization(lambda: [token], PageSessions(lambda: bytes(32), lambda: now[0]), now=lambda: now[0])
    assert lets.check(_connection("secret"), "viewer") == token
    now[0] = END
    with pytest.raises(BadRequest, match="`ann` expired at 2027-01-15T08:00:00") as refused:
        lets.check(_connection("secret"), "viewer")
    assert refused.value.status == 401
    with pytest.raises(BadRequest, match="expired"):
        lets.known(_connection(), "secret")
    with pytest.raises(BadRequest) as other:
        lets.check(_connection("wrong"), "viewer")
    assert other.value.status == 401 and "expired" not in str(other.value)


def test_a_session_of_the_page_ends_with_its_token() -> None:
    now = [END - 3_600.0]
    soon = BearerToken("ann", "viewer", digest_of("secret"), END * 1_000_000)
    late = BearerToken("bob", "viewer", digest_of("other"), (END + LASTS) * 1_000_000)
    sessions = PageSessions(lambda: bytes(32), lambda: now[0])
    lets = Authorization(lambda: [soon, late], sessions, now=lambda: now[0])
    cookies = []
    for token, lasts in ((soon, 3_600), (late, LASTS)):
        response = Response()
        lets.sign_in(_connection(), response, token)
        header = response.headers["set-cookie"]
        assert f"Max-Age={lasts};" in header
        cookies.append(header.partition(";")[0])
    assert [lets.check(_connection(cookie=cookie), "viewer") for cookie in cookies] == [soon, late]
    now[0] = END
    with pytest.raises(BadRequest) as refused:
        lets.check(_connection(cookie=cookies[0]), "viewer")
    assert refused.value.status == 401
    assert lets.check(_connection(cookie=cookies[1]), "viewer") == late


def test_whose_token_says_its_end_and_scopes(tmp_path: Path) -> None:
    token = BearerToken("ann", "operator", digest_of("secret"), 32_503_679_999_000_000, ("team-a/",), ("gpu",))
    with served(tmp_path, token) as up:
        up.client.headers["authorization"] = "Bearer secret"
        told = up.client.get("/me").json().items()
        assert told >= {
            "name": "ann", "role": "operator", "operates": True, "expires": "2999-12-31T23:59:59.000000Z",
            "paths": ["team-a/"], "pools": ["gpu"],
        }.items()  # fmt: skip


@pytest.mark.parametrize("limits", [{"paths": ("team-a/",)}, {"pools": ("gpu",)}], ids=["paths", "pools"])
def test_what_has_no_scope_is_refused_to_whoever_has_one(tmp_path: Path, limits: dict[str, Any]) -> None:
    with served(tmp_path, BearerToken("ann", "admin", digest_of("secret"))._replace(**limits)) as up:
        up.client.headers["authorization"] = "Bearer secret"
        for row in ROUTES:
            if row.role and not row.scope:
                path = row.path.replace("{execution_id}", "e").replace("{digest}", "d").replace(":path}", "}")
                response = up.client.request(row.method, path)
                assert response.status_code == 403 and "`ann`" in response.json()["detail"], path


def test_what_goes_on_ends_when_its_token_is_for_something_else() -> None:
    tokens = [BearerToken("ann", "viewer", digest_of("secret"), None, ("team-a/",))]
    lets = Authorization(lambda: tokens, PageSessions(lambda: bytes(32)))
    connection = _connection("secret")
    lets.check(connection, "viewer", "execution")
    assert lets.lets(connection, "viewer", "execution")
    tokens[0] = tokens[0]._replace(paths=("team-b/",))
    assert not lets.lets(connection, "viewer", "execution")


def test_tokens_that_expire_within_a_week_are_counted(tmp_path: Path) -> None:
    day = 86_400
    ends = (None, -1, 0, 1, 6 * day, 7 * day, 7 * day + 1)
    tokens = [
        BearerToken(f"t{number}", "viewer", digest_of(f"{number}"), None if end is None else (END + end) * 1_000_000)
        for number, end in enumerate(ends)
    ]
    lets = Authorization(lambda: tokens, PageSessions(lambda: bytes(32)), now=lambda: float(END))
    assert lets.expiring() == 3, "in a second, in 6 days and in 7"
    soon = BearerToken("root", "admin", digest_of("root"), (int(time.time()) + day) * 1_000_000)
    with served(tmp_path, soon) as up:
        text = up.client.get("/metrics", headers={"authorization": "Bearer root"}).text
    assert "\nnoetl_expiring_tokens 1.0\n" in text
