"""Two teams on real servers and a real bus: quotas hold for both servers, and no flood is in the way of the other."""

import json
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from harness.clusters import Cluster
from harness.pace import allowed
from harness.running import HEAD

SLOW = 'workflow:\n- {step: start, tool: {kind: shell, command: "sleep 0.4"}}\n'
FLOOD, QUOTA = 160, 120


@pytest.mark.long
def test_a_flood_has_its_quota_on_both_servers_and_its_share_of_the_worker(cluster: Cluster) -> None:
    servers = [cluster.server(), cluster.server()]
    cluster.worker("--slots", "4")
    urls = [cluster.urls[server.pid] for server in servers]
    first = cluster.begin(SLOW, servers[0])
    cluster.ended(first)
    for name, spec in (("t", {"prefix": "t/", "quotas": {"open_executions": QUOTA}}), ("quiet", {"prefix": "quiet/"})):
        body = {"apiVersion": "noetl.io/v2", "kind": "Namespace", "metadata": {"name": name}, "spec": spec}
        assert httpx.put(f"{urls[0]}/namespaces/{name}", json=body).status_code == 200

    def begin(number: int) -> int:
        return httpx.post(f"{urls[number % 2]}/executions", json={"path": "t/t"}, timeout=60).status_code

    with ThreadPoolExecutor(16) as clients:
        told = Counter(clients.map(begin, range(FLOOD)))
    # Those that ended meanwhile made room: four slots, each done with one in 0.4 s.
    assert told.keys() == {201, 429} and told[201] >= QUOTA
    (cluster.folder / "q.yaml").write_text(HEAD.replace("t/t", "quiet/x") + SLOW)
    began = time.monotonic()
    quiet = str(json.loads(cluster.noetl("start", "q.yaml", "--json", server=servers[1]))["execution_id"])
    cluster.ended(quiet)
    took = time.monotonic() - began
    with cluster.looking() as runtime:
        rows = [row for row in runtime.store.executions() if row.playbook == "t/t" and row.ended is None]
    assert len(rows) > 30, "the others still wait"
    # 16 orders lie on the bus: 1.6 s in four slots, and 0.4 s for its own.
    assert took < allowed(6.0)
    text = httpx.get(f"{urls[0]}/metrics").text + httpx.get(f"{urls[1]}/metrics").text
    assert 'noetl_waiting_orders{playbook_namespace="t"}' in text
