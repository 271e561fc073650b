"""The service that drives a store: what it takes up, what it gives up, and when it ends."""

import sqlite3
from collections.abc import Sequence
from pathlib import Path

import pytest

from harness.running import HEAD, compiled
from harness.serving import Served, served, until
from noetl.api.notifier import Notifier
from noetl.app.composition import driver_of, server_of
from noetl.app.runtime import Runtime, Settings, open_runtime
from noetl.engine.starting import Request
from noetl.ports import Append, Busy, StoreFailure

WAITS = """
workflow:
  - {step: start, tool: {name: w, kind: wait, events: [go]}, next: {arcs: [{step: last}]}}
  - {step: last, tool: {kind: noop, result: done}}
"""
CALLS = """
workflow:
  - {step: start, tool: {name: c, kind: playbook, path: t/c, wait: %s}, next: {arcs: [{step: last}]}}
  - {step: last, tool: {kind: noop}}
---
""" + HEAD.replace("t/t", "t/c") + WAITS.lstrip("\n")  # fmt: skip


def begun(server: Served, plan: bytes, name: str) -> None:
    program = server.runtime.programs.add_plan(plan)
    server.service.do(lambda control: control.own_and_start(program, name, Request({}))).result(10)


def stands(runtime: Runtime, name: str) -> str:
    row = runtime.store.execution(name)
    return row.status if row is not None else ""


def test_a_server_goes_on_with_what_another_one_left(tmp_path: Path) -> None:
    with served(tmp_path) as server:
        begun(server, compiled(WAITS), "e1")
        until(lambda: stands(server.runtime, "e1") == "running")
    with served(tmp_path) as server:
        until(lambda: server.service.standing().executions == 1)
        server.client.post("/executions/e1/signal", json={"name": "go"})
        until(lambda: stands(server.runtime, "e1") == "completed")
        until(lambda: server.service.standing().executions == 0)


@pytest.mark.parametrize("wait", ["true", "false"])
def test_children_go_on_with_their_caller_or_without_it(tmp_path: Path, wait: str) -> None:
    with served(tmp_path) as server:
        begun(server, compiled(CALLS % wait), "e1")
        until(lambda: len(server.runtime.store.executions()) == 2)
        until(lambda: stands(server.runtime, "e1") == ("running" if wait == "true" else "completed"))
    with served(tmp_path) as server:
        (child,) = [row for row in server.runtime.store.executions() if row.parent_execution_id == "e1"]
        until(lambda: server.runtime.store.is_owned(child.execution_id))
        server.client.post(f"/executions/{child.execution_id}/signal", json={"name": "go"})
        until(lambda: stands(server.runtime, child.execution_id) == "completed")
        until(lambda: stands(server.runtime, "e1") == "completed")


def test_two_servers_on_one_store_share_what_there_is(tmp_path: Path) -> None:
    with served(tmp_path) as one, served(tmp_path) as two:
        plan = compiled(WAITS)
        begun(one, plan, "e1")
        begun(two, plan, "e2")
        for other, name in [(two, "e1"), (one, "e2")]:
            assert other.client.post(f"/executions/{name}/signal", json={"name": "go"}).status_code == 202
        for name in ("e1", "e2"):
            until(lambda: stands(one.runtime, name) == "completed")  # noqa: B023


def test_a_store_that_fails_for_a_while_costs_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with served(tmp_path) as server:
        begun(server, compiled(WAITS), "e1")
        store, failing = server.runtime.store, [True]
        append_all = store.append_all

        def fail(appends: Sequence[Append]) -> None:
            if failing[0]:
                raise StoreFailure("the disk is full")
            append_all(appends)

        monkeypatch.setattr(store, "append_all", fail)
        server.client.post("/executions/e1/signal", json={"name": "go"})
        until(lambda: server.client.get("/readyz").status_code == 503)
        for _ in range(20):
            server.service.wake()
            assert "the store cannot be used" in server.client.get("/readyz").json().get("detail", "")
        failing[0] = False
        until(lambda: stands(server.runtime, "e1") == "completed")
        assert server.client.get("/readyz").status_code == 200
        assert server.said == ["the store failed, trying again: the disk is full"]
        assert server.client.get("/executions/e1/replay").json()["legal"] is True


def test_a_scripted_execution_is_left_alone(tmp_path: Path) -> None:
    with served(tmp_path) as server:
        program = server.runtime.programs.add_plan(compiled(WAITS))
        with driver_of(server.runtime, "e1", lambda *_: None) as driver:
            driver.control.start(program, "e1", Request({}, scripted=True))
    with served(tmp_path) as server:
        begun(server, compiled(WAITS), "e2")
        until(lambda: server.service.standing().executions == 1)
        assert not server.runtime.store.is_owned("e1")


def test_after_the_end_nothing_is_taken(tmp_path: Path) -> None:
    with served(tmp_path) as server:
        server.service.stop(0)
        until(lambda: server.client.get("/readyz").status_code == 503)
        with pytest.raises(Busy):
            server.service.do(lambda control: None)


def test_what_waits_is_bounded() -> None:
    with open_runtime("memory:///x", Settings(), lambda path: (b"", {})) as runtime:
        service = server_of(runtime, None, Notifier().notify, lambda text: None).service
        for _ in range(1_000):
            service.do(lambda control: None)
        with pytest.raises(Busy, match="1000"):
            service.do(lambda control: None)


def test_a_log_that_was_cut_stops_no_other_execution(tmp_path: Path) -> None:
    with served(tmp_path) as server:
        begun(server, compiled(WAITS), "e1")
        begun(server, compiled(WAITS), "e2")
        path = str(getattr(server.runtime.store, "path"))  # noqa: B009  (of SQLite alone)
    with sqlite3.connect(path) as other:
        other.execute("DROP TRIGGER events_never_go")
        other.execute("DELETE FROM events WHERE key & 4294967295 > 5 AND key >> 32 = 1")
    other.close()
    with served(tmp_path) as server:
        until(lambda: server.runtime.store.is_owned("e2"))
        assert server.client.get("/readyz").status_code == 200
        server.client.post("/executions/e2/signal", json={"name": "go"})
        until(lambda: stands(server.runtime, "e2") == "completed")
        assert server.client.get("/readyz").status_code == 200
        told = server.client.get("/executions/e1")
        assert told.status_code >= 400 and "the end of the log of" in told.text
