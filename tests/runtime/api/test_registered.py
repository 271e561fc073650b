"""Starts take what is registered: neither a draft that is run in the store of a server, nor the older child in the
plan of a caller, becomes the newest version.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.running import HEAD, compiled
from harness.serving import Served, served, until

CHILD = (
    "apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: {name: c, path: c/c}\n"
    "workflow: [{step: start, tool: {kind: noop, result: %d}}]\n"
)
CALLER = HEAD + "workflow: [{step: start, tool: {kind: playbook, path: c/c}}]\n"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Served]:
    with served(tmp_path) as up:
        yield up


def registered(server: Served, source: bytes) -> str:
    response = server.client.post("/playbooks?name=t.yaml", content=source)
    assert response.status_code == 201, response.text
    return str(response.json()["playbook_id"])


def result(server: Served, execution: str) -> object:
    until(lambda: server.status(execution) == "completed")
    return server.client.get(f"/executions/{execution}/result").json()["result"]


def test_a_draft_that_runs_in_the_store_of_a_server_is_not_what_it_starts(server: Served) -> None:
    kept = registered(server, (CHILD % 1).encode())
    draft = server.runtime.programs.add_plan(compiled(CHILD % 2))  # as `noetl run` does
    assert server.client.get("/playbooks").json()["playbooks"][0]["playbook_id"] == kept != draft.digest
    assert result(server, server.start(path="c/c")) == 1
    assert registered(server, (CHILD % 2).encode()) == draft.digest
    assert result(server, server.start(path="c/c")) == 2


def test_the_child_in_the_plan_of_a_caller_is_not_what_others_start(server: Served) -> None:
    caller = registered(server, compiled(f"{CALLER}---\n{CHILD % 1}"))
    registered(server, (CHILD % 2).encode())
    assert result(server, server.start(playbook_id=caller)) == 1
    assert result(server, server.start(path="c/c")) == 2
