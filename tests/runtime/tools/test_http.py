"""http against a real server on this machine (LANGUAGE §7)."""

import json
import threading
from base64 import b64decode, b64encode
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from urllib.parse import quote, unquote, unquote_plus

import pytest

from harness.running import run
from noetl.tools import http
from noetl_ir.codec import pack
from noetl_ir.expr import Json
from noetl_ir.kinds.http import KIND
from noetl_ir.outcome import Outcome
from noetl_ir.responses import shown_url, whole_error
from tool_doubles import FakeEnv, call_of, cancelled, failed, http_server, waited

FORM = "application/x-www-form-urlencoded"
RELEASE = threading.Event()
SLOW = threading.Semaphore(0)


class Handler(BaseHTTPRequestHandler):
    """Echoes requests; some paths answer in a way of their own."""

    def _respond(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        echo = {"method": self.command, "path": self.path, "body": body.decode(), "headers": {}}
        echo["headers"] = {name.lower(): value for name, value in self.headers.items()}
        status, kind, content = 200, "application/json", json.dumps(echo).encode()
        match self.path.partition("?")[0]:
            case "/slow":
                SLOW.release()
                RELEASE.wait(60)
            case "/null":
                content = b'{"cursor": null, "items": [null, 9007199254740993]}'
            case "/text":
                kind, content = "text/plain; charset=latin-1", "é".encode("latin-1")
            case "/bytes":
                kind, content = "application/octet-stream", b"\xff\x00"
            case "/broken":
                content = b"{no json"
            case "/nan":
                content = b"[NaN]"
            case "/empty":
                status, content = 204, b""
            case "/busy":
                status = 503
            case "/moved":
                status, content = 302, b""
            case path if path.startswith("/away/"):
                status, content = int(path.removeprefix("/away/")), b""
            case path if path[1:].isdigit():
                status = int(path[1:])
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(content)))
        self.send_header("x-two", "a")
        self.send_header("x-two", "b")
        if self.path.startswith("/busy?after="):
            self.send_header("retry-after", unquote_plus(self.path.partition("=")[2]))
        if self.path.startswith("/away/"):
            self.send_header("location", unquote(self.path.partition("?to=")[2]))
        elif status == 302:
            self.send_header("location", "/there")
        self.end_headers()
        self.wfile.write(content)

    do_GET = do_POST = do_PUT = do_DELETE = do_HEAD = _respond

    def log_message(self, format: str, *args: object) -> None:
        """Nothing: tests print on their own account."""


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with http_server(Handler) as address:
        yield address
        RELEASE.set()


@pytest.fixture
def env(tmp_path: Path) -> FakeEnv:
    credentials: dict[str, dict[str, Json]] = {
        "bearer": {"token": "t-1"},
        "basic": {"username": "u", "password": "p"},
        "key": {"api_key": "k-1", "header": "X-Api-Key"},
        "useless": {"host": "h"},
        "empty": {"token": ""},
        "lines": {"value": "canary-1\ncanary-2"},
        "space": {"api_key": "canary-3 ", "header": "X-Api-Key"},
        "letter": {"token": "canary-\xf6"},
    }
    return FakeEnv(tmp_path, credentials)


def sent(env: FakeEnv, knobs: dict[str, Json] | None = None, timeout: Json = None, **fields: Json) -> Outcome:
    return waited(http.run(call_of("http", fields, knobs=knobs, timeout=timeout), env))


def echo_of(outcome: Outcome) -> dict[str, Json]:
    assert outcome.status == "ok" and isinstance(outcome.result, dict), outcome
    echo = outcome.result["data"]
    assert isinstance(echo, dict)
    return echo


def slow_http(_: Path, url: str) -> dict[str, Json]:
    """A call that is held up by a server that never responds."""
    return {"url": url}


def header(outcome: Outcome, name: str) -> Json:
    headers = echo_of(outcome)["headers"]
    assert isinstance(headers, dict)
    return headers.get(name)


def test_the_answer(env: FakeEnv, url: str) -> None:
    outcome = sent(env, url=f"{url}/a")
    assert isinstance(outcome.result, dict)
    assert outcome.result.keys() == {"status_code", "headers", "data", "body", "url", "elapsed"}
    assert outcome.result["url"] == f"{url}/a"
    assert isinstance(outcome.result["elapsed"], float) and 0 < outcome.result["elapsed"] < 30
    assert outcome.result["status_code"] == 200
    assert outcome.result["data"] == outcome.result["body"]
    extra = outcome.extras["http"]
    assert isinstance(extra, dict)
    assert extra["status"] == 200 and extra["headers"] == outcome.result["headers"]
    assert isinstance(extra["headers"], dict) and extra["headers"]["x-two"] == "a, b"


@pytest.mark.parametrize(
    ("path", "data", "encoding"),
    [
        ("/null", {"cursor": None, "items": [None, 9007199254740993]}, "json"),
        ("/text", "é", "text"),
        ("/bytes", "/wA=", "base64"),
        ("/broken", "{no json", "text"),
        ("/nan", "[NaN]", "text"),
        ("/empty", None, "none"),
    ],
)
def test_how_a_body_is_read(env: FakeEnv, url: str, path: str, data: Json, encoding: str) -> None:
    outcome = sent(env, url=url + path)
    assert isinstance(outcome.result, dict) and isinstance(outcome.extras["http"], dict)
    assert (outcome.result["data"], outcome.extras["http"]["encoding"]) == (data, encoding)
    pack(outcome.as_json())


def test_the_query_goes_over_that_of_the_address(env: FakeEnv, url: str) -> None:
    params: Json = {"b": [1, 2], "c": None, "d": True, "a": "x y&"}
    assert echo_of(sent(env, url=f"{url}/q?a=1&z=2", params=params))["path"] == "/q?a=x+y%26&z=2&b=1&b=2&d=true"
    assert echo_of(sent(env, endpoint=f"{url}/q", params=[["a", 1], ["a", 2]]))["path"] == "/q?a=1&a=2"


@pytest.mark.parametrize(
    ("fields", "body", "kind"),
    [
        ({"json": {"a": None, "é": 1}}, '{"a": null, "é": 1}', "application/json"),
        ({}, "", None),
        ({"json": {}}, "{}", "application/json"),
        ({"json": None}, "null", "application/json"),
        ({"body": {"a": [1]}}, '{"a": [1]}', "application/json"),
        ({"payload": [1]}, "[1]", "application/json"),
        ({"body": "raw"}, "raw", None),
        ({"data": {"a": 1, "b": {"c": 2}}}, '{"a": 1, "b": {"c": 2}}', "application/json"),
        ({"data": "raw"}, "raw", None),
        ({"data": {"body": [1]}}, "[1]", "application/json"),
        ({"data": {"body": 1, "c": 2}}, '{"body": 1, "c": 2}', "application/json"),
        ({"data": {"query": "text"}}, '{"query": "text"}', "application/json"),
        ({"data": {"query": None, "body": [1]}}, "[1]", "application/json"),
        ({"data": {"query": None}}, "", None),
        ({"form": {"a": "\ud800"}}, "a=%ED%A0%80", FORM),
        ({"form": {"a": None, "b": 1}}, "b=1", FORM),
        ({"data": {"query": {"a": 1}, "c": 2}}, '{"query": {"a": 1}, "c": 2}', "application/json"),
        ({"form": {"a": "é b", "c": [1, 2]}}, "a=%C3%A9+b&c=1&c=2", FORM),
        ({"form": {"a": 1}, "headers": {"Content-Type": "text/x"}}, "a=1", "text/x"),
        ({"payload": {"a": "é b"}, "headers": {"content-type": FORM}}, "a=%C3%A9+b", FORM),
        ({"body": {"a": 1}, "headers": {"Content-Type": f"{FORM}; charset=utf-8"}}, "a=1", f"{FORM}; charset=utf-8"),
        ({"data": {"a": 1}, "headers": {"Content-Type": FORM}}, "a=1", FORM),
        ({"json": {"a": 1}, "headers": {"Content-Type": FORM}}, '{"a": 1}', FORM),
        ({"body": "a=1", "headers": {"Content-Type": FORM}}, "a=1", FORM),
    ],
)
def test_bodies(env: FakeEnv, url: str, fields: dict[str, Json], body: str, kind: str | None) -> None:
    outcome = sent(env, url=url, method="post", **fields)
    assert (echo_of(outcome)["body"], header(outcome, "content-type")) == (body, kind)


@pytest.mark.parametrize(
    ("method", "fields", "path"),
    [
        ("GET", {"data": {"a": "x y", "b": [1, 2]}}, "/q?a=x+y&b=1&b=2"),
        ("DELETE", {"data": {"a": 1}, "params": {"p": 2}}, "/q?p=2&a=1"),
        ("GET", {"data": {"query": {"a": 1}}}, "/q?a=1"),
        ("GET", {"data": {"query": "text", "n": 1}}, "/q?query=text&n=1"),
        ("GET", {"data": {}}, "/q"),
        ("DELETE", {"data": {"a": None, "b": 1}}, "/q?b=1"),
        ("POST", {"data": {"query": {"a": 1}}}, "/q?a=1"),
    ],
)
def test_data_without_a_body_goes_into_the_query(
    env: FakeEnv, url: str, method: str, fields: dict[str, Json], path: str
) -> None:
    """As in NoETL (`noetl/tools/http/request.py`)."""
    echo = echo_of(sent(env, url=f"{url}/q", method=method, **fields))
    assert (echo["path"], echo["body"]) == (path, "")


def test_both_parts_of_data_go_where_they_say(env: FakeEnv, url: str) -> None:
    data: Json = {"query": {"a": 1}, "body": {"b": 2}}
    echo = echo_of(sent(env, url=f"{url}/q", method="POST", data=data))
    assert (echo["path"], echo["body"]) == ("/q?a=1", '{"b": 2}')


@pytest.mark.parametrize("name", ["body", "payload", "data", "form"])
@pytest.mark.parametrize("kind", [FORM, FORM.title(), "multipart/form-data"])
def test_what_is_no_form_is_not_sent_as_one(env: FakeEnv, url: str, name: str, kind: str) -> None:
    """JSON under the header of a form, or a form under that of several parts, says something else than was written."""
    values: list[Json] = [[["a", 1]], [], 7, False] if name != "form" else []
    if kind.startswith("multipart"):
        values.append({"a": 1})
    for value in values:
        outcome = sent(env, url=url, method="POST", headers={"Content-Type": kind}, **{name: value})
        assert failed(outcome)["code"] == "fields.invalid", value


def test_a_query_beside_a_body_is_a_mapping(env: FakeEnv, url: str) -> None:
    for method in ("GET", "POST"):
        outcome = sent(env, url=url, method=method, data={"query": "a=1", "body": {"b": 2}})
        assert failed(outcome)["code"] == "fields.invalid"


def test_headers_and_the_idempotency_key(env: FakeEnv, url: str) -> None:
    outcome = sent(env, url=url, method="PUT", headers={"X-A": 1, "X-B": None, "Content-Type": "text/x"}, json=1)
    assert [header(outcome, name) for name in ("x-a", "x-b", "content-type")] == ["1", None, "text/x"]
    assert header(outcome, "idempotency-key") == "act-1"
    assert header(sent(env, url=url), "idempotency-key") is None
    mine = sent(env, url=url, method="POST", headers={"idempotency-key": "mine"})
    assert header(mine, "idempotency-key") == "mine"


def test_auth(env: FakeEnv, url: str) -> None:
    assert header(sent(env, url=url, auth="bearer"), "authorization") == "Bearer t-1"
    basic = header(sent(env, url=url, auth="basic"), "authorization")
    assert b64decode(str(basic).removeprefix("Basic ")) == b"u:p"
    assert header(sent(env, url=url, auth="key"), "x-api-key") == "k-1"
    assert header(sent(env, url=url, auth={"credential": "bearer"}), "authorization") == "Bearer t-1"
    assert header(sent(env, url=url, auth={"token": "t-2"}), "authorization") == "Bearer t-2"
    own = sent(env, url=url, auth="bearer", headers={"Authorization": "mine"})
    assert header(own, "authorization") == "mine"
    assert failed(sent(env, url=url, auth="nobody"))["code"] == "credential.missing"
    assert failed(sent(env, url=url, auth="useless"))["code"] == "fields.invalid"


@pytest.mark.parametrize(
    ("auth", "why"),
    [
        ("empty", "credential 'empty': its `token` is empty: give it the token"),
        ("lines", "credential 'lines': its `value` has a line end or another control character in it"),
        ("space", "credential 'space': its `api_key` begins or ends with a space"),
        ("letter", "credential 'letter': its `token` has a character in it that is not ASCII"),
        ({"token": " "}, "`auth`: its `token` is empty"),
    ],
)
def test_a_token_that_no_request_can_carry_is_named_and_not_shown(env: FakeEnv, url: str, auth: Json, why: str) -> None:
    told = failed(sent(env, url=url, auth=auth))
    assert told["code"] == "fields.invalid" and str(told["message"]).startswith(why), told
    assert "canary" not in str(told) and "xf6" not in str(told)


@pytest.mark.parametrize("value", ["canary\r\nX-Other: 1", "canary ", " canary", "canary\0", "canary \u20ac"])
def test_a_header_that_no_request_can_carry_is_named_and_not_shown(env: FakeEnv, url: str, value: str) -> None:
    told = failed(sent(env, url=url, headers={"X-Key": value}))
    assert told["code"] == "http.request" and "the header `X-Key` " in str(told["message"])
    assert "canary" not in str(told) and "u20ac" not in str(told)
    assert header(sent(env, url=url, headers={"X-Key": ""}), "x-key") == ""


@pytest.mark.parametrize(("status", "again"), [(400, False), (404, False), (429, True), (500, True), (503, True)])
def test_a_bad_status_is_an_error_that_keeps_the_answer(env: FakeEnv, url: str, status: int, again: bool) -> None:
    outcome = sent(env, url=f"{url}/{status}")
    assert (failed(outcome)["code"], failed(outcome)["retryable"]) == ("http.status", again)
    assert isinstance(outcome.result, dict) and isinstance(outcome.extras["http"], dict)
    assert outcome.result["status_code"] == outcome.extras["http"]["status"] == status
    assert isinstance(outcome.result["data"], dict) and outcome.result["data"]["path"] == f"/{status}"


@pytest.mark.parametrize("status", [200, 201, 400, 401, 404, 408, 425, 429, 500, 503])
def test_a_script_that_says_the_status_gives_the_outcome_that_the_tool_gives(
    env: FakeEnv, url: str, status: int
) -> None:
    real = sent(env, url=f"{url}/{status}")
    assert isinstance(real.result, dict) and isinstance(real.extras["http"], dict)
    body = real.result["data"]
    playbook = f"workflow:\n  - {{step: start, tool: {{kind: http, url: '{url}/{status}'}}}}\n"
    entry = {"step": "start", "outcome": {"http": {"status": status}, "result": {"data": body}}}
    done = run(playbook, json.dumps({"outcomes": [entry]})).of("task.done")[-1].data
    outcome = {key: value for key, value in done["outcome"].items() if key != "meta"}
    # How a body was read is no part of what the kind declares.
    extra = {key: value for key, value in real.extras["http"].items() if key in KIND.extras["http"]}
    expected = {**real.as_json(), "http": {**extra, "headers": {}}}
    error = whole_error(real)
    assert outcome["status"] == expected["status"] and outcome["http"] == expected["http"]
    assert outcome.get("error") == error
    assert done["result"] == {**real.result, "headers": {}, "elapsed": 0.0}


def test_a_redirect_to_another_origin_takes_nothing_along_that_says_who_asks(env: FakeEnv, url: str) -> None:
    """Whatever the header is called: any of them may hold a key (curl's CVE-2018-1000007)."""
    env.credentials["shop"] = {"token": "shop-key-0001", "header": "X-Api-Key"}
    headers = {"X-Shop": "shop-key-0002", "Cookie": "k=shop-key-0003", "Accept": "text/plain"}
    with http_server(Handler) as other:
        for status in (301, 302, 303, 307, 308):
            away, home = f"{url}/away/{status}?to={other}/there", f"{url}/away/{status}?to={url}/there"
            seen = echo_of(sent(env, url=away, auth="shop", headers=headers, follow_redirects=True))
            assert "shop-key" not in str(seen) and seen["headers"]["accept"] == "text/plain"
            seen = echo_of(sent(env, url=home, auth="shop", headers=headers, follow_redirects=True))
            assert "shop-key-0001" in str(seen) and "shop-key-0002" in str(seen)
        for status in (307, 308):
            away = f"{url}/away/{status}?to={other}/there"
            problem = failed(sent(env, url=away, method="POST", json={"key": "shop-key-0001"}, follow_redirects=True))
            assert problem["code"] == "http.refused" and "take the body along" in str(problem["message"])
        away = f"{url}/away/303?to={other}/there"
        seen = echo_of(sent(env, url=away, method="POST", json={"key": "shop-key-0001"}, follow_redirects=True))
        assert seen["method"] == "GET" and "shop-key" not in str(seen)


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_no_way_of_giving_a_key_follows_a_redirect_to_another_origin(env: FakeEnv, url: str, status: int) -> None:
    """Parameters, cookies, a password in the address or of a credential; and none comes back with a second redirect."""
    env.credentials["shop"] = {"username": "shop", "password": "shop-key-0001"}
    basic = b64encode(b"shop:shop-key-0001").decode()
    with http_server(Handler) as other:
        to = f"/away/{status}?to={other}/there"
        within = url.replace("http://", "http://shop:shop-key-0001@")
        twice = f"{url}/away/{status}?to=" + quote(f"{other}/away/{status}?to={url}/back", safe="")
        problem = failed(sent(env, url=url + to, params={"key": "shop-key-0001"}, follow_redirects=True))
        assert problem["code"] == "http.refused" and "a secret along in its address" in str(problem["message"])
        for asked in (
            {"url": url + to, "auth": "shop"},
            {"url": within + to},
            {"url": url + to, "headers": {"Cookie": "k=shop-key-0001", "Proxy-Authorization": f"Basic {basic}"}},
            {"url": url + to, "headers": {"Referer": f"{url}/?key=shop-key-0001", "Origin": "http://shop-key-0001"}},
            {"url": twice, "auth": "shop"},
        ):
            seen = echo_of(sent(env, **asked, follow_redirects=True))
            assert seen["path"] in ("/there", "/back"), seen
            assert "shop-key-0001" not in str(seen) and basic not in str(seen), (asked, seen)


def test_redirects_are_followed_only_when_asked_for(env: FakeEnv, url: str) -> None:
    outcome = sent(env, url=f"{url}/moved")
    assert isinstance(outcome.result, dict) and outcome.result["status_code"] == 302
    followed = sent(env, url=f"{url}/moved", follow_redirects=True)
    assert echo_of(followed)["path"] == "/there"
    assert isinstance(followed.result, dict) and followed.result["url"] == f"{url}/there"


def test_the_address_of_an_answer_is_without_user_and_password(env: FakeEnv, url: str) -> None:
    outcome = sent(env, url=url.replace("http://", "http://me:hidden@") + "/a?q=1")
    assert isinstance(outcome.result, dict) and outcome.result["url"] == f"{url}/a?q=1"
    assert echo_of(sent(env, {"follow_redirects": True}, url=f"{url}/moved"))["path"] == "/there"


@pytest.mark.parametrize("timeout", [0.15, "150ms", {"read": 0.15}, {"connect": 60, "read": "150ms"}])
def test_scenario_46_a_timeout_is_an_error_outcome(env: FakeEnv, url: str, timeout: Json) -> None:
    for outcome in (sent(env, url=f"{url}/slow", timeout=timeout), sent(env, timeout=timeout, url=f"{url}/slow")):
        assert (failed(outcome)["code"], failed(outcome)["retryable"]) == ("timeout", True)
    assert echo_of(sent(env, url=f"{url}/fast", timeout=60))["path"] == "/fast", "a second try is not disturbed"


def test_the_field_sets_the_timeout_too(env: FakeEnv, url: str) -> None:
    call = call_of("http", {"url": f"{url}/slow", "timeout": {"read": 0.1}})
    assert failed(waited(http.run(call, env)))["code"] == "timeout"


def test_a_cancellation_closes_the_connection(env: FakeEnv, url: str) -> None:
    while SLOW.acquire(blocking=False):
        pass
    tool = http.run(call_of("http", {"url": f"{url}/slow"}), env)
    waited(cancelled(tool, lambda: SLOW.acquire(blocking=False)))


def test_an_answer_over_the_limit(env: FakeEnv, url: str) -> None:
    assert failed(sent(env, {"max_response_bytes": 5}, url=f"{url}/a"))["code"] == "http.too_large"


def test_nobody_answers(env: FakeEnv) -> None:
    error = failed(sent(env, url="http://127.0.0.1:1/"))
    assert (error["code"], error["retryable"]) == ("http.connect", True)


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"url": "example.test"}, "http.request"),
        ({"url": "ftp://example.test"}, "http.request"),
        ({"url": "http://127.0.0.1:port/"}, "http.request"),
        ({"url": "http://127.0.0.1:65536/"}, "http.request"),
        ({"url": "http://127.0.0.1:-1/"}, "http.request"),
        ({"url": "URL", "headers": {"a": "b\nc"}}, "http.request"),
        ({"url": "URL", "method": "BAD METHOD"}, "fields.invalid"),
        ({"url": "URL", "body": 1, "json": 2}, "fields.invalid"),
        ({"url": "URL", "timeout": {"conect": 1}}, "fields.invalid"),
        ({"url": "URL", "params": [1]}, "fields.invalid"),
        ({}, "fields.invalid"),
    ],
)
def test_a_request_that_cannot_be_sent(env: FakeEnv, url: str, fields: dict[str, Json], code: str) -> None:
    filled = {name: url if value == "URL" else value for name, value in fields.items()}
    call = call_of("http", filled)
    assert failed(waited(http.run(call, env)))["code"] == code


def test_a_redirect_to_a_port_that_is_none(env: FakeEnv, url: str) -> None:
    error = failed(sent(env, url=f"{url}/away/302?to=http://127.0.0.1:99999/", follow_redirects=True))
    assert error["code"] == "http.request" and "the port 99999 is none" in str(error["message"])


def test_an_error_names_the_method_and_the_address_without_what_may_be_secret(env: FakeEnv, url: str) -> None:
    host = url.removeprefix("http://")
    error = failed(
        sent(env, url=f"http://ann:pass-word@{host}/503?key=k-123#part", method="delete", params={"t": "u-1"})
    )
    assert error["message"] == f"DELETE http://{host}/503: the server answered with status 503"
    error = failed(sent(env, url="http://ann:pass-word@127.0.0.1:1/?key=k-123"))
    assert str(error["message"]).startswith("GET http://127.0.0.1:1/: no connection: ")


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://api.test/a/b?x=1", "https://api.test/a/b"),
        ("//u:p@api.test/a@b#c", "//api.test/a@b"),
        ("u:p@api.test/a", "api.test/a"),
        ("http://[::1]:80/a", "http://[::1]:80/a"),
        ("", ""),
        ("http://api.test/" + "a" * 300, "http://api.test/" + "a" * 184 + "…"),
    ],
)
def test_an_address_is_shown_without_user_and_query(url: str, shown: str) -> None:
    assert shown_url(url) == shown


def test_scenario_68_an_address_that_ends_like_a_file_is_an_address(env: FakeEnv, url: str) -> None:
    assert echo_of(sent(env, url=f"{url}/x.sh", method="POST", body="x.sql"))["body"] == "x.sql"


def test_without_the_library_the_outcome_names_the_extra(env: FakeEnv, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "httpx", None)
    error = failed(sent(env, url="http://127.0.0.1:1"))
    assert (error["code"], "pip install httpx" in str(error["message"])) == ("extra.missing", True)


def test_the_seconds_that_an_answer_asks_to_wait(env: FakeEnv, url: str) -> None:
    http_of = sent(env, url=f"{url}/busy?after=120").extras["http"]
    assert isinstance(http_of, dict) and http_of["retry_after"] == 120
    http_of = sent(env, url=f"{url}/busy").extras["http"]
    assert isinstance(http_of, dict) and http_of["retry_after"] is None
    # A date long past: there is nothing to wait for.
    http_of = sent(env, url=f"{url}/busy?after={quote('Sun, 06 Nov 1994 08:49:37 GMT')}").extras["http"]
    assert isinstance(http_of, dict) and http_of["retry_after"] == 0
