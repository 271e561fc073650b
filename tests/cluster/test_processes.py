"""Servers and workers in processes of their own: the same runs, through the death of any of them."""

import json

import pytest

from harness.clusters import STANDING, Cluster, killed, told
from harness.running import compiled
from harness.running import run as run_here
from harness.tokens import histories
from services import waited_for

MIXED = """
workload: {many: 6}
workflow:
- step: start
  loop: {in: "{{ range(workload.many) | list }}", iterator: n, spec: {mode: parallel, max_in_flight: 3}}
  tool:
    - {name: told, kind: shell, command: "echo {{ iter.n }}"}
    - {name: doubled, kind: python, args: {n: "{{ iter.n }}"}, code: "result = n * 2"}
  next: {spec: {mode: inclusive}, arcs: [{step: left}, {step: right}]}
- {step: left, tool: {kind: playbook, path: t/c, args: {of: "{{ start }}"}}, next: {arcs: [{step: last}]}}
- {step: right, tool: {kind: noop, result: 7}, next: {arcs: [{step: last}]}}
- {step: last, spec: {policy: {join: all}}, tool: {kind: python, args: {l: "{{ left }}", r: "{{ right }}"}, code: "result = [l, r, 'y' * 2000000]"}}
"""  # noqa: E501
CHILD = """
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: c, path: t/c}
workflow:
- {step: start, tool: {kind: python, args: {of: "{{ workload.of }}"}, code: "result = sum(of)"}}
"""


def test_a_run_over_processes_is_what_it_is_in_one(cluster: Cluster) -> None:
    (cluster.folder / "children").mkdir()
    (cluster.folder / "children" / "c.yaml").write_text(CHILD)
    server = cluster.server()
    for _ in range(2):
        cluster.worker("--slots", "2")
    name = cluster.begin(MIXED, server, "--path", "children")
    log = cluster.ended(name)[0]
    here = run_here(compiled(f"{MIXED}\n---\n{CHILD.lstrip()}"), real=True, root=cluster.folder)
    with cluster.looking() as runtime:
        there = histories(name, {name: (runtime.program_of(name), log)})
    for token, rows in histories("e1", {"e1": (here.program, here.log)}).items():
        assert [row[:5] for row in there["root", token[1]]] == [row[:5] for row in rows], token
    results = [event.data.get("result") for event in log if event.event_type == "task.done"]
    expected = [event.data.get("result") for event in here.log if event.event_type == "task.done"]
    assert sorted(map(_plain, results)) == sorted(map(_plain, expected))


def _plain(result: object) -> str:
    """A result, or what a reference says of it whatever store has it."""
    if isinstance(result, dict) and "checksum" in result:
        return str(result["checksum"])
    return json.dumps(result, sort_keys=True)


def test_a_worker_that_is_told_to_end_finishes_what_it_has(cluster: Cluster) -> None:
    server, worker = cluster.server(), cluster.worker()
    name = cluster.begin(STANDING, server)
    cluster.reached("begun")
    told(worker)
    (cluster.folder / "go").touch()
    assert worker.wait(60) == 0
    log = cluster.ended(name)[0]
    assert cluster.lines() == ["begun", "done", "two"]
    assert "task.lost" not in [event.event_type for event in log]


def test_what_a_killed_worker_had_goes_to_another_one(cluster: Cluster) -> None:
    server, worker = cluster.server(), cluster.worker()
    name = cluster.begin(STANDING, server)
    cluster.reached("begun")
    killed(worker)
    cluster.worker()
    (cluster.folder / "go").touch()
    log = cluster.ended(name)[0]
    assert cluster.lines() == ["begun", "begun", "done", "two"]
    lost = [event for event in log if event.event_type == "task.lost"]
    assert [(event.claim, event.attempt) for event in lost] == [(1, 1)]
    starts = [event for event in log if event.event_type == "task.started"]
    assert [(event.task, event.attempt, event.claim) for event in starts] == [(0, 1, 1), (0, 1, 2), (1, 1, 2)]


def test_a_tool_that_runs_longer_than_a_lease_keeps_its_claim(cluster: Cluster) -> None:
    server = cluster.server()
    for _ in range(2):
        cluster.worker()
    body = 'workflow:\n- {step: start, tool: {kind: shell, command: "echo once >> calls; sleep 5"}}\n'
    cluster.ended(cluster.begin(body, server))
    assert cluster.lines() == ["once"]


@pytest.mark.long
def test_a_worker_goes_on_for_the_server_that_takes_over(cluster: Cluster) -> None:
    first, second = cluster.server(), cluster.server()
    cluster.worker()
    name = cluster.begin(STANDING, first)
    cluster.reached("begun")
    killed(first)
    with cluster.looking() as runtime:
        waited_for(lambda: runtime.store.is_owned(name), "nobody takes over")
    (cluster.folder / "go").touch()
    log = cluster.ended(name)[0]
    assert cluster.lines() == ["begun", "done", "two"]
    assert "task.lost" not in [event.event_type for event in log]
    assert cluster.noetl("status", name, server=second)


def test_what_ended_while_no_server_was_there_is_recorded_by_the_next(cluster: Cluster) -> None:
    """The tool does not run again: its worker still has the claim, and says it until somebody answers."""
    first = cluster.server()
    cluster.worker()
    name = cluster.begin(STANDING, first)
    cluster.reached("begun")
    killed(first)
    (cluster.folder / "go").touch()
    cluster.reached("done")
    cluster.server()
    log = cluster.ended(name)[0]
    assert cluster.lines() == ["begun", "done", "two"]
    assert {event.claim for event in log if event.event_type == "task.started"} == {1}
