"""Processes that stand still, as by SIGSTOP: others go on with what they had, and they do no harm when they wake."""

import json
import signal
import sqlite3
import time
from contextlib import closing
from pathlib import Path

import httpx
import pytest

from harness.clusters import Cluster, Process
from services import waited_for

WAITS = """
workflow:
- {step: start, tool: {kind: wait, timers: {t: 2s}}, next: {arcs: [{step: last}]}}
- {step: last, tool: {kind: shell, command: "echo waited >> calls"}}
"""
WORKS = """
workflow:
- {step: start, tool: {kind: shell, command: "echo begun >> calls; until test -e go; do sleep 0.05; done; echo ended >> calls"}, next: {arcs: [{step: last}]}}
- {step: last, tool: {kind: wait, timers: {t: 2s}}}
"""  # noqa: E501


def stopped(child: Process) -> None:
    """Have a process stand still."""
    child.send_signal(signal.SIGSTOP)


def stopped_between_writes(child: Process, file: Path) -> None:
    """Have a process stand still that does not hold the lock of an SQLite file just then: nobody takes that from it."""
    while True:
        stopped(child)
        with closing(sqlite3.connect(file, timeout=1, isolation_level=None)) as connection:
            try:
                connection.execute("BEGIN IMMEDIATE")
            except sqlite3.OperationalError:
                woken(child)
                time.sleep(0.01)
            else:
                return


def woken(child: Process) -> None:
    """Have it go on."""
    child.send_signal(signal.SIGCONT)


def test_another_server_goes_on_with_what_a_hung_one_had(cluster: Cluster) -> None:
    hung, other = cluster.server(), cluster.server()
    cluster.worker()
    names = [cluster.begin(WORKS, hung), cluster.begin(WAITS, hung)]
    cluster.reached("begun")
    waiting(cluster, names[1])
    stopped(hung)
    cluster.ended(names[1])
    (cluster.folder / "go").touch()
    (log,) = cluster.ended(names[0])
    assert "task.lost" not in [event.event_type for event in log]
    woken(hung)
    assert cluster.lines() == ["begun", "waited", "ended"]
    for name in names:
        assert json.loads(cluster.noetl("status", name, "--json", server=hung))["status"] == "completed"
    cluster.ended(cluster.begin(WAITS, hung), cluster.begin(WAITS, other))
    waited_for(lambda: executions(cluster, hung) == 0, "it still drives what others ended")


@pytest.mark.long
def test_what_was_just_said_to_a_hung_server_is_heard_by_another_one(cluster: Cluster) -> None:
    hung, _ = cluster.server(), cluster.server()
    cluster.worker()
    names = [cluster.begin(WAITS, hung) for _ in range(4)]
    stopped(hung)
    cluster.ended(*names)
    assert cluster.lines() == ["waited"] * 4


def waiting(cluster: Cluster, name: str) -> None:
    """Wait until an execution waits."""
    with cluster.looking() as runtime:
        waited_for(lambda: "task.started" in [event.event_type for _, event in runtime.events(name)], "it never waits")


def executions(cluster: Cluster, server: Process) -> int:
    """How many executions a server drives."""
    lines = httpx.get(f"{cluster.urls[server.pid]}/metrics").text.splitlines()
    return int(float(next(line for line in lines if line.startswith("noetl_driven_executions ")).split()[1]))


@pytest.mark.long
def test_a_hung_server_that_wakes_lets_go_before_anything_is_due(cluster: Cluster) -> None:
    """Nobody has written anything meanwhile: the other one waits, too."""
    hung, other = cluster.server(), cluster.server()
    cluster.worker()
    name = cluster.begin("workflow:\n- {step: start, tool: {kind: wait, events: [go]}}\n", hung)
    waiting(cluster, name)
    stopped(hung)
    waited_for(lambda: executions(cluster, other) == 1, "nobody takes it up")
    woken(hung)
    waited_for(lambda: executions(cluster, hung) == 0, "it believes that it drives it")
    cluster.noetl("signal", name, "--name", "go", server=hung)
    cluster.ended(name)


@pytest.mark.long
def test_a_hung_server_alone_with_its_worker_loses_what_it_had(cluster: Cluster) -> None:
    """Two servers on one SQLite file, each with its worker inside: what ran in the hung one is lost, and runs again."""
    cluster.store = f"sqlite:///{cluster.folder}/x.db"
    hung, other = cluster.server(bus=False), cluster.server(bus=False)
    name, waits = cluster.begin(WORKS, hung), cluster.begin(WAITS, hung)
    cluster.reached("begun")
    stopped_between_writes(hung, cluster.folder / "x.db")
    cluster.ended(waits)
    waited_for(lambda: cluster.lines().count("begun") == 2, "it does not run again")
    woken(hung)
    waited_for(lambda: executions(cluster, hung) == 0, "it believes that it drives it")
    cluster.noetl("cancel", name, server=hung)
    status = lambda: json.loads(cluster.noetl("status", name, "--json", server=other))["status"]  # noqa: E731
    waited_for(lambda: status() == "cancelled", "it is not cancelled")
    time.sleep(1)
    assert "ended" not in cluster.lines()
    with cluster.looking() as runtime:
        kinds = [event.event_type for _, event in runtime.events(name)]
    assert (kinds.count("task.started"), kinds.count("task.lost")) == (2, 1)
    cluster.ended(cluster.begin(WAITS, hung), cluster.begin(WAITS, other))


def test_what_a_hung_worker_had_goes_on_within_its_lease(tmp_path: Path) -> None:
    cluster = Cluster(tmp_path, "noetl.cli")  # with leases of half a minute
    try:
        server, hung = cluster.server(), cluster.worker("--slots", "1")
        name = cluster.begin(WORKS, server)
        cluster.reached("begun")
        cluster.worker()
        stopped(hung)
        (cluster.folder / "go").touch()
        cluster.reached("ended")
        woken(hung)
        (log,) = cluster.ended(name)
        kinds = [event.event_type for event in log]
        assert (kinds.count("task.lost"), kinds.count("task.done")) == (0, 2)
    finally:
        cluster.stop()


@pytest.mark.long
def test_what_a_hung_worker_had_is_ordered_again_behind_its_lease_and_one_outcome_counts(cluster: Cluster) -> None:
    server = cluster.server()
    hung = cluster.worker("--slots", "1")
    name = cluster.begin(WORKS, server)
    cluster.reached("begun")
    cluster.worker()
    stopped(hung)
    waited_for(lambda: cluster.lines().count("begun") == 2, "it is not ordered again")
    (cluster.folder / "go").touch()
    woken(hung)
    (log,) = cluster.ended(name)
    kinds = [event.event_type for event in log]
    assert (kinds.count("task.lost"), kinds.count("task.done")) == (1, 2)
