"""Two teams on real servers and a real bus: quotas hold for both servers, and no flood is in the way of the other."""

import json
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from itertools import accumulate

import httpx
import pytest

from harness.clusters import Cluster
from harness.running import HEAD
from services import waited_for

STANDS = """
workload: {who: flood}
workflow:
- {step: start, tool: {kind: shell, command: "echo {{ workload.who }} >> calls; until test -e go; do sleep 0.05; done"}}
"""
FLOOD, QUOTA = 160, 120


@pytest.mark.long
def test_a_flood_has_its_quota_on_both_servers_and_its_share_of_the_worker(cluster: Cluster) -> None:
    servers = [cluster.server(), cluster.server()]
    cluster.worker("--slots", "4")
    urls = [cluster.urls[server.pid] for server in servers]
    (go := cluster.folder / "go").touch()
    cluster.ended(cluster.begin(STANDS, servers[0]))
    go.unlink()
    for name, spec in (("t", {"prefix": "t/", "quotas": {"open_executions": QUOTA}}), ("quiet", {"prefix": "quiet/"})):
        body = {"apiVersion": "noetl.io/v2", "kind": "Namespace", "metadata": {"name": name}, "spec": spec}
        assert httpx.put(f"{urls[0]}/namespaces/{name}", json=body).status_code == 200

    def begin(number: int) -> int:
        return httpx.post(f"{urls[number % 2]}/executions", json={"path": "t/t"}, timeout=60).status_code

    with ThreadPoolExecutor(16) as clients:
        told = Counter(clients.map(begin, range(FLOOD)))
    assert told == {201: QUOTA, 429: FLOOD - QUOTA}
    (cluster.folder / "q.yaml").write_text(HEAD.replace("t/t", "quiet/x") + STANDS)
    words = ("start", "q.yaml", "--set", "who=quiet", "--json")
    quiet = str(json.loads(cluster.noetl(*words, server=servers[1]))["execution_id"])
    text = httpx.get(f"{urls[0]}/metrics").text + httpx.get(f"{urls[1]}/metrics").text
    assert 'noetl_waiting_orders{playbook_namespace="t"}' in text
    go.touch()
    with cluster.looking() as runtime:
        names = [row.execution_id for row in runtime.store.executions()]
    assert quiet in names
    cluster.ended(*names)
    # Four are in the slots of the worker, and each server had 16 orders on the bus.
    _, *others = cluster.lines()
    assert len(others) == QUOTA + 1 and others.index("quiet") < 60


MARKED = """
workflow:
- step: start
  spec: {pool: gpu}
  tool:
    kind: shell
    command: "echo + >> FOLDER/NAME; while [ ! -e FOLDER/gate ]; do sleep 0.05; done; echo - >> FOLDER/NAME"
"""


@pytest.mark.long
def test_a_limit_in_a_pool_holds_for_both_servers_and_workers(cluster: Cluster) -> None:
    """Tasks count themselves, in the order in which they write down that they begin and end."""
    servers = [cluster.server(), cluster.server()]
    for _ in range(2):
        cluster.worker("--slots", "8", "--pool", "gpu")
    urls = [cluster.urls[server.pid] for server in servers]
    body = {
        "apiVersion": "noetl.io/v2", "kind": "Namespace", "metadata": {"name": "t"},
        "spec": {"prefix": "t/", "pools": {"gpu": 3}},
    }  # fmt: skip
    assert httpx.put(f"{urls[0]}/namespaces/t", json=body).status_code == 200
    for path in ("t/mine", "u/others"):
        source = HEAD.replace("t/t", path) + MARKED.replace("FOLDER", str(cluster.folder)).replace("NAME", path[:1])
        assert httpx.post(f"{urls[0]}/playbooks", content=source).status_code == 201
    begun = [
        str(httpx.post(f"{urls[number % 2]}/executions", json={"path": path}, timeout=60).json()["execution_id"])
        for path, count in (("t/mine", 20), ("u/others", 6))
        for number in range(count)
    ]

    def counted(name: str, sign: str) -> int:
        path = cluster.folder / name
        return path.read_text().split().count(sign) if path.exists() else 0

    # There is room for thirteen of them.
    waited_for(lambda: (counted("t", "+"), counted("u", "+")) == (3, 6), "they do not begin")
    (cluster.folder / "gate").touch()
    for name in begun:
        cluster.ended(name)
    most = {}
    for name in ("t", "u"):
        signs = (cluster.folder / name).read_text().split()
        assert counted(name, "+") == counted(name, "-") == (20 if name == "t" else 6)
        most[name] = max(accumulate(1 if sign == "+" else -1 for sign in signs))
    assert most == {"t": 3, "u": 6}
    shown = cluster.noetl("namespaces", "show", "t", server=servers[1])
    assert "at work in pool gpu  3 at most" in shown
