"""Drives groups of servers behind a gateway for a while and prints what they did, as one line of JSON.

    python -m benchmarks.grouping PLAN GROUPS SECONDS [GONE]

Each group has a server, workers, a PostgreSQL and a NATS of its own. Executions are started through the gateway for so
many seconds, as many as keep the groups busy, and followed to their end. With `gone` the server of the last group is
killed in the middle, and stays away for so many seconds.

`rate` is steps a second from the first start to the last end; `starts` are those that were acknowledged, `refused`
those that were not. `lost` counts acknowledged ones that the list of the gateway has not, or that did not complete, and
`strange` those that are there unasked, but for what was refused while its response was lost. `share` is the part of the
executions of each group, and the others are processor time: of the gateway in µs a start, of the rest in µs a step.
"""

import json
import sys
import tempfile
import threading
import time
from collections import Counter
from contextlib import ExitStack, closing
from pathlib import Path
from urllib.parse import urlsplit

from benchmarks.clustering import cpu
from local_cluster import LocalCluster
from noetl.ports import StoreFailure
from noetl.store.http import Connection

_WORKERS = 2
_CALLERS = 8
_OPEN = 100
"""Executions of a group that are open at once, at most."""

_LIMIT = 300.0


class Load:
    """Starts executions from several threads, as long as few enough are open."""

    def __init__(self, url: str, playbook: str, most: int) -> None:
        self._url = url
        self._start = {"playbook_id": playbook, "payload": {}}
        self._most = most
        self._lock = threading.Lock()
        self.started: list[str] = []
        self.refused = 0
        self.ended = threading.Event()
        self._may = threading.Event()

    def run(self, seconds: float) -> None:
        """Start for so long."""
        threads = [threading.Thread(target=self._begin) for _ in range(_CALLERS)]
        for thread in threads:
            thread.start()
        with closing(Connection(self._url)) as gateway:
            until = time.monotonic() + seconds
            while time.monotonic() < until:
                if still_open(gateway) < self._most:
                    self._may.set()
                else:
                    self._may.clear()
                time.sleep(0.05)
        self.ended.set()
        self._may.set()
        for thread in threads:
            thread.join()

    def _begin(self) -> None:
        with closing(Connection(self._url)) as gateway:
            while self._may.wait() and not self.ended.is_set():
                try:
                    name = str(gateway.json("POST", "/executions", data=self._start)["execution_id"])  # type: ignore[arg-type]
                except StoreFailure:
                    with self._lock:
                        self.refused += 1
                    time.sleep(0.1)
                else:
                    with self._lock:
                        self.started.append(name)


def still_open(gateway: Connection) -> int:
    """How many executions are not over, of the groups that respond."""
    counts = gateway.json("GET", "/counts")
    return sum(int(str(counts.get(status, 0))) for status in ("running", "paused", "blocked"))


def main(plan: Path, groups: int, seconds: float, gone: float) -> dict[str, object]:
    """Measure so many groups."""
    with tempfile.TemporaryDirectory(prefix="noetl-bench-") as folder, ExitStack() as ending:
        clusters = [_group(Path(folder) / f"g{number}", ending) for number in range(groups)]
        front = LocalCluster(Path(folder))
        ending.callback(front.stop)
        url = front.start_gateway({f"g{number}": cluster.url for number, cluster in enumerate(clusters)})
        with closing(Connection(url)) as gateway:
            row = gateway.object_of(gateway.ask("POST", "/playbooks", raw=plan.read_bytes()))
            load = Load(url, str(row["playbook_id"]), _OPEN * groups)
            before, began = _spent(clusters, front), time.monotonic()
            if gone:
                _go_away(clusters[-1], seconds / 2, gone)
            load.run(seconds)
            _wait(gateway)
            took, spent = time.monotonic() - began, _spent(clusters, front)
            listed = {str(each["execution_id"]): each for each in gateway.walk("/executions", cursor="before")}
            steps = _STEPS * len(listed)
            completed = {name for name, each in listed.items() if each["status"] == "completed"}
            share = Counter(str(each["group"]) for each in listed.values())
            used = {part: spent[part] - before[part] for part in spent}
            return {
                "rate": steps / took,
                "starts": len(load.started),
                "refused": load.refused,
                "lost": len(set(load.started) - completed),
                "strange": len(set(listed) - set(load.started)),
                "share": {name: count / len(listed) for name, count in sorted(share.items())},
                "gateway": used.pop("gateway") / max(len(listed), 1) * 1e6,
                **{part: value / steps * 1e6 for part, value in used.items()},
            }


_STEPS = 20


def _group(folder: Path, ending: ExitStack) -> LocalCluster:
    folder.mkdir()
    cluster = LocalCluster(folder)
    ending.callback(cluster.stop)
    cluster.start_postgres()
    cluster.start_nats()
    cluster.start_server(0)
    for _ in range(_WORKERS):
        cluster.start_worker("--slots", "16")
    return cluster


def _go_away(cluster: LocalCluster, after: float, seconds: float) -> None:
    """Kill the server of a group in a while, and start it again at its address after so many seconds."""

    def away() -> None:
        time.sleep(after)
        server = next(child for child in cluster.children if child.name == "server")
        server.process.kill()
        server.process.wait()
        cluster.children.remove(server)
        time.sleep(seconds)
        cluster.start_server(urlsplit(cluster.url).port or 0)

    threading.Thread(target=away, daemon=True).start()


def _wait(gateway: Connection) -> None:
    until = time.monotonic() + _LIMIT
    while still_open(gateway):
        if time.monotonic() > until:
            raise SystemExit("executions do not end")
        time.sleep(0.1)


def _spent(clusters: list[LocalCluster], front: LocalCluster) -> dict[str, float]:
    """Seconds of processor time of the gateway, and of all servers and workers; databases and buses aside."""
    spent = dict.fromkeys(("gateway", "server", "workers"), 0.0)
    for child in [child for cluster in (*clusters, front) for child in cluster.children]:
        part = "workers" if child.name.startswith("worker") else child.name
        if part in spent:
            spent[part] += cpu(child.process.pid)
    return spent


if __name__ == "__main__":
    words = sys.argv[1:]
    print(json.dumps(main(Path(words[0]), int(words[1]), float(words[2]), float((*words, "0")[3]))))
