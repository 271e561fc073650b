"""Real processes and real servers, killed at random for a while, and a full disk: everything that was begun ends right.

The choices are those of a seed; when things happen is not, so each run of this test is another one.
"""

import random
import time
from collections import Counter

from harness.clusters import Cluster, full_postgres, killed
from noetl_ir.events import Event
from services import nats, postgres, waited_for
from simulator.laws import check_execution, fold

EXECUTIONS = 200
BLOWS = 14
PAUSE = 1.0
"""Seconds between two blows."""

BODY = """
workflow:
  - step: start
    loop: {in: "{{ range(3) | list }}", iterator: n, spec: {mode: parallel, max_in_flight: 2}}
    tool: {name: each, kind: noop, args: {n: "{{ iter.n }}"}}
    next: {spec: {mode: inclusive}, arcs: [{step: act}, {step: late, spec: {delay: 2}}]}
  - step: act
    tool: {name: act, kind: shell, command: "echo {{ execution_id }} >> calls"}
    next: {arcs: [{step: last}]}
  - {step: late, tool: {kind: noop}, next: {arcs: [{step: last}]}}
  - {step: last, spec: {policy: {join: all}}, tool: {kind: noop, result: "{{ start }}"}}
"""


def test_whatever_is_killed_two_hundred_executions_end_right(cluster: Cluster) -> None:
    chance = random.Random(5)
    servers = [cluster.server(), cluster.server()]
    workers = [cluster.worker("--slots", "8") for _ in range(3)]
    first = cluster.begin(BODY, servers[0])
    names = [first, *cluster.flooded(first, servers[0], EXECUTIONS - 1)]
    once = ["server", "worker", "nats", "postgres", "full"]
    blows = [*once, *chance.choices(["server", "worker", "worker"], k=BLOWS - len(once))]
    chance.shuffle(blows)
    for blow in blows:
        time.sleep(PAUSE)
        match blow:
            case "server":
                killed(servers.pop(chance.randrange(len(servers))))
                servers.append(cluster.server())
            case "worker":
                killed(workers.pop(chance.randrange(len(workers))))
                workers.append(cluster.worker("--slots", "8"))
            case "nats":
                nats().kill()
                nats().start()
            case "postgres":
                postgres().kill()
                postgres().start()
            case "full":
                with full_postgres(cluster):
                    time.sleep(3 * PAUSE)
    _all_end_right(cluster, names)


def _all_end_right(cluster: Cluster, names: list[str]) -> None:
    with cluster.looking() as runtime:
        waited_for(lambda: not runtime.store.counts().get("running"), "not all come to their end", 150)
        effects, claims = Counter(cluster.lines()), Counter[str]()
        for name in names:
            row = runtime.store.execution(name)
            assert row is not None and row.status == "completed", row
            program = runtime.program_of(name)
            log = [event for _, event in runtime.events(name)]
            folded = fold(program, name, log)
            check_execution(program, folded, log, None)
            assert folded.last_result == [{"n": 0}, {"n": 1}, {"n": 2}], name
            claims[name] = _claims_of(program.step_numbers["act"], log)
    assert set(effects) == set(names), "an effect is missing"
    assert not effects - claims, "an effect happened twice under one claim"


def _claims_of(step: int, log: list[Event]) -> int:
    return sum(event.event_type == "task.started" and event.step == step for event in log)
