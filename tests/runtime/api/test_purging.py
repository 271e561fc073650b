"""`POST /purge`: what a server removes, and what it refuses."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from harness.running import HEAD
from harness.serving import Served, served
from noetl.cli.purge import _purged_by

PLAYBOOK = HEAD + "workflow:\n  - step: start\n    tool: {kind: noop}\n"
WAITING = HEAD.replace("t/t", "t/wait") + "workflow:\n  - step: start\n    tool: {kind: wait, events: [go]}\n"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Served]:
    with served(tmp_path) as running:
        for text in (PLAYBOOK, WAITING):
            assert running.client.post("/playbooks", content=text).status_code == 201
        yield running


def over(server: Served) -> str:
    """An execution that is over."""
    name = server.start()
    assert server.client.get(f"/executions/{name}/events", headers={"accept": "text/event-stream"}).status_code == 200
    assert server.status(name) == "completed"
    return name


def purged(server: Served, **body: object) -> dict[str, object]:
    response = server.client.post("/purge", json=body)
    assert response.status_code == 200, response.text
    found: dict[str, object] = response.json()
    return found


def test_by_id_and_once(server: Served) -> None:
    gone, stays = over(server), over(server)
    assert server.client.get(f"/executions/{gone}").status_code == 200  # and what is kept of it in memory goes, too
    assert purged(server, executions=[gone], dry_run=True) == {"would_purge": [[gone]], "more": False}
    assert server.status(gone) == "completed"
    done = purged(server, executions=[gone])
    assert (done["executions"], done["kept"], done["more"]) == (1, [], False)
    for what in ("", "/row", "/events", "/log", "/ctx", "/result", "/timeline", "/frames", "/replay", "/logs"):
        assert server.client.get(f"/executions/{gone}{what}").status_code == 404, what
    assert [row["execution_id"] for row in server.client.get("/executions").json()["executions"]] == [stays]
    assert server.client.post("/purge", json={"executions": [gone]}).status_code == 404


def test_some_at_a_time(server: Served) -> None:
    names = {over(server) for _ in range(5)}
    waiting = server.start(path="t/wait")
    assert purged(server, older_than="1d") == {"executions": 0, "bytes": 0, "kept": [], "more": False}
    assert purged(server, playbook="other/*")["executions"] == 0
    found = purged(server, playbook="t/*", limit=2)
    assert (found["executions"], found["more"]) == (2, True)
    assert purged(server, status="completed")["executions"] == 3
    rows = {row["execution_id"] for row in server.client.get("/executions").json()["executions"]}
    assert rows == {waiting} and not rows & names


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ({}, "give `executions`, or at least one of"),
        ({"executions": ["x"], "status": "failed"}, "give `executions`, or at least one of"),
        ({"older_than": "soon"}, "write a duration as in `30d`"),
        ({"status": "running"}, "status"),
        ({"status": "failed", "limit": 0}, "limit"),
        ({"statuses": "failed"}, "statuses"),
    ],
)
def test_what_is_no_purge(server: Served, body: dict[str, object], text: str) -> None:
    response = server.client.post("/purge", json=body)
    assert response.status_code == 400
    assert text in response.json()["detail"]


def test_what_is_not_over_is_refused(server: Served) -> None:
    waiting = server.start(path="t/wait")
    response = server.client.post("/purge", json={"executions": [waiting]})
    assert response.status_code == 409
    assert response.json()["detail"] == f"{waiting} is not over: it is running"


def test_what_is_kept_stands_in_the_way_of_nothing(server: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also of a command that has a server purge some at a time."""
    old, kept = [over(server) for _ in range(3)], [over(server) for _ in range(5)]

    def ask(_: str, method: str, path: str, data: object) -> dict[str, object]:
        asked.append(data)
        return dict(server.client.request(method, path, json=data).json())

    asked: list[object] = []
    monkeypatch.setattr("noetl.cli.purge.ask_server", ask)
    monkeypatch.setattr("noetl.cli.purge._AT_ONCE", 2)
    with ExitStack() as owning:
        for name in kept:
            owning.enter_context(server.runtime.store.own(name))
        done = _purged_by("http://x", {"playbook": "t/*"})
    assert [each.execution_id for each in done.kept] == kept[::-1] and done.executions == len(old)
    assert len(asked) == 4
    rows = {row["execution_id"] for row in server.client.get("/executions").json()["executions"]}
    assert rows == {*kept}
