"""Requests to many executions at once: which fit, what became of each, and how many at most."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from harness.running import HEAD
from harness.serving import Served, served, until
from noetl.api.bearer_tokens import BearerToken, digest_of
from noetl.api.service import ApiService

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
        ({}, "give either `ids` or `query` or `filter`"), ({"ids": ["a"], "filter": {}}, "give either"),
        ({"ids": []}, "`ids`"), ({"ids": ["a"], "query": "x"}, "give either"), ({"query": "x:y"}, "column 1"),
        ({"ids": ["a"] * 1_001}, "`ids`"), ({"filter": {}, "limit": 1_001}, "`limit`"),
        ({"filter": {"stat": "running"}}, "did you mean `status`?"), ({"ids": ["a"], "before": "b"}, "`before`"),
    ):  # fmt: skip
        response = post("/executions/cancel", json=body)
        assert response.status_code == 400 and said in response.json()["detail"], body
    server.client.headers["authorization"] = "Bearer secret-viewer"
    assert post("/executions/cancel", json={"filter": {}}).status_code == 403


FAILS = "workflow:\n  - {step: start, tool: {name: f, kind: fail, code: stock.empty, message: none left}}\n"


def test_a_query_says_which_and_how_many_are_left(server: Served) -> None:
    names = [server.start(path="t/t") for _ in range(3)]
    server.start(path="t/other")
    page = ask(server, "pause", query="playbook:t/t", limit=2)
    assert outcomes(page) == dict.fromkeys(names[:0:-1], "asked") and (page["left"], page["next"]) == (1, names[1])
    rest = ask(server, "pause", query="playbook:t/t", limit=2, before=page["next"], filter={"top": True})
    assert outcomes(rest) == {names[0]: "asked"} and (rest["left"], rest["next"]) == (0, None)
    until(lambda: [server.status(name) for name in names] == ["paused"] * 3)
    assert outcomes(ask(server, "pause", query="playbook:t/t")) == {}  # of what runs
    again = ask(server, "pause", ids=names[:1])["executions"]
    assert again[0]["why"] == "it is paused already"
    assert set(outcomes(ask(server, "resume", query="playbook:'t/*'"))) == {*names}
    until(lambda: [server.status(name) for name in names] == ["running"] * 3)


def test_each_that_fits_is_rerun_once(server: Served) -> None:
    source = HEAD.replace("t/t", "t/fails") + FAILS
    assert server.client.post("/playbooks?name=t.yaml", content=source.encode()).status_code == 201
    names = [server.start(path="t/fails") for _ in range(3)]
    running = server.start(path="t/t")
    until(lambda: [server.status(name) for name in names] == ["failed"] * 3)
    tried = ask(server, "rerun", query="error:stock.empty", dry_run=True)
    assert outcomes(tried) == dict.fromkeys(names[::-1], "fits")
    assert not server.client.get("/executions?query=is:rerun").json()["executions"]
    first = ask(server, "rerun", query="error:stock.empty", limit=1)
    assert outcomes(first) == {names[2]: "asked"} and first["left"] == 2
    fixed = HEAD.replace("t/t", "t/fails") + "workflow:\n  - {step: start, tool: {kind: noop}}\n"
    assert server.client.post("/playbooks?name=t.yaml", content=fixed.encode()).status_code == 201
    until(lambda: server.status(first["executions"][0]["rerun"]) == "failed")
    done = ask(server, "rerun", ids=[*names, running], newest=True)
    refused = {row["execution_id"]: row["why"] for row in done["executions"] if row["outcome"] == "refused"}
    assert refused == {
        names[2]: f"it has a rerun already: {first['executions'][0]['rerun']}",
        running: "it is not over, but running",
    }
    made = [row["rerun"] for row in done["executions"] if "rerun" in row]
    until(lambda: [server.status(name) for name in made] == ["completed"] * 2)
    # The first rerun failed alike, and is not rerun by the query that it comes from.
    assert outcomes(ask(server, "rerun", query="error:stock.empty", dry_run=True)) == dict.fromkeys(
        names[::-1], "refused"
    )
    assert len(outcomes(ask(server, "rerun", query="error:stock.empty is:rerun", dry_run=True))) == 1
    rows = server.client.get("/executions?query=is:rerun").json()["executions"]
    assert {row["rerun_of"] for row in rows} == {*names}
    hinders = ask(server, "rerun", ids=[made[0]], dry_run=True)["executions"][0]
    assert hinders["outcome"] == "refused" and "nothing says where to begin" in hinders["why"]


def test_a_dry_run_of_reruns_refuses_what_a_real_one_would(server: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    source = HEAD.replace("t/t", "t/fails") + FAILS
    assert server.client.post("/playbooks?name=t.yaml", content=source.encode()).status_code == 201
    name = server.start(path="t/fails")
    until(lambda: server.status(name) == "failed")
    monkeypatch.setattr(ApiService, "unable", lambda *_: ("`fail` needs a driver", "and a library"))
    tried, real = [ask(server, "rerun", ids=[name], dry_run=dry)["executions"][0] for dry in (True, False)]
    assert (tried["outcome"], tried["why"]) == ("refused", "`fail` needs a driver; and a library")
    assert (real["outcome"], real["why"]) == ("refused", f"nothing was started; {tried['why']}")
    monkeypatch.undo()
    assert outcomes(ask(server, "rerun", ids=[name], dry_run=True)) == {name: "fits"}
