"""Which requests share a connection: those of one task to one origin without an effect, no others (RFC 9110 §9.2)."""

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import closing, suppress
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote

import pytest

from noetl.clients import connections
from noetl.ports import ToolCall
from noetl.tools import http
from noetl_ir.expr import Json
from noetl_ir.outcome import Outcome
from tool_doubles import FakeEnv, call_of, failed, http_server, waited


class Seen(NamedTuple):
    """A request that came: over which connection, its method, path and cookie."""

    connection: int
    method: str
    path: str
    cookie: str | None


SEEN: list[Seen] = []


class Handler(BaseHTTPRequestHandler):
    """Keeps its connections and tells them apart; `/cut` ends the connection after its second request, unanswered."""

    protocol_version = "HTTP/1.1"

    def _respond(self) -> None:
        self.rfile.read(int(self.headers.get("content-length") or 0))
        connection = self.client_address[1]
        again = any(seen.connection == connection for seen in SEEN)
        SEEN.append(Seen(connection, self.command, self.path, self.headers.get("cookie")))
        if again and self.path == "/cut":
            self.close_connection = True
            return
        to = unquote(self.path.partition("?to=")[2])
        self.send_response(302 if to else 200)
        self.send_header("set-cookie", "mark=1; Path=/")
        if to:
            self.send_header("location", to)
        body = json.dumps(connection).encode()
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    do_GET = do_POST = do_PUT = do_DELETE = do_HEAD = do_OPTIONS = _respond

    def log_message(self, format: str, *args: object) -> None:
        """Nothing: tests print on their own account."""


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with http_server(Handler) as address:
        yield address


@pytest.fixture
def env(tmp_path: Path) -> FakeEnv:
    SEEN.clear()
    return FakeEnv(
        tmp_path, {"one": {"token": "t-1"}, "two": {"token": "t-2"}, "basic": {"user": "u", "password": "p"}}
    )


def get(url: str, path: str = "/", **fields: Json) -> ToolCall:
    return call_of("http", {"url": url + path, **fields})


def sent(env: FakeEnv, *calls: ToolCall) -> list[Outcome]:
    """The outcomes of some calls, one after the other on one loop."""

    async def work() -> list[Outcome]:
        return [await http.run(call, env) for call in calls]

    return waited(work())


def over(env: FakeEnv, *calls: ToolCall) -> list[int]:
    """Over which connections some calls were answered, numbered as they came."""
    assert all(outcome.status == "ok" for outcome in sent(env, *calls))
    found = list(dict.fromkeys(seen.connection for seen in SEEN))
    return [found.index(seen.connection) for seen in SEEN]


def test_requests_of_a_task_go_over_one_connection(env: FakeEnv, url: str) -> None:
    calls = [get(url, "/a", params={"page": 1}), get(url, "/b", params={"page": 2}), get(url, method="HEAD")]
    assert over(env, *calls, get(url, method="OPTIONS"), get(url)) == [0] * 5


def test_under_a_fence_too(env: FakeEnv, url: str) -> None:
    env.fenced = lambda address: None
    assert over(env, get(url), get(url)) == [0, 0]


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE"])
def test_what_may_have_an_effect_has_a_connection_of_its_own(env: FakeEnv, url: str, method: str) -> None:
    """A request with an effect could not be sent again if the server closed a kept connection just then."""
    assert over(env, get(url), get(url, method=method), get(url, method=method), get(url)) == [0, 1, 2, 0]


@pytest.mark.parametrize(
    "other",
    [
        {"execution_id": "e2"},
        {"step": "another"},
        {"task": "another"},
        {"auth": "one"},
        {"auth": "basic"},
        {"headers": {"Cookie": "me=1"}},
        {"headers": {"X-Key": "k"}},
        {"verify_ssl": False},
    ],
    ids=str,
)
def test_nobody_else_has_the_connection(env: FakeEnv, url: str, other: dict[str, Json]) -> None:
    fields = {name: value for name, value in other.items() if name not in ("execution_id", "step", "task")}
    elsewhere = {name: str(value) for name, value in other.items() if name not in fields}
    call = get(url, **fields)._replace(**elsewhere)  # type: ignore[arg-type]
    assert over(env, get(url), call, get(url), call) == [0, 1, 0, 1]


def test_credentials_do_not_share_one(env: FakeEnv, url: str) -> None:
    assert over(env, get(url, auth="one"), get(url, auth="two"), get(url, auth="one")) == [0, 1, 0]


def test_fenced_and_free_do_not_share_one(env: FakeEnv, url: str) -> None:
    async def work() -> None:
        for fence in (None, lambda address: None, None):
            env.fenced = fence
            await http.run(get(url), env)

    waited(work())
    first, second, third = (seen.connection for seen in SEEN)
    assert first == third != second


def test_two_names_of_one_address_do_not_share_one(env: FakeEnv, url: str) -> None:
    """Over TLS the certificate was that of the first name."""
    env.fenced = lambda address: None
    assert over(env, get(url), get(url.replace("127.0.0.1", "127.1")), get(url)) == [0, 1, 0]


def test_a_fence_is_asked_about_each_request(env: FakeEnv, url: str) -> None:
    allowed = [None, "no more"]
    env.fenced = lambda address: allowed.pop(0)
    outcomes = sent(env, get(url), get(url))
    assert outcomes[0].status == "ok" and failed(outcomes[1])["code"] == "http.refused"


def test_a_redirect_elsewhere_goes_over_a_connection_of_its_own(env: FakeEnv, url: str) -> None:
    with http_server(Handler) as other:
        away = get(url, f"/?to={other}/there", follow_redirects=True)
        home = get(url, f"/?to={url}/here", follow_redirects=True)
        assert over(env, away, away, home) == [0, 1, 0, 2, 0, 0]


def test_cookies_of_an_answer_are_not_kept(env: FakeEnv, url: str) -> None:
    sent(env, get(url), get(url), get(url, "/?to=/there", follow_redirects=True))
    assert [seen.cookie for seen in SEEN] == [None, None, None, "mark=1"], "within a call they are"


def test_one_that_the_server_closed_is_replaced_without_a_word(env: FakeEnv, url: str) -> None:
    outcomes = sent(env, get(url, "/cut"), get(url, "/cut"), get(url, "/cut"))
    assert [outcome.status for outcome in outcomes] == ["ok"] * 3
    assert [outcome.extras["http"]["status"] for outcome in outcomes if isinstance(outcome.extras["http"], dict)] == [
        200
    ] * 3


def test_a_new_one_that_breaks_is_an_error_and_nothing_is_sent_again(env: FakeEnv) -> None:
    came = []

    def hang_up(listening: socket.socket) -> None:
        for _ in range(2):
            connection = listening.accept()[0]
            came.append(connection.recv(1 << 16))
            connection.close()

    with closing(socket.create_server(("127.0.0.1", 0))) as listening:
        serving = threading.Thread(target=hang_up, args=(listening,), daemon=True)
        serving.start()
        address = f"http://127.0.0.1:{listening.getsockname()[1]}"
        outcome = sent(env, get(address))[0]
        assert failed(outcome)["code"] == "http.protocol" and len(came) == 1
        sent(env, get(address))
        serving.join(60)


def test_a_call_that_ends_early_keeps_nothing(env: FakeEnv, url: str) -> None:
    big = get(url)._replace(knobs={"max_response_bytes": 1})
    outcomes = sent(env, big, get(url))
    assert failed(outcomes[0])["code"] == "http.too_large"
    assert SEEN[0].connection != SEEN[1].connection, "the rest of an answer is never taken for the next one"


def test_what_is_not_used_is_closed(env: FakeEnv, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "KEPT", 0)
    assert over(env, get(url), get(url)) == [0, 1]


def test_only_so_many_are_kept(env: FakeEnv, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "MOST", 2)
    tasks = [get(url)._replace(task=name) for name in "abcba"]
    assert over(env, *tasks) == [0, 1, 2, 1, 3]


def test_a_proxy_of_the_environment_is_used(env: FakeEnv, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", url)
    connections.is_proxied.cache_clear()
    try:
        assert over(env, get("http://nowhere.test", "/far"), get("http://nowhere.test", "/far")) == [0, 1]
        assert SEEN[0].path == "http://nowhere.test/far"
        env.fenced = lambda address: None  # a proxy would connect to what is refused here
        assert failed(sent(env, get("http://nowhere.invalid", "/far"))[0])["code"] == "http.connect"
    finally:
        connections.is_proxied.cache_clear()


def test_an_answer_that_nobody_asked_for_is_nobody_s_answer(env: FakeEnv) -> None:
    """A second response came with the one before: the next request would take it for its own (RFC 9112 §6.3)."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        threading.Thread(target=_say_more, args=(listening,), daemon=True).start()
        address = f"http://127.0.0.1:{listening.getsockname()[1]}"
        outcomes = sent(env, *(get(address, f"/{number}") for number in range(4)))
    assert [_body(outcome) for outcome in outcomes] == ["/0", "/1", "/2", "/3"]


def _body(outcome: Outcome) -> Json:
    assert isinstance(outcome.result, dict)
    return outcome.result["body"]


def _say_more(listening: socket.socket) -> None:
    """Answer each request with its path, and right behind it with what nobody asked for."""
    while True:
        try:
            connection, _ = listening.accept()
        except OSError:
            return
        with connection, suppress(OSError):
            while data := connection.recv(65536):
                said = (data.split()[1], b"unasked")
                connection.sendall(
                    b"".join(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n%s" % (len(b), b) for b in said)
                )
