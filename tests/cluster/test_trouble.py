"""Clusters in trouble: messages larger than the bus takes, NATS and PostgreSQL that restart, floods."""

import httpx
import pytest

from harness.clusters import Cluster, busy, killed
from services import nats, postgres, waited_for

BUSY = busy(20)


def test_orders_and_reports_larger_than_the_bus_takes_go_another_way(cluster: Cluster) -> None:
    server = cluster.server()
    cluster.worker()
    body = """
workflow:
- step: start
  tool:
    - name: made
      kind: python
      code: "import random; result = random.Random(1).randbytes(450_000).hex()"
      spec: {policy: {rules: [{else: {then:
        {do: continue, set_ctx: {a: "{{ outcome.result }}", b: "{{ outcome.result }}", c: "{{ outcome.result }}"}}}}]}}
  next: {arcs: [{step: more}]}
- {step: more, tool: {kind: python, args: {big: "{{ ctx.a ~ ctx.b ~ ctx.c }}"}, code: "result = len(big)"}}
"""
    log = cluster.ended(cluster.begin(body, server))[0]
    assert log[-1].event_type == "playbook.processed"
    results = [event.data["result"] for event in log if event.event_type == "task.done"]
    assert results[1] == 2_700_000  # more than NATS takes, and too dense to be deflated below that


def test_runs_go_on_after_nats_restarts(cluster: Cluster) -> None:
    server = cluster.server()
    cluster.worker()
    name = cluster.begin(BUSY, server)
    waited_for(lambda: (cluster.folder / "calls").exists() and len(cluster.lines()) > 4, "nothing moves")
    nats().kill()
    waited_for(lambda: ready(cluster.urls[server.pid]) == 503, "the server does not see that the bus is away")
    nats().start()
    waited_for(lambda: ready(cluster.urls[server.pid]) == 200, "the server does not see that the bus is back")
    log = cluster.ended(name)[0]
    assert sorted(map(int, set(cluster.lines()))) == list(range(20))
    assert sum(event.event_type == "loop.done" for event in log) == 1


def ready(url: str) -> int:
    """The HTTP status of `/readyz`: whether a server is to be sent work."""
    return httpx.get(f"{url}/readyz").status_code


def test_runs_go_on_after_postgresql_restarts(cluster: Cluster) -> None:
    server = cluster.server()
    cluster.worker()
    name = cluster.begin(BUSY, server)
    waited_for(lambda: (cluster.folder / "calls").exists() and len(cluster.lines()) > 4, "nothing moves")
    postgres().kill()
    postgres().start()
    log = cluster.ended(name)[0]
    assert sum(event.event_type == "loop.iteration.done" for event in log) == 20


@pytest.mark.long
def test_runs_go_on_after_postgresql_was_away_for_long(cluster: Cluster) -> None:
    """Executions that a server gave up while it could tell nobody are taken up again without a new start."""
    servers = [cluster.server(), cluster.server()]
    cluster.worker()
    name = cluster.begin(BUSY, servers[0])
    waited_for(lambda: (cluster.folder / "calls").exists() and len(cluster.lines()) > 4, "nothing moves")
    postgres().kill()
    urls = [cluster.urls[server.pid] for server in servers]
    waited_for(lambda: [ready(url) for url in urls] == [503, 503], "the servers do not see that the store is away")
    postgres().start()
    log = cluster.ended(name)[0]
    assert sum(event.event_type == "loop.iteration.done" for event in log) == 20


def test_a_loop_keeps_its_bound_when_a_worker_dies(cluster: Cluster) -> None:
    server = cluster.server()
    first = cluster.worker("--slots", "2")
    cluster.worker("--slots", "8")
    name = cluster.begin(BUSY, server)
    waited_for(lambda: (cluster.folder / "calls").exists() and len(cluster.lines()) > 4, "nothing moves")
    killed(first)
    log = cluster.ended(name)[0]
    running, most, done = set(), 0, 0
    for event in log:
        match event.event_type:
            case "loop.iteration.started":
                running.add(event.run)
            case "loop.iteration.done":
                running.discard(event.run)
                done += 1
        most = max(most, len(running))
    assert (most, done) == (4, 20)


def test_a_flood_of_starts_is_worked_off(cluster: Cluster) -> None:
    server = cluster.server()
    cluster.worker("--slots", "4")
    steps = "- {step: start, tool: {kind: noop}, next: {arcs: [{step: two}]}}\n- {step: two, tool: {kind: noop}}\n"
    first = cluster.begin(f"workflow:\n{steps}", server)
    names = cluster.flooded(first, server, 200)
    assert len(cluster.ended(*names, seconds=120)) == 200


@pytest.mark.long
def test_a_tool_runs_once_though_postgresql_restarts_under_two_servers(cluster: Cluster) -> None:
    """Each server may find what the other one drove without an owner; whoever drives it then hears its worker."""
    servers = [cluster.server(), cluster.server()]
    cluster.worker()
    slow = 'workflow:\n- {step: start, tool: {kind: shell, command: "echo on >> %s; sleep %d"}}\n'
    names = [cluster.begin(slow % ("calls", 20), server) for server in servers for _ in range(3)]
    waited_for(lambda: (cluster.folder / "calls").exists() and len(cluster.lines()) == 6, "it does not begin")
    postgres().kill()
    postgres().start()
    for log in cluster.ended(*names, seconds=120):
        assert "task.lost" not in [event.event_type for event in log]
    assert len(cluster.lines()) == 6
