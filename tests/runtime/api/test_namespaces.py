"""Namespaces over the API, and who is refused by their quotas: starts, reruns, webhooks, schedules and ends."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from harness.running import HEAD
from harness.serving import Served, served, until
from noetl.ports import Wanted
from noetl.secrets.credentials import Credentials
from runtime.api.test_scheduling import document as schedule_document
from runtime.api.test_triggering import GITHUB, SECRET, look, post
from runtime.api.test_triggering import put as put_trigger

WAITS = HEAD + "workflow: [{step: start, tool: {name: w, kind: wait, events: [go]}}]\n"
FAILS = HEAD.replace("t/t", "t/fails") + (
    "workflow:\n  - step: start\n    tool: {kind: fail, code: app.broken, message: no luck}\n"
)


def document(name: str = "team-t", prefix: str = "t/", **spec: object) -> dict[str, object]:
    told = {"prefix": prefix, **spec}
    return {"apiVersion": "noetl.io/v2", "kind": "Namespace", "metadata": {"name": name}, "spec": told}


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Served]:
    with served(tmp_path) as running:
        for source in (WAITS, FAILS):
            assert running.client.post("/playbooks", content=source).status_code == 201
        Credentials(running.runtime.secrets_path).add_credential("hooks", "generic", {"secret": SECRET})
        yield running


def put(server: Served, **spec: object) -> dict[str, Any]:
    response = server.client.put("/namespaces/team-t", json=document(**spec))
    assert response.status_code == 200, response.text
    found: dict[str, Any] = response.json()
    return found


def begin(server: Served, path: str = "t/t", key: str = "") -> httpx.Response:
    return server.client.post("/executions", json={"path": path}, headers={"Idempotency-Key": key} if key else {})


def cancel(server: Served, execution_id: str) -> None:
    server.client.post(f"/executions/{execution_id}/cancel")
    until(lambda: server.status(execution_id) == "cancelled")


def opened(server: Served) -> list[str]:
    return [row.execution_id for row in server.runtime.store.executions(Wanted(open=True))]


def test_one_is_kept_told_paused_and_deleted(server: Served) -> None:
    kept = put(server, quotas={"open_executions": 2, "starts_per_minute": 60}, weight=3)
    assert {**kept, "document": None} == {
        "name": "team-t", "prefix": "t/", "paused": False, "weight": 3, "open": 0, "starts_left": 60, "document": None,
        "quotas": {"open_executions": 2, "starts_per_minute": 60, "burst": 60}, "pools": {},
    }  # fmt: skip
    begin(server)
    (told,) = server.client.get("/namespaces").json()["namespaces"]
    assert (told["open"], told["starts_left"]) == (1, 59)
    assert server.client.post("/namespaces/team-t/pause").json()["paused"] is True
    assert begin(server).json()["quota"] == "paused"
    assert put(server)["paused"] is True
    assert server.client.post("/namespaces/team-t/resume").json()["paused"] is False
    assert begin(server).status_code == 201
    assert server.client.delete("/namespaces/team-t").status_code == 204
    assert server.client.get("/namespaces/team-t").status_code == 404


def test_what_is_wrong_is_told_with_what_to_write(server: Served) -> None:
    assert server.client.put("/namespaces/other", json=document("other", "x/")).status_code == 200
    for spec, text in (
        ({"prefix": "t"}, "`spec.prefix` ends in a slash: write `t/`"),
        ({"prefix": "/t/"}, "`spec.prefix` is 2 to 200 letters"),
        ({"prefix": "x/"}, "`spec.prefix`: namespace `other` has that prefix"),
        ({"prefix": None}, "`spec.prefix` is missing"),
        ({"weight": 0}, "`spec.weight` is a whole number from 1 to 1,000"),
        ({"quotas": {"open": 1}}, "`spec.quotas` has no key `open`"),
        ({"quotas": {"open_executions": 0}}, "`spec.quotas.open_executions` is a whole number from 1"),
        ({"quotas": {"burst": 5}}, "`spec.quotas.burst` goes with `starts_per_minute`"),
        ({"quota": {}}, "`spec` has no key `quota`; did you mean `quotas`?"),
        ({"pools": ["gpu"]}, "`spec.pools` is a mapping of at most 100 pools: write `pools: {gpu: 4}`"),
        ({"pools": {"gpu": 0}}, "`spec.pools.gpu` is a whole number from 1"),
        ({"pools": {"gpu": None}}, "`spec.pools.gpu` is how many may run at once: write `gpu: 4`"),
        ({"pools": {"g\0u": 1}}, "`spec.pools` has names of pools: there is a character"),
    ):
        response = server.client.put("/namespaces/team-t", json=document(**{"prefix": "t/", **spec}))  # type: ignore[arg-type]
        assert response.status_code == 400 and text in response.json()["detail"], response.text


def test_a_start_and_a_rerun_without_a_place_are_refused_for_now(server: Served) -> None:
    failed = begin(server, "t/fails").json()["execution_id"]
    until(lambda: server.status(failed) == "failed")
    put(server, quotas={"open_executions": 1})
    first = begin(server, key="one").json()["execution_id"]
    response = begin(server, key="two")
    assert (response.status_code, response.headers["Retry-After"]) == (429, "5")
    told = response.json()
    assert (told["namespace"], told["quota"]) == ("team-t", "open_executions")
    assert told["detail"] == (
        "nothing was started: namespace `team-t` has its 1 open executions (`quotas.open_executions`)"
    )
    rerun = server.client.post(f"/executions/{failed}/rerun", json={})
    assert (rerun.status_code, rerun.json()["quota"]) == (429, "open_executions")
    many = server.client.post("/executions/rerun", json={"ids": [failed]}).json()["executions"]
    assert [(row["outcome"], row["why"]) for row in many] == [
        ("refused", "namespace `team-t` has its 1 open executions (`quotas.open_executions`)")
    ]
    assert begin(server, key="one").json() == {"execution_id": first}, "its key has an execution"
    text = server.client.get("/metrics").text
    assert 'noetl_refused_starts_total{playbook_namespace="team-t",quota="open_executions"} 3' in text
    cancel(server, first)
    assert begin(server, key="two").status_code == 201


def test_so_many_starts_a_minute_and_when_the_next_one_is(server: Served) -> None:
    put(server, quotas={"starts_per_minute": 2})
    assert [begin(server, "t/fails").status_code for _ in range(3)] == [201, 201, 429]
    response = begin(server)
    assert 25 <= int(response.headers["Retry-After"]) <= 30, "one comes in each half minute"
    assert response.json()["quota"] == "starts_per_minute"


def test_a_webhook_is_to_come_again_and_what_ended_waits(server: Served) -> None:
    put_trigger(server, webhook=GITHUB)
    put_trigger(server, "after", after={"playbook": "t/fails", "status": ["failed"]})
    failed = begin(server, "t/fails").json()["execution_id"]
    put(server, quotas={"open_executions": 1})
    first = begin(server).json()["execution_id"]
    until(lambda: server.status(failed) == "failed")
    look(server)
    refused = post(server, {}, "d1")
    assert (refused.status_code, refused.headers["Retry-After"]) == (429, "5")
    assert "team-t" not in refused.text, "whoever sends learns nothing of it"
    trouble = "namespace `team-t` has its 1 open executions (`quotas.open_executions`)"
    assert [server.client.get(f"/triggers/{name}").json()["trouble"] for name in ("hook", "after")] == [trouble] * 2
    assert opened(server) == [first]
    cancel(server, first)
    look(server)
    (behind,) = opened(server)
    assert server.client.get(f"/executions/{behind}").json()["started_by"]["execution"] == failed
    cancel(server, behind)
    look(server)
    assert opened(server) == []
    assert post(server, {}, "d1").status_code == 202


def test_a_time_waits_and_is_started_once(server: Served) -> None:
    body = schedule_document(cron=None, every="1s", time_input=None, overlap="allow", timezone=None)
    assert server.client.put("/schedules/nightly", json=body).status_code == 200
    put(server, quotas={"open_executions": 1})
    first = begin(server).json()["execution_id"]
    starter = server.client.app.state.starter  # type: ignore[attr-defined]

    def trouble() -> str:
        starter.look()
        return str(server.client.get("/schedules/nightly").json()["trouble"])

    until(lambda: "namespace `team-t` has its 1 open executions" in trouble())
    waited = trouble().partition(": ")[0]
    assert opened(server) == [first]
    refused = server.client.post("/schedules/nightly/start")
    assert (refused.status_code, refused.json().get("quota")) == (429, "open_executions")
    cancel(server, first)
    until(lambda: (starter.look(), opened(server))[1] != [])
    (begun,) = opened(server)
    assert server.client.get(f"/executions/{begun}").json()["started_by"]["time"] == waited
    cancel(server, begun)
    server.client.delete("/namespaces/team-t")
    until(lambda: (starter.look(), opened(server))[1] != [])
    times = [server.client.get(f"/executions/{name}").json()["started_by"]["time"] for name in [begun, *opened(server)]]
    assert len(times) == len({*times}) and min(times) == waited


GATED = """
workflow:
  - step: start
    spec: {pool: gpu}
    tool: {kind: shell, command: "echo begun >> FOLDER/begun; while [ ! -e FOLDER/gate ]; do sleep 0.02; done"}
"""


def test_no_more_of_a_namespace_is_at_work_in_a_pool_than_it_says(server: Served, tmp_path: Path) -> None:
    gated = GATED.replace("FOLDER", str(tmp_path))
    for path in ("t/gated", "u/gated"):
        source = HEAD.replace("t/t", path) + gated.lstrip()
        assert server.client.post("/playbooks", content=source).status_code == 201
    assert put(server, pools={"gpu": 2})["pools"] == {"gpu": 2}
    mine = [begin(server, "t/gated").json()["execution_id"] for _ in range(4)]
    begun = tmp_path / "begun"
    until(lambda: begun.exists() and len(begun.read_text().splitlines()) == 2)

    def doing(execution_id: str) -> str:
        return server.client.get(f"/executions/{execution_id}").text

    # Those of others begin though two of these wait; what these wait for is told.
    other = begin(server, "u/gated").json()["execution_id"]
    until(lambda: len(begun.read_text().splitlines()) == 3)
    why = "at most 2 of namespace `team-t` run at once in pool `gpu`"
    assert sum(why in doing(name) for name in mine) == 2 and why not in doing(other)
    (tmp_path / "gate").touch()
    until(lambda: all(server.status(name) == "completed" for name in (*mine, other)))
    assert len(begun.read_text().splitlines()) == 5
