"""The store of a server seen from elsewhere: lists are walked to their end, page by page."""

from contextlib import closing
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest

from harness.running import HEAD
from harness.serving import Served, served
from noetl.ports import ExecutionRow, Store, StoreFailure, Wanted
from noetl.ports.catalogue import Versions
from noetl.ports.mailbox import Letter, OpenWait, WantedMail
from noetl.store import http
from noetl.store.http import own_token
from tool_doubles import http_server

WAITS = "workflow:\n  - {step: start, tool: {name: w, kind: wait, events: [EVENT]}}\n"


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The addresses that are asked of the server, with pages of two rows."""
    monkeypatch.setattr(http, "_PAGE", 2)
    return []


def _store(up: Served, asked: list[str]) -> Store:
    """The store behind the API of a server in this process."""
    up.client.event_hooks = {"request": [lambda request: asked.append(request.url.query.decode())], "response": []}
    connection = http.Connection(str(up.client.base_url))
    connection._client = up.client
    return http.RemoteStore(connection)


def test_lists_are_walked_to_their_end(tmp_path: Path, asked: list[str]) -> None:
    with served(tmp_path) as up:
        for name in "abcde":
            text = HEAD.replace("t/t", f"t/{name < 'd'}") + WAITS.replace("EVENT", name)
            assert up.client.post("/playbooks?name=t.yaml", content=text.encode()).status_code == 201
            assert up.client.post("/executions", json={"path": f"t/{name < 'd'}"}).status_code == 201
        store, there = _store(up, asked), up.runtime.store
        for wanted in (Versions(), Versions("t/True"), Versions(newest=True), Versions(limit=3), Versions(limit=4)):
            assert store.plans(wanted) == there.plans(wanted) != ()
        assert store.plans(Versions(after=("t/True", 3))) == there.plans()[-2:]
        assert len(there.plans()) == 5
        for some in (Wanted(), Wanted(limit=3), Wanted(open=True), Wanted(before=there.executions()[1].execution_id)):
            assert store.executions(some) == there.executions(some) != ()
        assert all("limit=2" in query or "limit=1" in query for query in asked)


def test_a_letter_is_posted_once_however_often_it_is_asked(tmp_path: Path, asked: list[str]) -> None:
    with served(tmp_path) as up:
        store, there = _store(up, asked), up.runtime.store
        letter = Letter("k", "go", {"n": 1}, "a", 3_600_000_000)
        assert store.mailbox.post_letter(letter) is store.mailbox.post_letter(letter) is False
        with pytest.raises(StoreFailure, match="another signal was sent with that key"):
            store.mailbox.post_letter(letter._replace(data=2))
        there.create(ExecutionRow("e1", "p", "d", "running", None, 1, None))
        for call in ("one", "two"):
            there.mailbox.await_letter(OpenWait("k", "e1", call, ("go",)))
        assert [row.body["data"] for row in there.inbox("e1", 0) if isinstance(row.body, dict)] == [{"n": 1}]
        assert store.mailbox.post_letter(letter._replace(once="b")) is True
        for number in range(3):
            there.mailbox.await_letter(OpenWait("k", "e1", str(number), ("go", "stop")))
            store.mailbox.post_letter(letter._replace(key="l", name=str(number), once=str(number)))
        rows = store.mailbox.rows()
        assert rows == there.mailbox.rows() and [(row.key, row.name) for row in rows[:3]] == [
            ("k", "go"), ("k", "stop"), ("l", "0"),
        ]  # fmt: skip
        for wanted in (WantedMail("k"), WantedMail(prefix="l", limit=2), WantedMail(after=("l", "0"), limit=1)):
            assert store.mailbox.rows(wanted) == there.mailbox.rows(wanted) != ()
        with pytest.raises(StoreFailure, match="nothing is written from here"):
            store.mailbox.await_letter(OpenWait("k", "e1", "three", ("go",)))


class Refusing(BaseHTTPRequestHandler):
    """Refuses every token."""

    def log_message(self, *words: object) -> None:
        """Nothing is said about requests."""

    def do_GET(self) -> None:
        data = b'{"detail": "a valid token is needed"}'
        self.send_response(401)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


@pytest.mark.parametrize(
    ("token", "told"),
    [("", "put one that it knows into NOETL_TOKEN"), ("mine", "the one in NOETL_TOKEN is none of its")],
)
def test_who_lacks_a_token_is_told_where_it_goes(monkeypatch: pytest.MonkeyPatch, token: str, told: str) -> None:
    monkeypatch.setenv(own_token.TOKEN, token)
    with http_server(Refusing) as url, closing(http.Connection(url)) as connection:
        with pytest.raises(StoreFailure) as refused:
            connection.json("GET", "/counts")
        assert "a valid token is needed" in str(refused.value) and told in str(refused.value)
        assert "mine" not in str(refused.value)


def test_a_line_end_is_no_part_of_the_token(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(own_token.TOKEN, "canary\n")
    with closing(http.Connection("http://127.0.0.1:1")) as connection:
        assert connection._opened().headers["authorization"] == "Bearer canary"


@pytest.mark.parametrize("token", ["can\nary", "can ary", "can\u00fcary", "can\tary", "can\x7fary"])
def test_what_is_no_token_is_not_shown(monkeypatch: pytest.MonkeyPatch, token: str) -> None:
    monkeypatch.setenv(own_token.TOKEN, token)
    with closing(http.Connection("http://127.0.0.1:1")) as connection, pytest.raises(StoreFailure) as refused:
        connection.ask("GET", "/healthz")
    assert str(refused.value) == "NOETL_TOKEN holds no token: it has characters that no token has"


@pytest.mark.parametrize(
    ("url", "plain", "goes"),
    [
        ("http://127.0.0.1:1", "", True),
        ("http://localhost:1", "", True),
        ("http://[::1]:1", "", True),
        ("https://noetl.example", "", True),
        ("http://noetl.example:8080", "", False),
        ("http://localhost.example", "", False),
        ("http://127.0.0.1.example", "", False),
        ("http://10.0.0.7", "noetl.example", False),
        ("http://noetl.example:8080", "db noetl.example", True),
    ],
)
def test_a_token_goes_over_no_network_in_plain_text(
    monkeypatch: pytest.MonkeyPatch, url: str, plain: str, goes: bool
) -> None:
    monkeypatch.setenv(own_token.TOKEN, "canary")
    monkeypatch.setenv(own_token.PLAIN, plain)
    with closing(http.Connection(url)) as connection:
        if goes:
            assert connection._opened().headers["authorization"] == "Bearer canary"
            return
        with pytest.raises(StoreFailure, match=r"has no TLS, so the token in NOETL_TOKEN could be read") as refused:
            connection.ask("GET", "/healthz")
        assert "canary" not in str(refused.value)
        monkeypatch.delenv(own_token.TOKEN)
        assert "authorization" not in connection._opened().headers
