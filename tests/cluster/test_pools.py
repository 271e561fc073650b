"""Pools, their limits, workers that leave, and loops that spread or stay."""

import json
from collections import Counter
from contextlib import closing
from socket import gethostname

import pytest

from harness.clusters import Cluster
from noetl.api.bearer_tokens import add_token
from noetl.app.adapters import open_bus
from noetl_ir.orders import Serving
from services import waited_for

WHO = "echo $PPID >> calls"
"""A command that tells which worker runs it."""


def test_a_step_runs_in_its_pool(cluster: Cluster) -> None:
    server = cluster.server()
    workers = {pool: cluster.worker("--pool", pool) for pool in ("default", "house", "own")}
    named = f"""
executor: {{kind: local, spec: {{pool: house}}}}
workflow:
- {{step: start, tool: {{kind: shell, command: "{WHO}"}}, next: {{arcs: [{{step: two}}]}}}}
- {{step: two, spec: {{pool: own}}, tool: {{kind: shell, command: "{WHO}"}}}}
"""
    plain = f'workflow:\n- {{step: start, tool: {{kind: shell, command: "{WHO}"}}}}\n'
    cluster.ended(cluster.begin(named, server))
    cluster.ended(cluster.begin(plain, server))
    assert cluster.lines() == [str(workers[pool].pid) for pool in ("house", "own", "default")]


def test_a_pool_has_a_limit_over_executions_and_workers(cluster: Cluster) -> None:
    server = cluster.server("--pool-limit", "narrow=2")
    for _ in range(2):
        cluster.worker("--pool", "narrow", "--slots", "8")
    body = """
workflow:
- step: start
  spec: {pool: narrow}
  loop: {in: "{{ range(4) | list }}", iterator: n, spec: {mode: parallel}}
  tool: {kind: shell, command: "echo 1 >> calls; until test -e go; do sleep 0.05; done; echo -1 >> calls"}
"""
    names = [cluster.begin(body, server) for _ in range(3)]
    waited_for(lambda: (cluster.folder / "calls").exists() and len(cluster.lines()) >= 2, "no two run at once")
    (cluster.folder / "go").touch()
    cluster.ended(*names)
    running, most = 0, 0
    for line in cluster.lines():
        running += int(line)
        most = max(most, running)
    assert (running, most) == (0, 2)


def test_a_worker_that_is_drained_ends_and_the_others_go_on(cluster: Cluster) -> None:
    server = cluster.server()
    leaving = cluster.worker("--name", "leaving", "--slots", "3")
    waited_for(lambda: _names(cluster, server) == {"leaving": "ready"}, "it is not seen")
    slow = cluster.begin(
        'workflow:\n- {step: start, tool: {kind: shell, command: "echo go >> calls; sleep 1"}}\n', server
    )
    cluster.reached("go")
    assert "asked leaving to leave" in cluster.noetl("workers", "drain", "leaving", server=server)
    cluster.worker("--name", "staying")
    assert leaving.wait(60) == 0, leaving.stderr.read()  # type: ignore[union-attr]
    cluster.ended(slow)
    cluster.ended(cluster.begin(f'workflow:\n- {{step: start, tool: {{kind: shell, command: "{WHO}"}}}}\n', server))
    assert len(cluster.lines()) == 2
    assert _names(cluster, server)["staying"] == "ready"


def test_a_local_loop_stays_where_it_began_and_others_spread(cluster: Cluster) -> None:
    server = cluster.server()
    workers = {str(cluster.worker("--slots", "2").pid) for _ in range(2)}
    body = """
workflow:
- step: start
  loop: {in: "{{ range(12) | list }}", iterator: n, spec: {mode: parallel, policy: {exec: %s}}}
  tool: {kind: shell, command: "echo $PPID >> calls; until test -e go; do sleep 0.05; done"}
"""
    calls, go = cluster.folder / "calls", cluster.folder / "go"
    local = cluster.begin(body % "local", server)
    waited_for(lambda: calls.exists() and len(cluster.lines()) == 2, "it does not begin")
    go.touch()
    cluster.ended(local)
    assert len(cluster.lines()) == 12 and len(set(cluster.lines())) == 1
    calls.unlink()
    go.unlink()
    spread = cluster.begin(body % "distributed", server)
    waited_for(lambda: calls.exists() and {*cluster.lines()} == workers, "it does not spread")
    go.touch()
    cluster.ended(spread)
    assert len(cluster.lines()) == 12


def test_a_local_loop_moves_when_its_worker_is_gone(cluster: Cluster) -> None:
    server = cluster.server()
    first = cluster.worker("--slots", "2")
    body = """
workflow:
- step: start
  loop: {in: "{{ range(6) | list }}", iterator: n, spec: {mode: parallel, policy: {exec: local}}}
  tool: {kind: shell, command: "echo $PPID >> calls; until test -e go; do sleep 0.05; done"}
"""
    name = cluster.begin(body, server)
    waited_for(lambda: (cluster.folder / "calls").exists() and len(cluster.lines()) == 2, "it does not begin")
    first.kill()
    second = cluster.worker("--slots", "2")
    (cluster.folder / "go").touch()
    log = cluster.ended(name)[0]
    assert cluster.lines() == [str(first.pid)] * 2 + [str(second.pid)] * 6
    names = [event.event_type for event in log]
    assert (names.count("task.lost"), names.count("loop.iteration.done"), names.count("loop.done")) == (2, 6, 1)


def test_nested_loops_and_children_need_no_more_than_one_slot(cluster: Cluster) -> None:
    server = cluster.server()
    cluster.worker("--slots", "1")
    (cluster.folder / "c").mkdir()
    (cluster.folder / "c" / "c.yaml").write_text("""\
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: c, path: t/c}
workflow:
- step: start
  loop: {in: "{{ range(2) | list }}", iterator: n, spec: {mode: parallel}}
  tool: {kind: shell, command: "echo child >> calls"}
""")
    body = """
workflow:
- step: start
  loop:
    in: "{{ range(3) | list }}"
    iterator: outer
    spec: {mode: parallel}
    loop: {in: "{{ range(2) | list }}", iterator: inner, spec: {mode: parallel}}
  tool: [{name: a, kind: shell, command: "echo own >> calls"}, {name: c, kind: playbook, path: t/c}]
"""
    cluster.ended(cluster.begin(body, server, "--path", "c"), seconds=90)
    assert Counter(cluster.lines()) == {"own": 6, "child": 12}


def _names(cluster: Cluster, server: object) -> dict[str, str]:
    rows = json.loads(cluster.noetl("workers", "list", "--json", server=server))  # type: ignore[arg-type]
    return {row["name"]: row["state"] for row in rows}


@pytest.mark.parametrize(
    ("words", "announced"),
    [
        ((), "http://127.0.0.1:PORT"),
        (("--announce", "https://noetl.example/api"), "https://noetl.example/api"),
        (("--host", "0.0.0.0", "--behind-proxy", "--tokens", "tokens"), f"http://{gethostname()}:PORT"),
    ],
)
def test_a_server_says_where_workers_reach_it(cluster: Cluster, words: tuple[str, ...], announced: str) -> None:
    add_token(str(cluster.folder / "tokens"), "ann", "worker")
    with closing(open_bus(cluster.bus)) as bus:
        bus.received()
        server = cluster.server(*words)
        port = cluster.urls[server.pid].rpartition(":")[2]
        said: list[str] = []

        def is_said() -> bool:
            said.extend(broadcast.url for broadcast in bus.received() if isinstance(broadcast, Serving))
            return bool(said)

        waited_for(is_said, "it says nothing of itself")
        assert said[0] == announced.replace("PORT", port)


def test_a_pool_of_one_slot_is_not_stopped_by_its_worker_being_killed(cluster: Cluster) -> None:
    """Loops in loops, children and retries wait without a slot, also across the death of who has it."""
    server = cluster.server()
    first = cluster.worker("--slots", "1")
    (cluster.folder / "c").mkdir()
    (cluster.folder / "c" / "c.yaml").write_text("""\
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: c, path: t/c}
workflow:
- step: start
  loop: {in: "{{ range(2) | list }}", iterator: n, spec: {mode: parallel, max_in_flight: 3}}
  tool:
    name: t
    kind: shell
    command: "echo child >> calls; test -e go || sleep 0.3"
    spec: {policy: {rules: [{when: "{{ outcome.status == 'ok' and _attempt == 1 }}", then: {do: retry, delay: 0.05}}]}}
""")
    body = """
workflow:
- step: start
  loop:
    in: "{{ range(2) | list }}"
    iterator: outer
    spec: {mode: parallel, max_in_flight: 3}
    loop: {in: "{{ range(2) | list }}", iterator: inner, spec: {mode: parallel, max_in_flight: 3}}
  tool: [{name: a, kind: shell, command: "echo own >> calls"}, {name: c, kind: playbook, path: t/c}]
"""
    name = cluster.begin(body, server, "--path", "c")
    cluster.reached("child")
    first.kill()
    first.wait(60)
    (cluster.folder / "go").touch()
    cluster.worker("--slots", "1")
    cluster.ended(name, seconds=90)
    calls = Counter(cluster.lines())
    assert calls["own"] in (4, 5) and calls["child"] in (16, 17)


@pytest.mark.long  # two workers one after the other, each with a token of its own
def test_a_worker_needs_no_more_than_the_plans_and_values_of_its_pool(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A large result goes through the server, and so does what is printed."""
    file = str(cluster.folder / "tokens")
    monkeypatch.setenv("NOETL_TOKEN", add_token(file, "root", "admin"))
    server = cluster.server("--tokens", "tokens")
    body = """
executor: {spec: {pool: gpu, policy: {limits: {max_payload_bytes: 1000}}}}
workflow:
- step: start
  tool: {name: a, kind: python, code: "print('printed'); result = 'x' * 100_000"}
  next: {arcs: [{step: read}]}
- step: read
  tool: {kind: python, args: {text: "{{ start }}"}, code: "result = len(text)"}
"""
    for number, scope in enumerate(({"pools": ["gpu"]}, {"paths": ["t/"]}, {"paths": ["t/t"], "pools": ["gpu"]})):
        cluster.environment["NOETL_TOKEN"] = add_token(file, f"worker-{number}", "worker", **scope)
        worker = cluster.worker("--pool", "gpu", "--server", cluster.urls[server.pid])
        name = cluster.begin(body, server)
        cluster.ended(name)
        assert cluster.noetl("result", name, server=server).strip() == "100000"
        assert "printed" in cluster.noetl("logs", name, server=server)
        worker.terminate()
        worker.wait(60)
