"""Drives a cluster on this machine and prints what it did, as one line of JSON; a fresh process for each figure.

    python -m benchmarks.clustering PLAN WORKERS EXECUTIONS

Starts that many executions of the plan at once, waits until all are over, and reads the times from their logs. `rate`
is steps a second from the first step to the last; `p50` and `p99` are of the time, in ms, from the scheduling of a step
to its end, of which the tool, a noop, has a few µs. `commits` are transactions of the database a step that wrote
anything, those of starts and ownership with them. The others are processor time in µs a step.
"""

import json
import os
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import psycopg

from local_cluster import LocalCluster
from noetl.app.runtime import Runtime, Settings, open_runtime
from noetl.store.http import Connection

_LIMIT = 600.0  # seconds for all executions
_SLOTS = 16
_CALLERS = 16  # who start executions at the same time


def main(plan: Path, workers: int, executions: int) -> dict[str, object]:
    """Measure one cluster."""
    with tempfile.TemporaryDirectory(prefix="noetl-bench-") as folder:
        cluster = LocalCluster(Path(folder))
        try:
            cluster.start_postgres()
            cluster.start_nats()
            cluster.start_server(0)
            for _ in range(workers):
                cluster.start_worker("--slots", str(_SLOTS))
            return _measured(cluster, plan.read_bytes(), executions)
        finally:
            cluster.stop()


def _measured(cluster: LocalCluster, plan: bytes, executions: int) -> dict[str, object]:
    server = Connection(cluster.url)
    row = server.object_of(server.ask("POST", "/playbooks", raw=plan))
    start = {"playbook_id": row["playbook_id"]}
    _ended(server, [_started(server, start)])  # whoever is there has the plan now
    before, written = _spent(cluster), _written(cluster)
    with ThreadPoolExecutor(_CALLERS) as callers:
        names = [*callers.map(lambda _: _started(server, start), range(executions))]
    _ended(server, names)
    spent = {part: seconds - before[part] for part, seconds in _spent(cluster).items()}
    commits = _written(cluster) - written
    with open_runtime(cluster.store, Settings(), _no_catalogue) as runtime:
        times = [_times(runtime, name) for name in names]
    server.close()
    steps = sum(len(found) for found in times)
    # The times come from the logs, so that the calls that start and watch the runs are not in them.
    begun, over = min(found[0][0] for found in times), max(found[-1][1] for found in times)
    waits = sorted((end - begin) / 1_000 for found in times for begin, end in found)
    return {
        "rate": steps / ((over - begun) / 1_000_000),
        "p50": waits[len(waits) // 2],
        "p99": waits[len(waits) * 99 // 100],
        "commits": commits / steps,
        **{part: seconds / steps * 1e6 for part, seconds in spent.items()},
    }


def _started(server: Connection, start: dict[str, object]) -> str:
    return str(server.json("POST", "/executions", data={**start, "payload": {}})["execution_id"])  # type: ignore[dict-item]


def _ended(server: Connection, names: list[str]) -> None:
    until = time.monotonic() + _LIMIT
    while sum(int(str(server.json("GET", "/counts").get(status, 0))) for status in ("running", "paused")):
        if time.monotonic() > until:
            raise SystemExit(f"{len(names)} executions do not end")
        time.sleep(0.05)


def _times(runtime: Runtime, name: str) -> list[tuple[int, int]]:
    """When each step was scheduled and done, in µs."""
    begun: dict[str, int] = {}
    found = []
    for _, event in runtime.events(name):
        if event.event_type == "step.scheduled":
            begun[event.run] = event.ts
        elif event.event_type == "step.done":
            found.append((begun[event.run], event.ts))
    return found


def _spent(cluster: LocalCluster) -> dict[str, float]:
    """Seconds of processor time that each part has had; of PostgreSQL that of the processes that are there."""
    spent = dict.fromkeys(("server", "workers", "nats", "postgres"), 0.0)
    for child in cluster.children:
        part = "workers" if child.name.startswith("worker") else child.name.partition("-")[0]
        spent[part] += cpu(child.process.pid)
    # PostgreSQL has a process for each connection; its first one does nothing itself.
    tree = Path(f"/proc/{cluster.postgres_pid}/task/{cluster.postgres_pid}/children").read_text().split()
    for number in tree:
        with suppress(OSError):  # a connection that was closed at this very moment
            spent["postgres"] += cpu(int(number))
    return spent


def cpu(number: int) -> float:
    """Seconds of processor time that a process has had."""
    # The name of the program stands in parentheses and may hold blanks and parentheses itself, so that fields count
    # from the last one.
    fields = Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / float(os.sysconf("SC_CLK_TCK"))


def _written(cluster: LocalCluster) -> int:
    """How many transactions have written anything in the database: the number of the next one, which asking leaves."""
    with psycopg.connect(cluster.store) as connection:
        # Only a transaction that writes gets a number, so that the difference of two of these counts writes.
        found = connection.execute("SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint").fetchone()
    return int(found[0]) if found else 0


def _no_catalogue(path: Path) -> bytes:
    raise AssertionError(path)


if __name__ == "__main__":
    print(json.dumps(main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))))
