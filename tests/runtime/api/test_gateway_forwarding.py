"""Requests that a gateway passes on: to whom, with which headers, and nothing of one user to another one."""

import json
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from starlette.requests import Request

from harness.grouped import before, grouped
from harness.impostors import Heard, impostor, whole
from harness.running import HEAD
from noetl.api.bearer_tokens import BearerToken, digest_of
from noetl.api.gateway import catalogue, upstream
from noetl.api.gateway.forwarding import headers_for, url_at
from noetl.api.gateway.groups import GroupMap, ServerGroup
from noetl.api.gateway.serving import hides_hosts
from noetl.api.listening import Listening
from noetl.api.problems import BadRequest
from noetl.clients.compiler import compile_source
from noetl_ir.plan_format import digests_in
from noetl_ir.plan_sources import write_sources

ROW = {"execution_id": "1", "started": "2026-12-01T00:00:00Z"}


def asked_with(*headers: tuple[str, str]) -> Request:
    raw = [(key.encode(), value.encode()) for key, value in headers]
    return Request({
        "type": "http", "method": "POST", "scheme": "http", "path": "/", "query_string": b"", "headers": raw,
        "client": ("192.0.2.7", 5), "server": ("192.0.2.1", 80),
    })  # fmt: skip


def test_a_session_of_one_browser_is_that_of_no_other_one(tmp_path: Path) -> None:
    token = BearerToken("joe", "admin", digest_of("secret"))
    with grouped(tmp_path, token) as gateway:
        assert gateway.client.post("/sign-in", json={"token": "secret"}).status_code == 200
        assert gateway.client.get("/me").status_code == 200
        gateway.client.cookies.clear()  # somebody else
        for path in ("/me", "/executions", "/groups/a/executions", "/playbooks"):
            assert gateway.client.get(path).status_code == 401, path


@pytest.mark.parametrize(
    "path",
    ["/groups/a%2F@HOST/x", "/groups/a%2f@HOST/", "/groups/a/..%2F..%2Fx", "/groups/a/%2e%2E/x", "/%67roups/a/x"],
)
def test_no_path_leads_to_what_is_no_server_of_the_group(path: str) -> None:
    with impostor(lambda _: whole("{}")) as group, impostor(lambda _: whole("{}")) as elsewhere:
        with before(GroupMap([ServerGroup("a", (f"{group.url}/noetl",))]), []) as (client, _):
            found = client.get(path.replace("HOST", urlsplit(elsewhere.url).netloc), headers={"authorization": "x"})
        assert found.status_code == 400, found.text
        assert not elsewhere.heard and not group.heard


@pytest.mark.parametrize("address", ["@elsewhere/x", ":80/x", "//elsewhere/x", "/x?y=@elsewhere", "/\\elsewhere"])
def test_an_address_is_always_at_its_server(address: str) -> None:
    try:
        found = url_at("https://one.example:8082/noetl", address)
    except ValueError:
        return
    assert (found.host, found.port, found.userinfo) == ("one.example", 8082, b"")
    assert found.path.startswith("/noetl")


def test_headers_of_one_hop_end_here() -> None:
    """RFC 9110 §7.6.1 and RFC 9112 §6.3."""
    sent = dict(
        headers_for(
            asked_with(
                ("host", "gateway"), ("connection", "close, X-Mine, Authorization, Host"), ("x-mine", "1"),
                ("authorization", "Bearer t"), ("te", "trailers"), ("transfer-encoding", "chunked"),
                ("content-length", "5"), ("x-forwarded-for", "203.0.113.9"), ("x-other", "2"),
            )
        )
    )  # fmt: skip
    assert sent == {
        "host": "gateway", "authorization": "Bearer t", "x-other": "2", "x-forwarded-for": "203.0.113.9, 192.0.2.7",
        "x-forwarded-proto": "http",
    }  # fmt: skip


@pytest.mark.parametrize("said", [(), ("",), ("a{b.example",), ("a b",), ("[::1",), ("127.0.0.1:99999",)])
def test_who_says_no_host_is_not_passed_on_under_that_of_a_server(said: tuple[str, ...]) -> None:
    with pytest.raises(BadRequest, match="send `Host`"):
        headers_for(asked_with(*[("host", each) for each in said]))


@pytest.mark.parametrize(
    ("listening", "hides"),
    [
        (Listening("127.0.0.1", 0), False), (Listening("::1", 0), False), (Listening("0.0.0.0", 0), True),
        (Listening("127.0.0.1", 0, behind_proxy=True), True),
    ],
)  # fmt: skip
def test_whoever_is_reached_from_elsewhere_hides_the_names_of_its_machine(listening: Listening, hides: bool) -> None:
    assert hides_hosts(listening) is hides


def test_nothing_is_packed_for_who_did_not_ask_for_it(tmp_path: Path) -> None:
    with grouped(tmp_path) as gateway:
        asked = gateway.client.build_request("GET", "/groups/a/")
        del asked.headers["accept-encoding"]
        found = gateway.client.send(asked)
        assert found.status_code == 200 and "content-encoding" not in found.headers
        packed = gateway.client.get("/groups/a/", headers={"accept-encoding": "gzip"})
        assert packed.headers["content-encoding"] == "gzip" and packed.text == found.text
        assert "date" not in packed.headers  # uvicorn writes it, and here is none


def test_bodies_of_what_only_looks_are_passed_on_too(tmp_path: Path) -> None:
    with grouped(tmp_path) as gateway:
        asked = {"reference": {"key": "blobs/none"}}
        assert (
            gateway.client.post("/blobs", json=asked).json()
            == gateway.servers["a"].api.post("/blobs", json=asked).json()
        )
        odd = gateway.client.request("GET", "/playbooks", content=b"hello")
        assert (odd.status_code, odd.json()) == (200, {"playbooks": [], "next": None})
        for path in ("/sign-in", "/blobs", "/executions"):
            large = gateway.client.post(path, content=b"x" * (1 << 20) + b"x")
            assert large.status_code == 413, path


def test_of_who_is_not_known_no_playbook_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalogue, "SOURCE_BYTES", 10)
    with grouped(tmp_path, BearerToken("joe", "operator", digest_of("secret"))) as gateway:
        for path in ("/playbooks", "/plans"):
            assert gateway.client.post(path, content=b"x" * 11).status_code == 401
            known = {"authorization": "Bearer secret"}
            assert gateway.client.post(path, content=b"x" * 11, headers=known).status_code == 413


def test_a_response_without_end_is_read_no_further(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(upstream, "_MOST_READ", 1 << 16)
    good = json.dumps({"executions": [ROW], "next": None})
    with impostor(lambda _: whole(good)) as honest, impostor(lambda _: whole(b" " * (1 << 20) + b"{}")) as endless:
        groups = GroupMap([ServerGroup("a", (honest.url,)), ServerGroup("b", (endless.url,))])
        with before(groups, []) as (client, _):
            listed = client.get("/executions")
        assert (listed.status_code, listed.headers.get("noetl-missing")) == (200, "b")
        assert [row["group"] for row in listed.json()["executions"]] == ["a"]
        # A packed one may be a thousand times as long as what was counted.
        assert {one.headers["accept-encoding"] for one in endless.heard} == {"identity"}


@pytest.mark.parametrize(
    ("path", "times"),
    [("/executions", 2), ("/executions/rerun", 1), ("/schedules/s/start", 2), ("/triggers/t/retry", 1)],
)
def test_only_what_heeds_a_key_is_asked_again_of_another_server(path: str, times: int) -> None:
    def says(one: Heard) -> bytes:
        return b"" if one.method == "POST" else whole(json.dumps({**ROW, "playbooks": [], "next": None}))

    with impostor(says) as one, impostor(says) as other:
        with before(GroupMap([ServerGroup("a", (one.url, other.url))]), []) as (client, _):
            body: dict[str, object] = {"ids": ["1"]} if path.endswith("rerun") else {"path": "p/p"}
            found = client.post(path, json=body, headers={"idempotency-key": "k"})
        asked = [heard.path for heard in (*one.heard, *other.heard) if heard.method == "POST"]
        assert asked == [path] * times, found.text


def test_sources_reach_all_groups_with_their_plan(tmp_path: Path) -> None:
    child = HEAD.replace("t/t", "t/child") + "workflow: [{step: start}]\n"
    caller = HEAD + "workflow: [{step: start, tool: {kind: playbook, path: t/child}}]\n"
    (tmp_path / "child.yaml").write_text(child)
    made = compile_source(caller.encode(), "t.yaml", [tmp_path])
    own, inner = digests_in(made.plan)
    with grouped(tmp_path) as gateway:
        response = gateway.client.post("/playbooks", content=write_sources(made.sources, made.plan))
        assert response.status_code == 201 and response.json()["playbook_id"] == own, response.text
        for each in (gateway.client, *(up.api for up in gateway.servers.values())):
            for digest, text in ((own, caller), (inner, child)):
                assert each.get(f"/plans/{digest}/source").text == text
