"""One address for two groups: starts, one list, what is asked of executions, and what happens when a group is gone."""

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from harness.grouped import Gateway, grouped
from noetl.api.bearer_tokens import BearerToken, digest_of
from noetl.api.gateway.application import OF_ONE_GROUP
from noetl.api.operation import EXECUTION, PLAN, PLAYBOOK
from noetl.api.routes import ROUTES
from noetl.engine.identities import execution_id_of
from noetl.ports import ExecutionRow
from services import waited_for

HEAD = "apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: {name: t, path: PATH}\n"
NOOP = HEAD + "workflow: [{step: start, tool: {kind: noop, result: 7}}]\n"
WAITS = HEAD + "workflow: [{step: start, tool: {name: w, kind: wait, events: [go]}}]\n"


@pytest.fixture
def gateway(tmp_path: Path) -> Iterator[Gateway]:
    with grouped(tmp_path, starts=["spread/*"]) as up:
        yield up


def both(gateway: Gateway) -> tuple[str, str]:
    """Registered playbooks that wait, one that each group draws."""
    paths = gateway.path_of("a"), gateway.path_of("b")
    gateway.register(*[WAITS.replace("PATH", path) for path in paths])
    return paths


def statuses(gateway: Gateway) -> dict[str, str]:
    return {row["execution_id"]: row["status"] for name in "ab" for row in gateway.at(name)}


def pages(gateway: Gateway, limit: int, **query: str) -> list[dict[str, Any]]:
    """All rows of the list, a page after the other."""
    rows, before = list[dict[str, Any]](), ""
    while before is not None:
        found = gateway.client.get(
            "/executions", params={"limit": limit, **query, **({"before": before} if before else {})}
        )
        assert found.status_code == 200, found.text
        rows += found.json()["executions"]
        before = found.json()["next"]
    return rows


def test_every_operation_has_a_way_or_is_the_affair_of_one_group(gateway: Gateway) -> None:
    refused = set[tuple[str, str]]()
    for row in ROUTES:
        path = row.path.replace("{name:path}", "n").replace("{path:path}", "p").replace("{group:path}", "status")
        path = path.replace("{execution_id}", "1").replace("{digest}", "ab").replace("{code}", "NL001")
        path = path.replace("{worker}", "w").replace("{number}", "1").replace("{user_id:path}", "u")
        response = gateway.client.request(row.method, path, headers={"content-type": "application/json"})
        assert response.status_code != 500, (row.path, response.text)
        if "is the affair of one group" in response.text:
            refused.add((row.method, row.path))
    assert refused == OF_ONE_GROUP
    assert not [row for row in ROUTES if row.scope in (EXECUTION, PLAN, PLAYBOOK) and (row.method, row.path) in refused]


def test_executions_begin_in_the_group_of_their_playbook_and_are_in_one_list(gateway: Gateway) -> None:
    paths = both(gateway)
    names = [gateway.start(paths[n % 2]) for n in range(7)]
    assert {row["playbook"] for row in gateway.at("a")} == {paths[0]}
    assert {row["playbook"] for row in gateway.at("b")} == {paths[1]}
    for limit in (1, 2, 3, 100):
        rows = pages(gateway, limit)
        assert [row["execution_id"] for row in rows] == names[::-1]
        assert [row["group"] for row in rows] == ["ab"[n % 2] for n in range(7)][::-1]
    assert [row["execution_id"] for row in pages(gateway, 2, query=f"playbook:{paths[0]}")] == names[::2][::-1]
    assert gateway.client.get("/counts").json()["running"] == 7
    told = gateway.client.get("/counts/playbook?limit=1").json()
    assert told == {"counts": [{"value": paths[0], "count": 4}], "next": 1}
    assert gateway.client.get("/counts/playbook?limit=1&after=1").json()["counts"] == [{"value": paths[1], "count": 3}]
    # Purged since, say: an end of the list there would leave out what is behind.
    assert gateway.client.get("/executions?before=nothing").status_code == 409
    last = gateway.client.get(f"/executions?before={names[0]}").json()
    assert last == {"executions": [], "next": None}


def test_pages_have_each_row_once_though_many_began_at_once(gateway: Gateway) -> None:
    chance = random.Random(7)
    times = {}
    for number in range(120):
        name, began = execution_id_of(1_000, number), 1_000_000 + chance.randrange(12)
        group = chance.choice("ab")
        times[name] = (began, group)
        row = ExecutionRow(name, "p/p", "0" * 64, "running", None, began, None)
        gateway.servers[group].runtime.store.create(row)
    whole = [(row["execution_id"], row["group"]) for row in pages(gateway, 1_000)]
    assert dict(whole) == {name: group for name, (_, group) in times.items()}
    assert [times[name][0] for name, _ in whole] == sorted((began for began, _ in times.values()), reverse=True)
    for limit in (1, 2, 7, 60):
        assert [(row["execution_id"], row["group"]) for row in pages(gateway, limit)] == whole


def test_whoever_has_a_scope_sees_all_pages_of_it(tmp_path: Path) -> None:
    token = BearerToken("mine", "operator", digest_of("secret"), paths=("p/",))
    with grouped(tmp_path, token, secret="secret") as gateway:
        for number in range(9):
            row = ExecutionRow(execution_id_of(1_000, number), "p/p", "0" * 64, "running", None, 1_000 + number, None)
            gateway.servers["ab"[number % 2]].runtime.store.create(row)
        other = ExecutionRow(execution_id_of(1_000, 99), "q/q", "0" * 64, "running", None, 1_000, None)
        gateway.servers["a"].runtime.store.create(other)
        assert [row["execution_id"] for row in pages(gateway, 2)] == [execution_id_of(1_000, n) for n in range(9)][::-1]


def test_what_is_asked_of_an_execution_goes_to_its_group(gateway: Gateway) -> None:
    paths = both(gateway)
    for path in paths:
        name = gateway.start(path)
        assert gateway.client.get(f"/executions/{name}/row").json()["status"] == "running"
        assert gateway.client.post(f"/executions/{name}/signal", json={"name": "go", "data": 5}).status_code == 202
        with gateway.client.stream(
            "GET", f"/executions/{name}/events", headers={"accept": "text/event-stream"}
        ) as stream:
            kinds = [line.removeprefix("event: ") for line in stream.iter_lines() if line.startswith("event: ")]
        whole = gateway.client.get(f"/executions/{name}/events?limit=1000").json()["events"]
        assert kinds == [*[event["event_type"] for event in whole], "end"]
        assert gateway.client.get(f"/executions/{name}/result").json()["result"] == {"name": "go", "data": 5}
    gone = gateway.client.get("/executions/123/row")
    assert (gone.status_code, gone.json()["detail"]) == (404, "there is no execution `123`")


def test_a_large_value_is_fetched_from_the_group_that_has_it(gateway: Gateway) -> None:
    path = gateway.path_of("b")
    large = HEAD + "workflow: [{step: start, tool: {name: l, kind: python, code: \"result = 'x' * 300000\"}}]\n"
    gateway.register(large.replace("PATH", path))
    name = gateway.start(path)
    waited_for(lambda: statuses(gateway)[name] == "completed", "it does not end")
    assert gateway.client.get(f"/executions/{name}/result").json()["result"] == "x" * 300_000
    reference = gateway.servers["b"].runtime.blobs.put(name, b"of b alone")
    found = gateway.client.post("/blobs", json={"reference": reference})
    assert (found.status_code, found.content) == (200, b"of b alone")
    assert gateway.client.post("/blobs", json={"reference": {**reference, "key": "none"}}).status_code == 404


def test_many_are_asked_wherever_they_are(gateway: Gateway) -> None:
    paths = both(gateway)
    names = [gateway.start(paths[n % 2]) for n in range(6)]
    asked = gateway.client.post("/executions/signal", json={"ids": [*names[:2], "none"], "name": "go"}).json()
    assert {row["execution_id"]: row["outcome"] for row in asked["executions"]} == {
        names[0]: "asked", names[1]: "asked", "none": "refused",
    }  # fmt: skip
    waited_for(lambda: [*statuses(gateway).values()].count("completed") == 2, "they do not end")
    found, before, left = list[str](), "", list[int]()
    while before is not None:
        page = gateway.client.post("/executions/cancel", json={"query": "is:open", "limit": 1, "before": before}).json()
        found += [row["execution_id"] for row in page["executions"]]
        before, left = page["next"], [*left, page["left"]]
    assert sorted(found) == sorted(names[2:]) and len(left) == 4 and left[-1] == 0 and all(left[:-1])
    waited_for(lambda: [*statuses(gateway).values()].count("cancelled") == 4, "they are not cancelled")


def test_a_group_that_is_gone_is_told_and_holds_up_no_other_one(gateway: Gateway) -> None:
    paths = both(gateway)
    names = [gateway.start(path) for path in paths]
    gateway.stop("b")
    assert any("group b cannot be reached" in line for line in gateway.said)
    listed = gateway.client.get("/executions")
    assert [row["execution_id"] for row in listed.json()["executions"]] == [names[0]]
    assert (listed.json()["missing"], listed.headers["noetl-missing"]) == (["b"], "b")
    counts = gateway.client.get("/counts")
    assert (counts.json()["running"], counts.headers["noetl-missing"]) == (1, "b")
    assert gateway.client.get(f"/executions/{names[0]}/row").status_code == 200
    # There may be one of that name, and nobody is told that there is none.
    for name in (names[1], "123"):
        assert gateway.client.get(f"/executions/{name}/row").status_code == 503
    assert gateway.start(paths[0])
    refused = gateway.client.post("/executions", json={"path": paths[1]})
    assert (refused.status_code, refused.json()["detail"]) == (503, "group b does not answer")
    many = gateway.client.post("/executions/cancel", json={"ids": names, "dry_run": True}).json()
    assert [row["outcome"] for row in many["executions"]] == ["refused", "fits"]
    fitting = gateway.client.post("/executions/cancel", json={"query": "is:open", "dry_run": True})
    assert (len(fitting.json()["executions"]), fitting.json()["missing"]) == (2, ["b"])
    assert gateway.client.get("/readyz").json()["groups"] == {"a": "ready", "b": "gone"}
    figures = gateway.client.get("/metrics").text
    states = {
        f"{name}-{state}": f'noetl_group_state{{group="{name}",state="{state}"}} 1.0' in figures
        for name in "ab"
        for state in ("ready", "busy", "gone")
    }
    assert {name for name, is_so in states.items() if is_so} == {"a-ready", "b-gone"}
    assert 'noetl_requests_total{operation="start_execution",status="201"} 3' in figures
    gateway.begin("b")
    assert any("group b takes starts" in line for line in gateway.said)
    assert {row["execution_id"] for row in pages(gateway, 10)} > set(names)
    gateway.stop("a")
    gateway.stop("b")
    assert gateway.client.get("/executions").status_code == 503
    assert gateway.client.get("/readyz").status_code == 503


def test_a_server_that_was_gone_since_the_last_look_is_found_out(gateway: Gateway) -> None:
    both(gateway)
    gateway.stacks["b"].close()  # nobody has looked since
    listed = gateway.client.get("/executions")
    assert (listed.status_code, listed.headers["noetl-missing"]) == (200, "b")


def test_a_playbook_is_registered_with_all_groups_or_none(gateway: Gateway) -> None:
    path = gateway.path_of("a")
    gateway.stop("b")
    refused = gateway.client.post("/playbooks", content=NOOP.replace("PATH", path))
    assert refused.status_code == 503 and "group b does not answer" in refused.text
    assert gateway.servers["a"].api.get("/playbooks").json()["playbooks"] == []
    gateway.begin("b")
    gateway.register(NOOP.replace("PATH", path))
    again = gateway.client.post(
        "/playbooks?name=t.yaml", content=NOOP.replace("PATH", path)
    )  # the newest is that already
    assert again.json()["version"] == 1
    # One that a group was given alone has them count otherwise: then versions mean two plans.
    gateway.servers["b"].api.post("/playbooks", content=WAITS.replace("PATH", path))
    other = gateway.client.post("/playbooks", content=WAITS.replace("PATH", path).replace("[go]", "[other]"))
    assert other.status_code == 409 and "would be version 2 in group a, 3 in group b" in other.text
    newest = [each.api.get("/playbooks", params={"path": path, "newest": "true"}) for each in gateway.servers.values()]
    assert [each.json()["playbooks"][0]["version"] for each in newest] == [1, 2], "nothing was kept"
    # As it says: older ones with the one that is behind, until all count alike.
    gateway.servers["a"].api.post("/playbooks", content=NOOP.replace("PATH", path).replace("result: 7", "result: 8"))
    gateway.register(WAITS.replace("PATH", path).replace("[go]", "[other]"))
    newest = [each.api.get("/playbooks", params={"path": path, "newest": "true"}) for each in gateway.servers.values()]
    assert newest[0].json() == newest[1].json() and newest[0].json()["playbooks"][0]["version"] == 3
    bad = gateway.client.post("/playbooks", content=b"kind: [")
    assert bad.status_code == 422 and bad.json()["detail"].startswith("group a: ")


def test_starts_that_are_drawn_alone_are_in_both_groups_and_are_of_one_plan(gateway: Gateway) -> None:
    gateway.register(NOOP.replace("PATH", "spread/one"))
    for _ in range(24):  # of 24 all are in one group once in 2 ** 23 runs of this test
        gateway.start("spread/one")
    assert len(gateway.at("a")) and len(gateway.at("b"))
    keyed = {gateway.start("spread/one", **{"Idempotency-Key": "k1"}) for _ in range(5)}
    assert len(keyed) == 1
    # A group that was given another plan alone does not start it.
    for name in "ab":
        if name != gateway.groups.group_of("spread/one").name:
            gateway.servers[name].api.post("/playbooks", content=WAITS.replace("PATH", "spread/one"))
    seen = {gateway.client.post("/executions", json={"path": "spread/one"}).status_code for _ in range(24)}
    assert seen == {201, 412}
    assert "waiting" not in json.dumps([row["status"] for name in "ab" for row in gateway.at(name)])


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("workflow: [{step: start, spec: {policy: {lock: x}}, tool: {kind: noop}}]", "locks"),
        ("executor: {spec: {concurrency: {key: k}}}\nworkflow: [{step: start, tool: {kind: noop}}]", "a limit of how"),
        (
            "workflow: [{step: start, tool: {name: w, kind: wait, events: [e], correlation: k}}]",
            "signals under keys",
        ),
        ("workflow: [{step: start, tool: {name: s, kind: signal, key: k, signal: e}}]", "signals under keys"),
        (
            'workload: {p: x}\nworkflow: [{step: start, tool: {kind: playbook, path: "{{ workload.p }}"}}]',
            "what the playbooks do that only a run tells it calls",
        ),
    ],
)
def test_what_shares_something_is_not_drawn_alone(gateway: Gateway, body: str, told: str) -> None:
    gateway.register(HEAD.replace("PATH", "spread/one") + body, HEAD.replace("PATH", "other/one") + body)
    refused = gateway.client.post("/executions", json={"path": "spread/one"})
    assert refused.status_code == 409 and f"its executions share {told}" in refused.json()["detail"]
    assert gateway.client.post("/executions", json={"path": "other/one"}).status_code == 201
    assert not [row for name in "ab" for row in gateway.at(name) if row["playbook"] == "spread/one"]


def test_what_is_no_start_is_refused_as_by_a_server(gateway: Gateway) -> None:
    for body in (b"", b"[]", b"{", b'{"path": 7}', b'{"path": "x", "playbook_id": "y"}', b"[" * 10_000):
        refused = gateway.client.post("/executions", content=body, headers={"content-type": "application/json"})
        assert refused.status_code == 400, (body, refused.text)
    assert gateway.client.post("/executions", json={"path": "no/such"}).status_code == 404
    assert gateway.client.post("/executions", json={"playbook_id": "ab" * 32}).status_code == 404
    for verb in ("cancel", "rerun"):
        for body in (b"", b"[]", b"{", b'{"ids": 7}', b'{"ids": [1]}', b'{"query": 7}', b'{"before": "c/"}'):
            refused = gateway.client.post(
                f"/executions/{verb}", content=body, headers={"content-type": "application/json"}
            )
            assert refused.status_code == 400, (body, refused.text)


def test_a_group_is_reached_alone_under_its_name(gateway: Gateway) -> None:
    path = gateway.path_of("b")
    gateway.register(NOOP.replace("PATH", path))
    name = gateway.start(path)
    assert gateway.client.get(f"/groups/b/executions/{name}").json()["execution_id"] == name
    assert gateway.client.get(f"/groups/a/executions/{name}").status_code == 404
    assert gateway.client.get("/groups/b/audit").status_code == 200
    assert gateway.client.get("/groups/b/").headers["content-type"].startswith("text/html")
    assert gateway.client.get("/").headers["content-type"].startswith("text/html")
    refused = gateway.client.get("/groups/c/executions")
    assert (refused.status_code, refused.json()["detail"]) == (404, "there is no group `c`; there are `a`, `b`")


def test_a_session_of_the_page_is_one_of_all_groups(tmp_path: Path) -> None:
    token = BearerToken("joe", "viewer", digest_of("secret"))
    with grouped(tmp_path, token) as gateway:
        assert gateway.client.get("/executions").status_code == 401
        assert gateway.client.post("/sign-in", json={"token": "wrong"}).status_code == 401
        assert gateway.client.post("/sign-in", json={"token": "secret"}).status_code == 200
        assert len(gateway.client.cookies) == 2
        assert gateway.client.get("/executions").json() == {"executions": [], "next": None}
        assert gateway.client.get("/me").json()["name"] == "joe"
        assert gateway.client.post("/executions", json={"path": "x"}).status_code == 403
        site = gateway.client.post("/sign-out", json={}, headers={"origin": "http://elsewhere"})
        assert site.status_code == 403
        assert gateway.client.post("/sign-out", json={}).status_code == 200
        assert gateway.client.get("/executions").status_code == 401


def test_beyond_its_machine_it_passes_no_name_of_that_on(tmp_path: Path) -> None:
    with grouped(tmp_path, hidden=True) as gateway:
        # Servers without tokens let in whoever asks them for a name of their own machine.
        for host in ("127.0.0.1", "localhost", "[::1]:80"):
            assert gateway.client.get("/executions", headers={"host": host}).status_code == 403
        assert gateway.client.get("/executions", headers={"host": "noetl.example"}).status_code == 403
