"""More starts than are worked off, by one slow worker: each is answered in its turn and none is lost, whoever looks is
answered at once, and another pool does not feel it.
"""

import json
import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from harness.clusters import Cluster, Process
from harness.pace import allowed

SLOW = 'workflow:\n- {step: start, tool: {kind: shell, command: "echo {{ execution_id }} >> calls; sleep 0.5"}}\n'
CLIENTS, EACH = 250, 6
LARGE = "x" * 20_000
"""The payload of each request: large, so that requests which wait would show in memory."""

MORE_MEMORY = 150 << 20
LOOKS_WITHIN = 2.5
"""Seconds; on a machine with nothing else to do it is a fiftieth of that."""


@pytest.mark.long
def test_a_flood_of_starts_slows_itself_down_and_nobody_else(cluster: Cluster) -> None:
    server = cluster.server()
    cluster.worker("--slots", "1")
    first = cluster.begin(SLOW, server)
    cluster.ended(first)
    with cluster.looking() as runtime:
        row = runtime.store.execution(first)
    assert row is not None
    body = json.dumps({"playbook_id": row.plan_digest, "payload": {"large": LARGE}})
    before, looks, over = _memory(server), [], threading.Event()
    url = urlsplit(cluster.urls[server.pid])
    looker = HTTPConnection(str(url.hostname), url.port)

    def look() -> None:
        while not over.is_set():
            began = time.monotonic()
            assert _asked(looker, "GET", f"/executions/{first}")[0] == 200
            looks.append(time.monotonic() - began)

    def flood(_: int) -> list[tuple[int, str]]:
        with closing(HTTPConnection(str(url.hostname), url.port, timeout=60)) as connection:
            return [_asked(connection, "POST", "/executions", body) for _ in range(EACH)]

    looking = threading.Thread(target=look)
    looking.start()
    with ThreadPoolExecutor(CLIENTS) as clients:
        responses = [response for found in clients.map(flood, range(CLIENTS)) for response in found]
    over.set()
    looking.join()
    looker.close()
    assert {status for status, _ in responses} <= {201, 503}
    names = {text for status, text in responses if status == 201}
    with cluster.looking() as runtime:
        assert {row.execution_id for row in runtime.store.executions()} == {first, *names}
    assert max(looks) < allowed(LOOKS_WITHIN)
    assert _memory(server) - before < MORE_MEMORY
    cluster.worker("--pool", "house")
    cluster.ended(cluster.begin(SLOW.replace("start,", "start, spec: {pool: house},"), server))


def _asked(connection: HTTPConnection, method: str, path: str, body: str | None = None) -> tuple[int, str]:
    """The status, and the id of what was started."""
    connection.request(method, path, body, {"content-type": "application/json"})
    response = connection.getresponse()
    text = response.read()
    assert response.status != 503 or response.headers["Retry-After"]
    return response.status, str(json.loads(text).get("execution_id"))


def _memory(process: Process) -> int:
    return int(Path(f"/proc/{process.pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
