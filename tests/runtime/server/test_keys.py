"""Starts with a key happen once: the header Idempotency-Key, `noetl start` and `noetl run`."""

import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from harness.running import HEAD
from harness.serving import Served, served
from noetl.cli import remote
from noetl.cli.remote import ask_server

BODY = "workload: {n: 1, m: {}}\nworkflow: [{step: start, tool: {kind: noop, result: 1}}]\n"
START = {"path": "t/t", "payload": {"n": 2, "m": {"x": 1, "y": 2}}}


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Served]:
    with served(tmp_path) as up:
        up.client.post("/playbooks?name=t.yaml", content=(HEAD + BODY).encode()).raise_for_status()
        yield up


def test_the_same_key_gives_the_same_execution(server: Served) -> None:
    first = server.client.post("/executions", json=START, headers={"Idempotency-Key": '"k-1"'})
    assert first.status_code == 201 and "Idempotent-Replayed" not in first.headers
    turned = {"payload": {"m": {"y": 2, "x": 1}, "n": 2}, "path": "t/t"}
    for key, body in (('"k-1"', START), ("k-1", START), ("k-1", turned)):
        again = server.client.post("/executions", json=body, headers={"Idempotency-Key": key})
        assert (again.status_code, again.json()) == (200, first.json())
        assert again.headers["Location"] == first.headers["Location"]
        assert again.headers["Idempotent-Replayed"] == "true"
    other = server.client.post("/executions", json=START, headers={"Idempotency-Key": "k-2"})
    assert other.status_code == 201 and other.json() != first.json()
    assert server.client.post("/executions", json=START).status_code == 201
    assert len(server.runtime.store.executions()) == 3


def test_a_key_with_another_request_is_refused(server: Served) -> None:
    server.client.post("/executions", json=START, headers={"Idempotency-Key": "k"})
    for change in ({"payload": {"n": 3}}, {"payload": {}}, {"version": 1}):
        refused = server.client.post("/executions", json={**START, **change}, headers={"Idempotency-Key": "k"})
        assert refused.status_code == 409 and "with another playbook or payload" in refused.json()["detail"]
    assert len(server.runtime.store.executions()) == 1


@pytest.mark.parametrize("key", ["", '""', "x" * 256, "a\tb"])
def test_what_is_no_key_is_refused(server: Served, key: str) -> None:
    refused = server.client.post("/executions", json=START, headers={"Idempotency-Key": key})
    assert refused.status_code == 400 and "1 to 255 printable" in refused.json()["detail"]
    assert not server.runtime.store.executions()


def test_what_was_refused_can_be_asked_again(server: Served) -> None:
    unknown = {"path": "t/none"}
    assert server.client.post("/executions", json=unknown, headers={"Idempotency-Key": "k"}).status_code == 404
    assert server.client.post("/executions", json=START, headers={"Idempotency-Key": "k"}).status_code == 201


def test_two_servers_that_get_it_at_once_start_one(tmp_path: Path) -> None:
    with served(tmp_path) as one, served(tmp_path) as two:
        one.client.post("/playbooks?name=t.yaml", content=(HEAD + BODY).encode()).raise_for_status()

        def start(number: int) -> str:
            client = (one, two)[number % 2].client
            return str(client.post("/executions", json=START, headers={"Idempotency-Key": "k"}).json()["execution_id"])

        with ThreadPoolExecutor(8) as pool:
            assert len({*pool.map(start, range(16))}) == 1
        assert len(one.runtime.store.executions()) == 1


def test_a_request_whose_answer_is_lost_is_made_again_with_its_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote, "PAUSES", (0.0, 0.0))
    heard: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def respond() -> None:
            for number in range(2):
                connection, _ = listening.accept()
                with connection:
                    heard.append(connection.recv(65536))
                    if number:
                        connection.sendall(b'HTTP/1.1 200 OK\r\nContent-Length: 22\r\n\r\n{"execution_id": "e7"}')

        thread = threading.Thread(target=respond)
        thread.start()
        url = f"http://127.0.0.1:{listening.getsockname()[1]}"
        assert ask_server(url, "POST", "/executions", {"path": "t/t"}, key="k-7") == {"execution_id": "e7"}
        thread.join(60)
    assert len(heard) == 2
    assert all(b"\r\nidempotency-key: k-7\r\n" in request.lower() for request in heard)
