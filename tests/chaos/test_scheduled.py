"""Schedules, purges and archives while real servers, workers, NATS and PostgreSQL are killed.

Each time is started once, runs to its end, and is either in the store or in a bundle, whole.
"""

import json
import signal
import time
from collections import Counter
from pathlib import Path
from random import Random

import pytest

from harness.blows import KILLS, deal
from harness.clusters import Cluster
from harness.here import done_here
from noetl.app.retention import Purger
from noetl.app.runtime import Runtime, Settings, open_runtime
from noetl.server.schedules.times import time_of
from services import waited_for

BLOWS = (*KILLS, "server stops", "purge", "purge", "restore")
BODY = """
workflow:
  - step: start
    tool: {name: act, kind: shell, command: "echo {{ execution_id }} >> calls"}
    next: {arcs: [{step: last}]}
  - {step: last, tool: {kind: noop}}
"""


@pytest.mark.long  # `tests/runtime/api/test_scheduling.py` kills one of two servers each time
@pytest.mark.parametrize(("seconds", "interval"), [(25, 1), (1_800, 10)], ids=["short", "half an hour"])
def test_each_time_has_one_run_in_the_store_or_in_a_bundle(seconds: int, interval: int, cluster: Cluster) -> None:
    chance, end = Random(seconds), time.monotonic() + seconds
    servers = [cluster.server(), cluster.server()]
    workers = [cluster.worker("--slots", "8") for _ in range(4)]
    cluster.begin(BODY, servers[0])
    _keep(cluster, {"playbook": "t/t", "every": f"{interval}s", "overlap": "allow", "catch_up": 1_000})
    waited_for(lambda: _starts(cluster), "nothing is started")
    blows = chance.sample(BLOWS, len(BLOWS))
    while time.monotonic() < end:
        time.sleep(seconds / max(len(BLOWS) + 2, seconds / 20))
        blow = blows.pop() if blows else chance.choice(BLOWS)
        match blow:
            case "server stops":
                child = servers.pop(0)
                child.send_signal(signal.SIGTERM)
                servers.append(cluster.server())
                child.communicate(timeout=60)
            case "purge":
                _here(cluster, "purge", "--older-than", "3s", "--archive", "kept")
            case "restore":
                # Into the store that it was purged from, and beside new ones.
                for bundle in sorted((cluster.folder / "kept").glob("*.noetl"))[:2]:
                    _here(cluster, "restore", str(bundle))
            case _:
                deal(blow, cluster, servers, workers, chance)
    _here(cluster, "schedules", "pause", "each")
    with cluster.looking() as runtime:
        waited_for(lambda: not runtime.store.counts().get("running"), "not all come to their end", 150)
        _here(cluster, "store", "check", "--replay")
        times = _times(runtime)
    for bundle in (cluster.folder / "kept").glob("*.noetl"):
        done = done_here(cluster.folder, ("restore", str(bundle), "--store", "sqlite:///elsewhere.db"))
        assert done.returncode == 0, done.stderr
    checked = done_here(cluster.folder, ("store", "check", "--replay", "--store", "sqlite:///elsewhere.db"))
    assert checked.returncode == 0, checked.stdout
    times |= _archived(cluster.folder)
    assert set(Counter(times.values()).values()) == {1}, "a time has two executions"
    # Each time from the first to the last one.
    found = sorted(time_of(text) // 1_000_000 for text in times.values())
    assert found == [found[0] + number * interval for number in range(len(found))]
    assert len(found) >= seconds // interval // 2
    effects = Counter(cluster.lines())
    assert set(times) <= set(effects), "an effect is missing"


def _keep(cluster: Cluster, spec: dict[str, object]) -> None:
    document = {"apiVersion": "noetl.io/v2", "kind": "Schedule", "metadata": {"name": "each"}, "spec": spec}
    (cluster.folder / "each.json").write_text(json.dumps(document))
    _here(cluster, "schedules", "put", "each.json")


def _here(cluster: Cluster, *words: str) -> str:
    """The output of a command beside the store, which succeeds; the database may just have been killed."""
    done = done_here(cluster.folder, (*words, "--store", cluster.store))
    assert done.returncode == 0 or "kept " in done.stderr, (words, done.stdout, done.stderr)
    return done.stdout


def _starts(cluster: Cluster) -> bool:
    with cluster.looking() as runtime:
        return bool(_times(runtime))


def _times(runtime: Runtime) -> dict[str, str]:
    """The executions that schedules started, each with its time."""
    found = {}
    for row in runtime.store.executions():
        first = next(event for _, event in runtime.events(row.execution_id))
        started_by = first.data.get("started_by")
        if isinstance(started_by, dict):
            assert len(Purger(runtime).family(row)) == 1
            found[row.execution_id] = str(started_by["time"])
    return found


def _archived(folder: Path) -> dict[str, str]:
    with open_runtime(f"sqlite:///{folder}/elsewhere.db", Settings(root=folder), lambda path: (b"", {})) as runtime:
        return _times(runtime)
