"""The items of a step's loops, against what the playbook says of each by hand."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from harness.running import HEAD
from harness.serving import Served, served, until
from noetl.app import loop_items

LOOPS = """
workload: {names: [a, b, c, d]}
workflow:
  - step: start
    loop: {in: "{{ workload.names }}", iterator: name, spec: {mode: sequential}}
    tool:
      name: t
      kind: noop
      result: {name: "{{ iter.name }}", long: "{{ 'x' * 1000 }}"}
    next: {arcs: [{step: nested}]}
  - step: nested
    loop: {in: [1, 2], iterator: outer, loop: {in: "{{ [10, 20] }}", iterator: inner}}
    tool: {name: n, kind: noop, result: "{{ iter.inner + iter.parent.outer }}"}
    next: {arcs: [{step: tried}]}
  - step: tried
    loop: {in: [1, 2, 3], iterator: n}
    tool:
      name: f
      kind: fail
      code: no.luck
      message: none
      spec:
        policy:
          rules:
            - {when: "{{ iter.n == 1 }}", then: {do: continue}}
            - {when: "{{ _attempt < 3 }}", then: {do: retry, delay: 0.01}}
            - {else: {then: {do: fail}}}
"""
WAITS = """
workflow:
  - step: start
    loop: {in: [1, 2, 3], iterator: n, spec: {mode: parallel, max_in_flight: 2}}
    tool: {name: w, kind: wait, events: ["{{ 'go%d' % iter.n }}"]}
"""


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Served]:
    with served(tmp_path) as up:
        yield up


def begun(server: Served, source: str) -> str:
    response = server.client.post("/playbooks?name=t.yaml", content=(HEAD + source).encode())
    assert response.status_code == 201, response.text
    return server.start(path="t/t")


def items(server: Served, name: str, step: str, **words: object) -> dict[str, Any]:
    response = server.client.get(f"/executions/{name}/items", params={"step": step, **words})
    assert response.status_code == 200, response.text
    return dict(response.json())


def states(found: dict[str, Any]) -> list[tuple[list[int], str]]:
    return [(row["index"], row["state"]) for row in found["items"]]


def test_each_item_has_its_state_result_and_attempts(server: Served) -> None:
    name = begun(server, LOOPS)
    until(lambda: server.status(name) == "failed")
    found = items(server, name, "start")
    assert states(found) == [([n], "done") for n in range(4)] and found["counts"] == {"done": 4}
    assert [row["item"] for row in found["items"]] == ['"a"', '"b"', '"c"', '"d"']
    assert all(row["result"].endswith("…") and len(row["result"]) < 500 for row in found["items"])
    key = f"{found['items'][2]['run']}/2"
    whole = server.client.get(f"/executions/{name}/item", params={"step": "start", "key": key}).json()
    assert whole == {"item": "c", "result": {"name": "c", "long": "x" * 1000}}
    tried = items(server, name, "tried")
    assert states(tried) == [([0], "done"), ([1], "failed"), ([2], "skipped")]
    assert [row["attempts"] for row in tried["items"]] == [1, 3, 0]
    error = tried["items"][1]["error"]
    assert error["code"] == "no.luck" and error["at"]["file"] == "t.yaml"
    assert tried["items"][2]["began"] is None
    assert items(server, name, "tried", state="failed")["items"] == [tried["items"][1]]


def test_items_of_a_loop_inside_a_loop_have_its_whole_index(server: Served) -> None:
    name = begun(server, LOOPS)
    until(lambda: server.status(name) == "failed")
    found = items(server, name, "nested")
    results = {tuple(row["index"]): row["result"] for row in found["items"]}
    assert results == {
        (0,): "[11, 21]", (1,): "[12, 22]", (0, 0): "11", (0, 1): "21", (1, 0): "12", (1, 1): "22",
    }  # fmt: skip
    run = found["items"][0]["run"]
    whole = server.client.get(f"/executions/{name}/item", params={"step": "nested", "key": f"{run}/1/0"}).json()
    assert whole == {"item": 10, "result": 12}


def test_a_list_grows_with_the_log_and_ends_with_it(server: Served) -> None:
    name = begun(server, WAITS)
    until(lambda: states(items(server, name, "start")) == [([0], "waiting"), ([1], "waiting"), ([2], "idle")])
    server.client.post(f"/executions/{name}/signal", json={"name": "go1", "data": 7})
    until(lambda: states(items(server, name, "start")) == [([0], "done"), ([1], "waiting"), ([2], "waiting")])
    server.client.post(f"/executions/{name}/cancel")
    until(lambda: server.status(name) == "cancelled")
    found = items(server, name, "start")
    assert states(found) == [([0], "done"), ([1], "cancelled"), ([2], "cancelled")]
    assert '"data": 7' in found["items"][0]["result"]


def test_pages_are_all_of_a_list_and_what_is_too_much_is_counted(
    server: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loop_items, "MOST", 40)
    loop = 'loop: {in: "{{ range(50) | list }}", iterator: n, spec: {mode: parallel}}'
    name = begun(server, f"workflow: [{{step: start, {loop}, tool: {{kind: noop}}}}]")
    until(lambda: server.status(name) == "completed")
    after, found = 0, []
    while after is not None:
        page = items(server, name, "start", limit=7, after=after)
        found += page["items"]
        assert page["left_out"] == 10
        after = page["next"]
    assert [row["index"] for row in found] == [[n] for n in range(40)]


def test_what_is_not_there_is_said(server: Served) -> None:
    name = begun(server, LOOPS)
    until(lambda: server.status(name) == "failed")
    get = server.client.get
    for query, said in (
        ("items?step=strat", "did you mean `start`?"), ("items?step=start&state=dead", "`state` is one of"),
        ("item?step=start&key=9/9", "has no item `9/9`"), ("item?step=start&key=x", "has no item"),
        ("item?step=start", "has no item"), ("item?step=start&key=1/99", "has no item"),
    ):  # fmt: skip
        response = get(f"/executions/{name}/{query}")
        assert response.status_code in (400, 409) and said in response.json()["detail"], query
    assert items(server, begun(server, "workflow: [{step: start, tool: {kind: noop}}]"), "start")["items"] == []
