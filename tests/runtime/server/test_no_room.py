"""A server whose disk is full: it says so, refuses what it cannot store, fails nothing, and goes on by itself."""

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from harness.running import compiled
from harness.serving import Served, served, until
from noetl.ports import NoRoom

# A result that goes outside of the log, and a tool that counts how often it ran.
TASK = """
executor: {spec: {policy: {limits: {max_payload_bytes: 1000}}}}
workflow:
  - step: start
    tool: {name: w, kind: wait, events: [go]}
    next: {arcs: [{step: work}]}
  - step: work
    tool:
      kind: python
      code: |
        import time
        with open('ran', 'a') as file:
            file.write('1\\n')
        time.sleep(0.3)
        result = {'n': 7, 'text': 'x' * 5000}
    next: {arcs: [{step: last}]}
  - {step: last, tool: {kind: noop, result: "{{ work.n }}"}}
"""
REASON = "there is no room for values or events: the disk is full"


class Disk:
    """The disk of a server: `is_full` for what it takes from there on; the look at it does not show it."""

    def __init__(self, server: Served, monkeypatch: pytest.MonkeyPatch) -> None:
        self.is_full = False
        self.refused = 0
        for part, names in (
            (server.runtime.store, ("append_all", "create", "post", "put_plan")),
            (server.runtime.blobs, ("put",)),
        ):
            for name in names:
                monkeypatch.setattr(part, name, self._guarded(getattr(part, name)))

    def _guarded(self, work: Callable[..., Any]) -> Callable[..., Any]:
        def guarded(*args: object, **named: object) -> object:
            if self.is_full:
                self.refused += 1
                raise NoRoom("a.db: the disk is full", "the disk is full")
            return work(*args, **named)

        return guarded


def begin(server: Served, text: str = TASK) -> str:
    """Register and start through the API; the id."""
    registered = server.client.post(
        "/playbooks", content=compiled(text), headers={"content-type": "application/octet-stream"}
    )
    assert registered.status_code == 201, registered.text
    return server.start()


def metric(server: Served, name: str) -> float:
    lines = server.client.get("/metrics").text.splitlines()
    return float(next(line for line in lines if line.startswith(f"{name} ")).split()[1])


@pytest.mark.parametrize("when", ["before the turn", "while the tool runs"])
def test_nothing_fails_and_nothing_runs_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, when: str) -> None:
    with served(tmp_path) as server:
        execution_id = begin(server)
        disk = Disk(server, monkeypatch)
        server.runtime.store.post(execution_id, "signal", {"name": "go", "data": None})
        if when == "before the turn":
            disk.is_full = True
            server.service.wake()
        else:
            server.service.wake()
            until((tmp_path / "ran").exists)
            disk.is_full = True
        until(lambda: server.client.get("/readyz").status_code == 503, 5)
        until(lambda: any("nothing can be stored: a.db: the disk is full" in line for line in server.said), 5)
        assert server.client.get("/readyz").json()["detail"] == REASON
        assert metric(server, "noetl_store_full") == metric(server, "noetl_store_failing") == 1
        assert server.client.get("/healthz").status_code == 200
        assert server.status(execution_id) == "running"
        assert server.client.get(f"/executions/{execution_id}/events").status_code == 200
        for method, path, body in (
            ("POST", "/executions", {"path": "t/t"}),
            ("POST", f"/executions/{execution_id}/pause", None),
        ):
            refused = server.client.request(method, path, json=body)
            assert (refused.status_code, refused.json()["detail"]) == (503, REASON)
            assert refused.headers["retry-after"] == "1"
        disk.is_full = False
        until(lambda: server.status(execution_id) == "completed")
        until(lambda: server.client.get("/readyz").status_code == 200, 8)
        assert metric(server, "noetl_store_full") == 0
        assert server.client.get(f"/executions/{execution_id}/result").json()["result"] == 7
        assert server.client.get(f"/executions/{execution_id}/replay").json()["legal"] is True
        assert [len((tmp_path / "ran").read_text().split()), len(server.runtime.store.executions())] == [1, 1]
        names = {
            event["event_type"] for event in server.client.get(f"/executions/{execution_id}/events").json()["events"]
        }
        assert "task.lost" not in names
        until(lambda: "there is room again: going on" in server.said)
        assert len(server.said) == 2


def test_a_start_that_cannot_be_stored_is_refused_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with served(tmp_path) as server:
        begin(server)
        disk = Disk(server, monkeypatch)
        disk.is_full = True
        refused = server.client.post("/executions", json={"path": "t/t"})
        assert (refused.status_code, refused.json()["detail"]) == (503, REASON)
        assert server.client.get("/readyz").status_code == 503
        disk.is_full = False
        until(lambda: server.client.post("/executions", json={"path": "t/t"}).status_code == 201, 2)
        assert len(server.runtime.store.executions()) == 2


def test_a_full_disk_shows_before_anything_is_stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    full = [True]

    def look(*, suspected: bool) -> None:
        if full[0]:
            raise NoRoom("/data: the disk is full", "the disk is full")

    with served(tmp_path) as server:
        monkeypatch.setattr(server.runtime.store, "check_room", look)
        until(lambda: server.client.get("/readyz").status_code == 503, 5)
        full[0] = False
        until(lambda: server.client.get("/readyz").status_code == 200, 8)


@pytest.mark.parametrize("seconds", [0, 1])
def test_a_server_that_waits_for_room_can_be_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seconds: int
) -> None:
    with served(tmp_path) as server:
        execution_id = begin(server)
        disk = Disk(server, monkeypatch)
        server.runtime.store.post(execution_id, "signal", {"name": "go", "data": None})
        disk.is_full = True
        server.service.wake()
        until(lambda: disk.refused > 3)
        server.service.stop(seconds * 1_000_000)
        until(
            lambda: (
                not any(thread.name.startswith("Thread") and thread.is_alive() for thread in server_threads(server))
            ),
            5,
        )
        disk.is_full = False
    with served(tmp_path) as server:
        until(lambda: server.status(execution_id) == "completed")


def server_threads(server: Served) -> list[threading.Thread]:
    """The thread that drives."""
    return [thread for thread in threading.enumerate() if getattr(thread, "_target", None) == server.service.run]
