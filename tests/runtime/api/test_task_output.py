"""Task output over the API: who may read it and hand it in, by pages, and what a stream says of it."""

from pathlib import Path
from typing import Any

import pytest

from harness.serving import Served, served, signed, until
from noetl.api.bearer_tokens import BearerToken, digest_of
from noetl.ports.output import CHUNK

PRINTS = """
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: t, path: t/t}
workflow:
  - {step: start, tool: {name: s, kind: shell, command: "echo hello"}, next: {arcs: [{step: wait}]}}
  - {step: wait, tool: {kind: wait, events: [go]}}
"""
CHUNK_OF = {
    "step": "start", "run": 1, "path": [], "task": "s", "visit": 1, "attempt": 1, "claim": 9, "stream": "stdout",
    "offset": 0, "at": 1, "text": "more\n",
}  # fmt: skip


def bearer(role: str) -> dict[str, str]:
    return {"authorization": f"Bearer secret-{role}"}


def begun(server: Served, **headers: str) -> str:
    client = server.client
    assert client.post("/playbooks", content=PRINTS.encode(), headers=headers).status_code == 201
    name = client.post("/executions", json={"path": "t/t"}, headers=headers).json()["execution_id"]
    until(lambda: bool(client.get(f"/executions/{name}/logs", headers=headers).json()["logs"]))
    return str(name)


def texts(server: Served, name: str, query: str = "") -> list[str]:
    return [row["text"] for row in server.client.get(f"/executions/{name}/logs{query}").json()["logs"]]


def test_output_is_read_by_pages_and_by_step_and_attempt(tmp_path: Path) -> None:
    with served(tmp_path) as server:
        name = begun(server)
        second = signed(server.runtime.store, {**CHUNK_OF, "execution_id": name, "attempt": 2})
        more = [{**second, "offset": 5 * at, "text": f"{at:4}\n"} for at in range(7)]
        assert server.client.post("/logs", json={"logs": more}).json() == {"heard": 7}
        assert server.client.post("/logs", json={"logs": more[3:]}).status_code == 202
        assert texts(server, name) == ["hello\n", *(each["text"] for each in more)]
        assert texts(server, name, "?attempt=1&step=start") == ["hello\n"]
        assert texts(server, name, "?step=wait") == []
        found, after = list[str](), 0
        while after is not None:
            page = server.client.get(f"/executions/{name}/logs?limit=3&after={after}&attempt=2").json()
            found += [row["text"] for row in page["logs"]]
            after = page["next"]
        assert found == [each["text"] for each in more]


def test_what_is_wrong_is_told(tmp_path: Path) -> None:
    with served(tmp_path) as server:
        name = begun(server)
        unknown = server.client.get(f"/executions/{name}/logs?step=strat")
        assert (unknown.status_code, "did you mean `start`?" in unknown.json()["detail"]) == (409, True)
        assert server.client.get("/executions/nobody/logs").status_code == 404
        assert server.client.get(f"/executions/{name}/logs?attempt=x").status_code == 400
        assert server.client.get(f"/executions/{name}/logs?after=-1").status_code == 400


@pytest.mark.parametrize(
    "wrong",
    [{"text": "x" * (CHUNK + 1)}, {"stream": "full"}, {"offset": -1}, {"path": ["x"]}, {"claim": True}, {"more": 1}],
    ids=str,
)
def test_what_is_no_output_is_refused(tmp_path: Path, wrong: dict[str, Any]) -> None:
    with served(tmp_path) as server:
        name = begun(server)
        good = signed(server.runtime.store, {**CHUNK_OF, "execution_id": name})
        body = {"logs": [good, {**good, **wrong}]}
        assert server.client.post("/logs", json=body).status_code == 400
        assert texts(server, name) == ["hello\n"]


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({**CHUNK_OF, "ofset": 1}, "`logs.0.ofset`: there is no such key; did you mean `offset`? (the keys are ex"),
        ({**CHUNK_OF}, "`logs.0.execution_id`: Field required"),
        (1, "`logs.0`: it has to be a mapping"),
    ],
)  # fmt: skip
def test_what_is_wrong_within_a_list_is_told_of_what_stands_there(tmp_path: Path, wrong: object, told: str) -> None:
    with served(tmp_path) as server:
        response = server.client.post("/logs", json={"logs": [wrong]})
        assert (response.status_code, told in response.json()["detail"]) == (400, True), response.text


def test_output_of_an_execution_that_is_not_here_is_dropped(tmp_path: Path) -> None:
    with served(tmp_path) as server:
        name = begun(server)
        body = [signed(server.runtime.store, {**CHUNK_OF, "execution_id": one}) for one in ("nobody", name)]
        assert server.client.post("/logs", json={"logs": body}).status_code == 202
        assert texts(server, name) == ["hello\n", "more\n"]
        assert [path.name for path in tmp_path.glob("noetl.db.output/*")] == [f"{name}.jsonl"]


@pytest.mark.parametrize(
    "other",
    [{"mac": ""}, {"mac": "0" * 32}, {"claim": 10}, {"run": 2}, {"path": [0]}, {"step": "wait"}],
    ids=str,
)
def test_only_who_has_the_order_writes_output_of_it(tmp_path: Path, other: dict[str, Any]) -> None:
    with served(tmp_path) as server:
        name = begun(server)
        own = signed(server.runtime.store, {**CHUNK_OF, "execution_id": name})
        # Of another worker's attempt, and of one's own: only that is kept.
        sent = server.client.post("/logs", json={"logs": [{**own, **other, "text": "forged\n"}, own]})
        assert (sent.status_code, sent.json()) == (202, {"heard": 1})
        assert texts(server, name) == ["hello\n", "more\n"]
        row = server.client.get(f"/executions/{name}/logs").json()["logs"][1]
        assert "mac" not in row and own["mac"] not in (tmp_path / "noetl.db.output" / f"{name}.jsonl").read_text()


def test_who_may_look_reads_it_and_workers_hand_it_in(tmp_path: Path) -> None:
    tokens = [BearerToken(role, role, digest_of(f"secret-{role}")) for role in ("viewer", "operator", "worker")]
    with served(tmp_path, *tokens) as server:
        name = begun(server, **bearer("operator"))
        body = {"logs": [signed(server.runtime.store, {**CHUNK_OF, "execution_id": name})]}
        may = {"viewer": (200, 403), "operator": (200, 403), "worker": (200, 202), "x": (401, 401)}
        for who, codes in may.items():
            got = server.client.get(f"/executions/{name}/logs", headers=bearer(who))
            sent = server.client.post("/logs", json=body, headers=bearer(who))
            assert (got.status_code, sent.status_code) == codes, who


def test_a_stream_says_when_there_is_more_where_it_is_asked_to(tmp_path: Path) -> None:
    with served(tmp_path) as server:
        name = begun(server)
        server.client.post(f"/executions/{name}/signal", json={"name": "go"})
        until(lambda: server.client.get(f"/executions/{name}/row").json()["status"] == "completed")
        stream = {"accept": "text/event-stream"}
        told = server.client.get(f"/executions/{name}/events?output=true", headers=stream).text
        quiet = server.client.get(f"/executions/{name}/events", headers=stream).text
        assert told.count("event: output\n") == 1 and told.rstrip().endswith("data: {}")
        assert told.index("event: output") < told.index("event: end")
        assert "event: output" not in quiet
