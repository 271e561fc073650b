"""Halves of surrogate pairs, which JSON and Python have and UTF-8 has not, go through a server and come back."""

from pathlib import Path

import pytest

from harness.running import HEAD
from harness.serving import served, until

BODY = """
workload: {a: x}
workflow:
  - step: start
    tool: {kind: noop, result: {v: "{{ workload.a }}"}, spec: {policy: {rules: [
      {else: {then: {do: continue, set_ctx: {kept: "{{ outcome.result.v }}"}}}}]}}}
"""


@pytest.mark.parametrize("place", ["", "/row", "/ctx", "/result", "/replay", "/events", "/log"])
def test_every_answer_can_carry_them(tmp_path: Path, place: str) -> None:
    with served(tmp_path) as server:
        server.client.post("/playbooks?name=t.yaml", content=(HEAD + BODY).encode()).raise_for_status()
        start = b'{"path": "t/t", "payload": {"a": "a\\ud800b"}}'
        begun = server.client.post("/executions", content=start, headers={"content-type": "application/json"})
        assert begun.status_code == 201
        name = begun.json()["execution_id"]
        until(lambda: server.client.get(f"/executions/{name}/row").json()["status"] == "completed")
        response = server.client.get(f"/executions/{name}{place}")
        assert response.status_code == 200
        if place in ("/ctx", "/result", "/events"):
            assert "a\\ud800b" in str(response.json())
        assert server.said == []


def test_a_stream_of_events_can_carry_them(tmp_path: Path) -> None:
    with served(tmp_path) as server:
        server.client.post("/playbooks?name=t.yaml", content=(HEAD + BODY).encode()).raise_for_status()
        start = b'{"path": "t/t", "payload": {"a": "a\\ud800b"}}'
        begun = server.client.post("/executions", content=start, headers={"content-type": "application/json"})
        place = f"/executions/{begun.json()['execution_id']}/events"
        lines = server.client.get(place, headers={"accept": "text/event-stream"}).text
        assert "playbook.processed" in lines and "ud800" in lines and server.said == []


def test_what_names_them_is_refused_in_words(tmp_path: Path) -> None:
    with served(tmp_path) as server:
        for body in (b'{"path": "a\\ud800b"}', b'{"path": "t/t", "p\\ud800": 1}'):
            response = server.client.post("/executions", content=body, headers={"content-type": "application/json"})
            assert response.status_code in (400, 404, 422) and response.json()["title"]
        assert server.said == []
