"""Failures of requests: the status, the address with its query and the body say why, without what is secret."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from noetl.cli.failures import failure_text, item_text, place_text, response_lines
from noetl_ir.responses import LETTERS, shown_response
from tool_doubles import JsonHandler, http_server

if TYPE_CHECKING:
    from conftest import Home
    from noetl_ir.expr import Json

SECRET = "canary-of-a-secret-0123456789"


class Orders(JsonHandler):
    """Has no orders of the south; of elsewhere it gives back what it was sent, behind so much else."""

    def do_GET(self) -> None:
        if "region=south" in self.path:
            self.respond({"error": "database is down"}, 500)
        elif "region=echo" in self.path:
            self.respond("x" * (LETTERS - 24) + self.headers["authorization"], 500)
        else:
            self.respond({"orders": []})


@pytest.fixture
def orders() -> Iterator[str]:
    with http_server(Orders) as url:
        yield f"{url}/orders"


LOOP = """
workflow:
  - step: fetch
    loop: {in: [north, south], iterator: region}
    tool:
      name: fetch_task
      kind: http
      url: URL
      params: {region: "{{ iter.region }}", api_key: k-1}
      spec: {policy: {rules: [{when: "{{ outcome.status == 'error' }}", then: THEN}, {else: {then: {do: continue}}}]}}
"""


def test_the_cause_of_a_failed_request_is_told_once(home: "Home", orders: str) -> None:
    then = '{do: fail, code: orders.down, message: "none: {{ outcome.error.message }}"}'
    plan = home.plan(LOOP.replace("URL", orders).replace("THEN", then))
    rows = home.run("run", plan).stdout.splitlines()
    said = f"orders.down: none: GET {orders}: the server answered with status 500; cause: http.status"
    assert rows[1].startswith("error: fetch[1] / fetch_task at ") and rows[1].endswith(said)
    response = f'response: 500 {orders}?region=south&api_key=***: {{"error": "database is down"}}'
    assert rows[2] == response
    assert response in home.run("status", "last").stdout.splitlines()


def test_a_secret_is_hidden_before_a_body_is_cut(home: "Home", orders: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("API", SECRET)
    body = f"""
keychain: [{{name: api, kind: env, map: {{token: API}}}}]
workflow:
  - step: fetch
    tool: {{kind: http, url: {orders}, params: {{region: echo}}, auth: api}}
"""
    done = home.run("run", home.plan(body))
    [told] = [row for row in done.stdout.splitlines() if row.startswith("response: ")]
    assert "[[secret:" in told and told.endswith("…")
    assert not any(SECRET[:length] in done.stdout for length in range(8, len(SECRET)))


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("http://u:p@h/a?n=1&Access_Token=x&sig=y#t", "http://h/a?n=1&Access_Token=***&sig=***"),
        ("http://h/a", "http://h/a"),
        ("http://h/?token", "http://h/?token"),
    ],
)
def test_an_address_is_told_with_its_query_but_for_secrets(url: str, shown: str) -> None:
    assert shown_response(500, {"url": url}) == {"status": 500, "url": shown}


def test_a_body_is_told_in_one_line_and_not_all_of_it() -> None:
    assert shown_response(404, {"data": "<p>\n  none\n</p>"}) == {"status": 404, "body": "<p> none </p>"}
    body = shown_response(404, {"data": [{"row": n} for n in range(100_000)]})["body"]
    assert isinstance(body, str) and body.startswith('[{"row": 0}, {"row": 1}') and len(body) == LETTERS + 1
    assert shown_response(404, {"data": None}) == {"status": 404}


def test_the_item_of_a_failure_in_loops_is_named() -> None:
    inner: Json = {"code": "c", "message": "m", "step": "s", "task": "t"}
    other: Json = {"code": "c", "message": "another", "step": "s", "task": "t"}
    error = {**inner, "errors": [{"index": 0, **other}, {"index": 2, **inner, "errors": [{"index": 5, **inner}]}]}
    assert item_text(error) == "[2][5]"
    assert place_text(error) == "s[2][5] / t: "
    assert item_text({"code": "loop.not_enough", "message": "m", "step": "s", "errors": [{"index": 0, **inner}]}) == ""


def test_a_message_that_says_its_cause_is_followed_by_the_code_alone() -> None:
    cause: Json = {"status": "error", "error": {"code": "x", "message": "no such order"}}
    assert failure_text({"code": "c", "message": "it failed: no such order", "cause": cause}) == (
        "c: it failed: no such order; cause: x"
    )
    assert failure_text({"code": "c", "message": "it failed", "cause": cause}) == (
        "c: it failed; cause: x: no such order"
    )
    assert [*response_lines({"code": "c", "cause": {"code": "d", "response": {"status": 404}}})] == ["response: 404"]
