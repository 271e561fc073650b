"""Requests to many executions at once: which fit, what became of each, and how many at most."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from harness.running import HEAD
from harness.serving import Served, served, until
from noetl.api.bearer_tokens import BearerToken, digest_of

WAITS = "workflow: [{step: start, tool: {name: w, kind: wait, events: [go]}}]\n"
TOKENS = [BearerToken(role, role, digest_of(f"secret-{role}")) for role in ("viewer", "operator")]


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Served]:
    with served(tmp_path, *TOKENS) as up:
        up.client.headers["authorization"] = "Bearer secret-operator"
        for path in ("t/t", "t/other"):
            source = HEAD.replace("t/t", path) + WAITS
            assert up.client.post("/playbooks?name=t.yaml", content=source.encode()).status_code == 201
        yield up


def ask(server: Served, verb: str, **body: object) -> dict[str, Any]:
    response = server.client.post(f"/executions/{verb}", json=body)
    assert response.status_code == 200, response.text
    return dict(response.json())


def outcomes(found: dict[str, Any]) -> dict[str, str]:
    return {row["execution_id"]: row["outcome"] for row in found["executions"]}


def test_a_dry_run_asks_nothing_and_each_execution_has_its_outcome(server: Served) -> None:
    names = [server.start(path="t/t") for _ in range(3)]
    over = server.start(path="t/t")
    server.client.post(f"/executions/{over}/cancel")
    until(lambda: server.status(over) == "cancelled")
    asked = [*names[:2], over, "none", names[0]]
    tried = ask(server, "cancel", ids=asked, dry_run=True)
    assert outcomes(tried) == {names[0]: "fits", names[1]: "fits", over: "refused", "none": "refused"}
    assert [row["why"] for row in tried["executions"][2:]] == ["it is over (cancelled)", "there is no such execution"]
    assert [server.status(name) for name in names] == ["running"] * 3
    done = ask(server, "cancel", ids=asked)
    assert outcomes(done) == {names[0]: "asked", names[1]: "asked", over: "refused", "none": "refused"}
    until(lambda: [server.status(name) for name in names] == ["cancelled", "cancelled", "running"])


def test_a_filter_is_gone_through_by_pages(server: Served) -> None:
    names = [server.start(path="t/t") for _ in range(5)]
    other = server.start(path="t/other")
    found: dict[str, str] = {}
    before, looks = "", 0
    while before is not None:
        page = ask(server, "signal", filter={"text": "t/t"}, limit=2, before=before, name="go", data=1)
        assert len(page["executions"]) <= 2
        found |= outcomes(page)
        before, looks = page["next"], looks + 1
    assert found == dict.fromkeys(names, "asked") and looks == 3
    until(lambda: {server.status(name) for name in names} == {"completed"})
    assert server.status(other) == "running"
    assert outcomes(ask(server, "cancel", filter={"status": "paused"})) == {}
    assert outcomes(ask(server, "cancel", filter={}, dry_run=True)) == {other: "fits"}, "only what is not over"


def test_a_signal_that_nothing_waits_for_is_refused_unless_it_is_meant(server: Served) -> None:
    name = server.start(path="t/t")
    refused = ask(server, "signal", ids=[name], name="goo", anyway=False)
    assert outcomes(refused) == {name: "refused"} and "nothing in the playbook waits" in refused["executions"][0]["why"]
    assert outcomes(ask(server, "signal", ids=[name], name="goo", dry_run=True)) == {name: "fits"}
    events = server.client.get(f"/executions/{name}/events").json()["events"]
    assert not [event for event in events if event["event_type"] == "signal.received"]


def test_what_is_too_much_or_says_nothing_is_refused(server: Served) -> None:
    post = server.client.post
    for body, said in (
        ({}, "give either `ids` or `filter`"), ({"ids": ["a"], "filter": {}}, "give either"), ({"ids": []}, "`ids`"),
        ({"ids": ["a"] * 1_001}, "`ids`"), ({"filter": {}, "limit": 1_001}, "`limit`"),
        ({"filter": {"stat": "running"}}, "did you mean `status`?"), ({"ids": ["a"], "before": "b"}, "`before`"),
    ):  # fmt: skip
        response = post("/executions/cancel", json=body)
        assert response.status_code == 400 and said in response.json()["detail"], body
    server.client.headers["authorization"] = "Bearer secret-viewer"
    assert post("/executions/cancel", json={"filter": {}}).status_code == 403
