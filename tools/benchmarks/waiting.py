"""Starts many executions that wait and prints what that costs a server, as one line of JSON.

    python -m benchmarks.waiting signal|timer|child sqlite|cluster COUNT PLAN…

The last plan is started, the others are in the catalogue. `memory` is in KB and `start` in µs of the server's processor
time, each for one of COUNT; `rate` is starts a second, `idle` the share of a core in percent that the server takes when
nothing happens, `list` the ms of the first page. A restart takes `restart` seconds of the server's processor time until
all are driven again, and `meanwhile` is the longest that the API took to answer, in ms. `resume` is the ms from a
signal to the end of an execution, at the median.
"""

import json
import os
import resource
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from statistics import median

from benchmarks.clustering import cpu
from local_cluster import Child, LocalCluster
from noetl.store.http import Connection

_CALLERS = 8  # who start executions at the same time
_IDLE = 10.0  # seconds
_SIGNALS = 50
_LIMIT = 600.0  # seconds
_OTHERS = 500  # files that a server has open besides


def main(what: str, where: str, count: int, plans: list[Path]) -> dict[str, float]:
    """Measure one server."""
    # A child is an execution of its own, which waits as well.
    driven = 2 * count if what == "child" else count
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    if where == "sqlite" and most != resource.RLIM_INFINITY and most < driven + _OTHERS:
        raise SystemExit(
            f"a lock file each: this machine allows {most:,} open files, and {driven + _OTHERS:,} are needed"
        )
    with tempfile.TemporaryDirectory(prefix="noetl-bench-") as folder, _cluster(Path(folder), where) as cluster:
        server = Connection(cluster.url)
        rows = [server.object_of(server.ask("POST", "/playbooks", raw=plan.read_bytes())) for plan in plans]
        start = {"playbook_id": rows[-1]["playbook_id"], "payload": {}}
        process = _server(cluster)
        memory, spent, began = _memory(process), cpu(process.process.pid), time.monotonic()

        def begun(number: int) -> list[str]:
            # A connection of its own for each caller: one would serve a single request at a time.
            own = Connection(cluster.url)
            found = [str(own.json("POST", "/executions", data=start)["execution_id"]) for _ in range(number)]
            own.close()
            return found

        # One caller alone would measure the way there and back, not what the server can take.
        with ThreadPoolExecutor(_CALLERS) as callers:
            names = [name for found in callers.map(begun, [count // _CALLERS] * _CALLERS) for name in found]
        rate = len(names) / (time.monotonic() - began)
        _drive(server, driven)
        found = {
            "rate": rate,
            "start": (cpu(process.process.pid) - spent) / len(names) * 1e6,
            "memory": (_memory(process) - memory) / len(names) / 1000,
            "idle": _idle(process),
            "list": median(_took(server, "/executions") for _ in range(5)),
        }
        server.close()
        # The restart finds everything in the store: that is what the next figures are about.
        cluster.stop_child(process)
        cluster.start_server(0)
        server, process = Connection(cluster.url), _server(cluster)
        spent = cpu(process.process.pid)
        found["meanwhile"] = _drive(server, driven)
        found["restart"] = cpu(process.process.pid) - spent
        if what == "signal":
            found["resume"] = median(_resumed(server, name) for name in names[:_SIGNALS])
        server.close()
        return found


@contextmanager
def _cluster(folder: Path, where: str) -> Iterator[LocalCluster]:
    cluster = LocalCluster(folder)
    try:
        if where == "cluster":
            cluster.start_postgres()
            cluster.start_nats()
        else:
            cluster.store = f"sqlite:///{folder}/noetl.db"
        cluster.start_server(0)
        if cluster.bus:
            cluster.start_worker()
        yield cluster
    finally:
        cluster.stop()


def _server(cluster: LocalCluster) -> Child:
    return next(child for child in cluster.children if child.name.startswith("server"))


def _drive(server: Connection, count: int) -> float:
    """Wait until that many are driven and nothing is at work; the longest that the API took to answer, in ms."""
    until, longest = time.monotonic() + _LIMIT, 0.0
    while True:
        longest = max(longest, _took(server, "/executions"))
        figures = dict(
            line.rsplit(" ", 1) for line in server.ask("GET", "/metrics").body.decode().splitlines() if line[:1] != "#"
        )
        # The server itself says how many it drives. To list them would be a load of its own.
        if float(figures["noetl_driven_executions"]) >= count:
            return longest
        if time.monotonic() > until:
            raise SystemExit(f"{count} executions are not driven")
        time.sleep(0.1)


def _idle(child: Child) -> float:
    before = cpu(child.process.pid)
    time.sleep(_IDLE)
    return (cpu(child.process.pid) - before) / _IDLE * 100


def _took(server: Connection, path: str) -> float:
    began = time.monotonic()
    server.json("GET", path, query={"limit": "100"})
    return (time.monotonic() - began) * 1000


def _resumed(server: Connection, name: str) -> float:
    began = time.monotonic()
    server.ask("POST", f"/executions/{name}/signal", data={"name": "go"})
    while server.json("GET", f"/executions/{name}/row")["status"] == "running":
        time.sleep(0.002)
    return (time.monotonic() - began) * 1000


def _memory(child: Child) -> int:
    return int(Path(f"/proc/{child.process.pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1], sys.argv[2], int(sys.argv[3]), [*map(Path, sys.argv[4:])])))
