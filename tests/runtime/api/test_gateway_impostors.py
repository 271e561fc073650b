"""A gateway whose groups say what no server says, and servers that count the versions of a playbook otherwise."""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from harness.grouped import Gateway, before, grouped
from harness.impostors import Heard, impostor, whole
from noetl.api.bearer_tokens import BearerToken, digest_of
from noetl.api.gateway.groups import GroupMap, ServerGroup
from services import waited_for

ROW = {"execution_id": "1", "started": "2026-12-01T00:00:00Z", "outcome": "fits"}
HEAD = "apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: {name: t, path: PATH}\n"
GOOD: dict[str, Any] = {
    "executions": [ROW], "counts": [{"value": "x", "count": 1}], "workers": [], "schedules": [],
    "next": None, "left": 0,
}  # fmt: skip
ODD = (
    b"", b"[]", b"7", b"{", b"\xff", b"[" * 100_000, b"{}",
    b'{"executions": 7, "counts": 7, "workers": 7, "schedules": 7}',
    b'{"executions": [7], "counts": [7], "workers": [7], "schedules": [7], "next": null, "left": 0}',
    b'{"executions": [{}], "counts": [{}], "workers": [{}], "schedules": [{}], "next": null, "left": 0}',
    b'{"executions": [{"execution_id": 1, "started": "2026-12-01T00:00:00Z"}], "workers": [{"name": 1}]}',
    b'{"executions": [{"execution_id": "1", "started": "then"}], "counts": [{"value": 1, "count": "1"}], "next": 1}',
    b'{"executions": [{"execution_id": "1", "started": "0001-01-01T00:00:00"}], "schedules": [{"name": null}]}',
    b'{"executions": [{"execution_id": "1", "started": "2026-12-01T00:00:00Z", "more": NaN}], "running": NaN}',
    b'{"executions": {}, "counts": [], "next": {}, "left": "many", "schedules": {}, "workers": {}}',
)  # fmt: skip
"""Bodies that are those of no list, and of no count."""


def honest(one: Heard) -> bytes:
    return whole(json.dumps({"running": 1} if one.path == "/counts" else GOOD))


def two(one: str, other: str) -> GroupMap:
    return GroupMap([ServerGroup("a", (one,)), ServerGroup("b", (other,))])


@pytest.mark.parametrize("body", ODD, ids=range(len(ODD)))
def test_what_is_no_response_is_missing_and_breaks_nothing(body: bytes) -> None:
    said = list[str]()
    with impostor(honest) as good, impostor(lambda _: whole(body)) as bad:
        groups = two(good.url, bad.url)
        with before(groups, said) as (client, _):
            for path in ("/executions", "/counts", "/counts/status", "/workers", "/schedules"):
                found = client.get(path)
                assert found.status_code == 200, (path, found.text)
            listed = client.get("/executions").json()
            assert (listed["executions"], listed["missing"]) == ([{**ROW, "group": "a"}], ["b"])
            asked = client.post("/executions/cancel", json={"query": "is:open", "dry_run": True}).json()
            assert (asked["executions"], asked["missing"]) == ([ROW], ["b"])
            assert client.get("/executions/77/row").status_code == 503
            assert client.post("/executions", json={"playbook_id": "ab"}).status_code == 503
    assert not [line for line in said if "Error" in line], said
    assert [line for line in said if "group b responds as no server" in line]


def test_counts_that_never_end_are_asked_for_once() -> None:
    forever = {**GOOD, "next": 1}
    with impostor(lambda _: whole(json.dumps(forever))) as bad:
        with before(GroupMap([ServerGroup("a", (bad.url,))]), []) as (client, _):
            assert client.get("/counts/status").json()["counts"] == [{"value": "x", "count": 2}]
        assert len(bad.heard) == 2


@pytest.mark.parametrize(
    "response",
    [
        b"HTTP/1.1 302 Found\r\nLocation: ELSEWHERE\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
        b"HTTP/1.1 999 Odd\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}",
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\nConnection: close\r\n\r\n{}",
        b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{x",
        b"no HTTP",
        b"",
    ],
)
def test_what_is_no_http_of_a_server_is_missing(response: bytes) -> None:
    said = list[str]()
    with impostor(honest) as good, impostor(honest) as elsewhere:
        with (
            impostor(lambda _: response.replace(b"ELSEWHERE", elsewhere.url.encode())) as bad,
            before(two(good.url, bad.url), said) as (client, _),
        ):
            found = client.get("/executions")
            assert (found.status_code, found.headers["noetl-missing"]) == (200, "b")
            if b"gzip" not in response:
                assert client.get("/groups/b/executions", follow_redirects=False).status_code in (302, 502)
        assert not elsewhere.heard
    assert not [line for line in said if "Error" in line], said


def test_a_refusal_is_told_as_far_as_it_can_be() -> None:
    refused = (
        b"HTTP/1.1 429 Slow\r\nRetry-After: " + b"9" * 5_000 + b"\r\nContent-Length: LEN\r\nConnection: close\r\n\r\n"
    )
    detail = json.dumps({"detail": ["no", "text"]}).encode()
    with impostor(lambda _: refused.replace(b"LEN", str(len(detail)).encode()) + detail) as bad:
        groups = GroupMap([ServerGroup("a", (bad.url,))])
        with before(groups, []) as (client, _):
            found = client.get("/executions")
    assert (found.status_code, found.json()["detail"]) == (429, "group a: it refuses without a reason")


def test_an_execution_that_is_not_where_it_was_is_looked_for_again() -> None:
    there = {"row": True}

    def says(one: Heard, *, has_it: bool) -> bytes:
        if one.path.endswith("/row") and there["row"] == has_it:
            return whole(json.dumps(ROW))
        return b"HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}"

    with impostor(partial(says, has_it=True)) as first, impostor(partial(says, has_it=False)) as other:
        with before(two(first.url, other.url), []) as (client, _):
            assert client.get("/executions/1/row").headers["noetl-group"] == "a"
            there["row"] = False  # purged here, and brought back there
            assert client.post("/executions/1/pause").status_code == 404
            client.post("/executions/1/pause")
        assert [one.path for one in first.heard if one.method == "POST"] == ["/executions/1/pause"]
        assert [one.path for one in other.heard if one.method == "POST"] == ["/executions/1/pause"]


def test_a_document_that_was_put_to_two_groups_at_once_is_told() -> None:
    not_there = b"HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}"
    was_put = list[bool]()

    def own(one: Heard) -> bytes:
        if one.method == "PUT":
            was_put.append(True)  # and in this moment, by another gateway, to the other group
        return whole("{}") if was_put else not_there

    with impostor(own) as first, impostor(lambda _: whole("{}") if was_put else not_there) as other:
        groups = GroupMap([ServerGroup("a", (first.url,), ("*",)), ServerGroup("b", (other.url,))])
        with before(groups, []) as (client, _):
            put = client.put("/schedules/s", json={"spec": {"playbook": "p/p"}})
    assert put.status_code == 409 and "`s` was put to groups a and b at once" in put.json()["detail"], put.text


def test_a_server_that_hangs_holds_up_no_list_once_it_is_gone() -> None:
    asked, gate, hangs = Event(), Event(), list[bool]()

    def says(_: Heard) -> bytes:
        asked.set()
        gate.wait()
        return b""

    with ExitStack() as stack:
        good = stack.enter_context(impostor(honest))
        bad = stack.enter_context(impostor(says, lambda: b"" if hangs else whole("{}")))
        client, upstream = stack.enter_context(before(two(good.url, bad.url), []))
        pool = stack.enter_context(ThreadPoolExecutor(1))
        stack.callback(gate.set)
        listed = pool.submit(client.get, "/executions")
        assert asked.wait(30)
        hangs.append(True)
        assert client.portal is not None
        client.portal.call(upstream.look)
        found = listed.result(30)  # not when the gate is opened, nor after the 60 s that a response may take
        assert (found.status_code, found.headers["noetl-missing"]) == (200, "b")


def test_of_two_registrations_at_once_all_groups_take_the_same_first() -> None:
    gate = Event()

    def says(one: Heard, *, holds: bool = False) -> bytes:
        if holds and one.body == b"first":
            gate.wait()
        return whole("{}")

    with ExitStack() as stack:
        slow = stack.enter_context(impostor(partial(says, holds=True)))
        other = stack.enter_context(impostor(says))
        client, _ = stack.enter_context(before(two(slow.url, other.url), []))
        pool = stack.enter_context(ThreadPoolExecutor(2))
        stack.callback(gate.set)
        first = pool.submit(client.post, "/playbooks", content=b"first")
        waited_for(lambda: [one for one in slow.heard if one.body == b"first"], "it was not sent")
        second = pool.submit(client.post, "/playbooks", content=b"second")
        # One that does not wait for the first is over by then, mostly; one that does passes however long this is.
        wait([second], timeout=0.5)
        gate.set()
        assert {first.result(30).status_code, second.result(30).status_code} == {200}
    for each in (slow, other):
        posts = [(one.body, "dry_run" in one.path) for one in each.heard if one.method == "POST"]
        assert posts == [(b"first", True), (b"first", False), (b"second", True), (b"second", False)]


def test_streams_of_events_end_when_a_gateway_leaves() -> None:
    gate = Event()
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"

    def events() -> Iterator[bytes]:
        yield head + b"event: first\n\n"
        gate.wait()

    def says(one: Heard) -> bytes | Iterator[bytes]:
        return whole(json.dumps(ROW)) if one.path.endswith("/row") else events()

    with ExitStack() as stack:
        group = stack.enter_context(impostor(says))
        client, upstream = stack.enter_context(before(GroupMap([ServerGroup("a", (group.url,))]), []))
        pool = stack.enter_context(ThreadPoolExecutor(1))
        stack.callback(gate.set)
        followed = pool.submit(client.get, "/executions/1/events")
        waited_for(lambda: upstream.streams == 1, "no stream is open")
        assert client.portal is not None
        client.portal.call(upstream.leave)
        ended = followed.result(30)  # whether the first event has come by then is no matter
        assert (ended.status_code, ended.headers["noetl-group"]) == (200, "a")
        assert upstream.streams == 0


@pytest.fixture
def gateway(tmp_path: Path) -> Iterator[Gateway]:
    with grouped(tmp_path) as up:
        yield up


def test_a_version_that_is_started_is_the_one_that_is_shown(gateway: Gateway) -> None:
    paths = gateway.path_of("a"), gateway.path_of("b")
    sources = [HEAD + f"workflow: [{{step: start, tool: {{kind: noop, result: {n}}}}}]\n" for n in range(3)]
    for path in paths:
        gateway.register(sources[0].replace("PATH", path))
        for number, server in enumerate(gateway.servers.values(), 1):
            assert server.api.post("/playbooks", content=sources[number].replace("PATH", path)).status_code == 201
    seen = {
        path: [
            gateway.client.post("/executions", json={"path": path, "version": version}).status_code
            for version in (1, 2, 3)
        ]
        for path in paths
    }
    assert seen == {paths[0]: [201, 201, 404], paths[1]: [201, 412, 404]}
    odd = [{}, [], "1", 1.5, True, -1, 0]
    for version in odd:
        assert gateway.client.post("/executions", json={"path": paths[1], "version": version}).status_code == 400


def test_who_signs_out_is_signed_out_of_a_group_that_is_gone(tmp_path: Path) -> None:
    token = BearerToken("joe", "viewer", digest_of("secret"))
    with grouped(tmp_path, token) as gateway:
        assert gateway.client.post("/sign-in", json={"token": "secret"}).status_code == 200
        gateway.stop("b")
        assert gateway.client.post("/sign-out", json={}).status_code == 200
        assert not gateway.client.cookies
