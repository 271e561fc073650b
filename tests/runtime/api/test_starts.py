"""Starts that wait for what workers say hold up nobody else, and only for so long."""

import asyncio
from collections.abc import Iterator
from concurrent.futures import Future
from pathlib import Path

import httpx
import pytest

from harness.running import HEAD
from harness.serving import Served, served
from noetl.api import handlers
from noetl.api.service import Prepared, Start

BODY = "workflow: [{step: start, tool: {kind: noop}}]\n"
MANY = 100
"""More than there are threads for requests."""


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Served]:
    with served(tmp_path) as up:
        up.client.post("/playbooks?name=t.yaml", content=(HEAD + BODY).encode()).raise_for_status()
        yield up


def asked_from_now(server: Served, monkeypatch: pytest.MonkeyPatch) -> list[Future[tuple[str, ...]]]:
    """The futures of the preflights that are asked for from now on; none of them is done."""
    service = server.client.app.state.service  # type: ignore[attr-defined]
    prepare, asked = service.prepare, list[Future[tuple[str, ...]]]()

    def prepared(start: Start) -> Prepared:
        asked.append(Future())
        return Prepared(asked[-1], prepare(start).begin)

    monkeypatch.setattr(service, "prepare", prepared)
    return asked


def test_a_key_that_a_body_cannot_have_is_told_beside_what_was_meant(server: Served) -> None:
    response = server.client.post("/executions", json={"path": "t/t", "payloads": {}})
    assert response.status_code == 400
    assert "`payloads`: there is no such key; did you mean `payload`?" in response.json()["detail"]
    other = server.client.post("/executions", json={"path": "t/t", "workload": {}}).json()["detail"]
    assert (
        "`workload`: there is no such key (the keys are playbook_id, path, version, payload, strict_inputs, labels,"
        " traceparent)" in other
    )


def test_others_are_answered_while_starts_wait(server: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = asked_from_now(server, monkeypatch)
    monkeypatch.setattr(handlers, "WITHIN", 1e9)

    async def meanwhile() -> list[int]:
        transport = httpx.ASGITransport(server.client.app)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost", timeout=None) as client:
            starts = [asyncio.create_task(client.post("/executions", json={"path": "t/t"})) for _ in range(MANY)]
            while len(asked) < MANY:
                await asyncio.sleep(0.01)
            counts = await client.get("/counts")
            assert (counts.status_code, sum(counts.json().values())) == (200, 0)
            for number, lacking in enumerate(asked):
                lacking.set_result(("no `key`",) if number % 2 else ())
            return [(await start).status_code for start in starts]

    found = asyncio.run(meanwhile())
    assert (found.count(201), found.count(409)) == (MANY // 2, MANY // 2)


def test_a_start_goes_ahead_where_nobody_answers(server: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = asked_from_now(server, monkeypatch)
    monkeypatch.setattr(handlers, "WITHIN", 0.01)
    assert server.client.post("/executions", json={"path": "t/t"}).status_code == 201
    assert asked[0].cancelled(), "nobody waits for an answer any more"
