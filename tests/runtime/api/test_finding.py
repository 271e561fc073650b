"""Executions that are looked for: by queries over the API, the same from elsewhere with `--server`."""

from contextlib import closing
from pathlib import Path

import pytest

from harness.running import HEAD
from harness.serving import Served, served, until
from noetl.app.query_language import read_query
from noetl.ports import Wanted
from noetl.store.http import Connection, RemoteStore

FAILS = 'workflow:\n  - {step: start, tool: {name: f, kind: fail, code: "CODE", message: none left}}\n'
WORKS = "workflow:\n  - {step: start, tool: {kind: noop}}\n"


def begun(up: Served, text: str, count: int) -> list[str]:
    source = (HEAD + text).encode()
    digest = up.client.post("/playbooks?name=t.yaml", content=source).json()["playbook_id"]
    return [
        str(up.client.post("/executions", json={"playbook_id": digest}).json()["execution_id"]) for _ in range(count)
    ]


def ids(up: Served, query: str, **more: str) -> list[str]:
    response = up.client.get("/executions", params={"query": query, **more})
    assert response.status_code == 200, response.text
    return [row["execution_id"] for row in response.json()["executions"]]


@pytest.fixture
def up(tmp_path: Path) -> "Served":  # type: ignore[misc]
    with served(tmp_path) as up:
        yield up


def test_executions_are_found_by_status_code_and_version(up: Served) -> None:
    works = begun(up, WORKS, 2)
    lost = begun(up, FAILS.replace("CODE", "stock.empty"), 1)
    other = begun(up, FAILS.replace("CODE", "stock.late"), 2)
    until(lambda: not ids(up, "is:open"))
    assert ids(up, "status:failed") == [*other[::-1], *lost]
    assert ids(up, "error:stock.empty") == lost and ids(up, "error:'stock.*' -error:stock.empty") == other[::-1]
    assert ids(up, "version:1") == works[::-1] and ids(up, "version:>1", status="failed") == [*other[::-1], *lost]
    assert ids(up, "status:failed", limit="1") == other[1:]
    row = up.client.get("/executions", params={"query": "error:stock.empty"}).json()["executions"][0]
    assert row["error"] == "stock.empty"
    counts = up.client.get("/counts/error", params={"query": "started:<1h"}).json()
    assert counts == {
        "counts": [
            {"value": "stock.late", "count": 2}, {"value": None, "count": 2}, {"value": "stock.empty", "count": 1},
        ],
        "next": None,
    }  # fmt: skip
    assert up.client.get("/counts/error?limit=1&after=1").json()["counts"] == [{"value": None, "count": 2}]


@pytest.mark.parametrize(
    ("path", "told"),
    [
        ("/executions?query=x%20stats:failed", "`query`, column 3: nothing is called `stats`; did you mean `status`?"),
        ("/counts/eror", "did you mean `error`?"),
        ("/counts/error?query=(a", "`query`, column 1: this `(` has no `)`"),
    ],
)
def test_what_cannot_be_meant_is_told(up: Served, path: str, told: str) -> None:
    response = up.client.get(path)
    assert response.status_code == 400 and told in response.json()["detail"]


def test_a_remote_store_asks_the_same(up: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    lost = begun(up, FAILS.replace("CODE", "it's *"), 2)
    until(lambda: not ids(up, "is:open"))
    with closing(Connection("http://localhost")) as connection:
        monkeypatch.setattr(connection, "_opened", lambda: up.client)
        store = RemoteStore(connection)
        wanted = Wanted(query=read_query('error:"it\'s \\*" started:<1h', up.runtime.store.execution(lost[0]).started))  # type: ignore[union-attr]
        assert [row.execution_id for row in store.executions(wanted)] == lost[::-1]
        assert store.executions(wanted) == up.runtime.store.executions(wanted)
        assert store.tally(wanted, "error") == (("it's *", 2),)
        assert store.attributes(lost) == {}
