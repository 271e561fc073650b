"""A run that waits says what for, and goes on by itself once that is there; nobody else waits with it."""

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pytest

from harness.clusters import Cluster, Process, killed, told
from harness.samples import first
from services import waited_for

ONE = 'workflow:\n- {step: start, tool: {kind: shell, command: "echo done >> calls"}}\n'
HOUSE = ONE.replace("start,", "start, spec: {pool: house},")
SLOW = """
workflow:
- step: start
  tool:
    - {name: a, kind: shell, command: "echo on >> calls; until test -e go; do sleep 0.1; done"}
    - {name: b, kind: shell, command: "echo two >> calls"}
"""


class Gate:
    """A way to a server that can be shut: then connections are taken, and nothing passes."""

    def __init__(self, url: str, port: int = 0) -> None:
        self._target = int(url.rpartition(":")[2])
        self._listening = socket.create_server(("127.0.0.1", port))
        self._is_open = threading.Event()
        self.waiting = 0
        self.url = f"http://127.0.0.1:{self._listening.getsockname()[1]}"
        threading.Thread(target=self._take, daemon=True).start()

    def open(self) -> None:
        """Let everything pass."""
        self._is_open.set()

    def shut(self) -> None:
        """Let nothing new pass."""
        self._is_open.clear()

    def close(self) -> None:
        """Take no connections any more."""
        # Closed alone, it would take one more: the system keeps it for as long as a thread waits in `accept`.
        self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()

    def _take(self) -> None:
        with suppress(OSError):
            while True:
                near = self._listening.accept()[0]
                threading.Thread(target=self._pass, args=(near,), daemon=True).start()

    def _pass(self, near: socket.socket) -> None:
        data = near.recv(1 << 16)
        while data:
            self.waiting += 1
            self._is_open.wait()
            self.waiting -= 1
            with socket.create_connection(("127.0.0.1", self._target)) as far:
                far.sendall(data.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n", 1))
                while data := far.recv(1 << 16):
                    near.sendall(data)
            near.close()
            return


@contextmanager
def gated(url: str) -> Iterator[Gate]:
    """A gate before a server, open at first."""
    gate = Gate(url)
    gate.open()
    try:
        yield gate
    finally:
        gate.close()


def reason(cluster: Cluster, server: Process, name: str) -> str:
    """Why nothing is begun, as `status` says it."""
    rows = json.loads(cluster.noetl("status", name, "--json", server=server))["now"]
    return str(rows[0].get("reason", "")) if rows else ""


def states(cluster: Cluster, server: Process) -> dict[str, Any]:
    """The state of each worker."""
    rows = json.loads(cluster.noetl("workers", "list", "--json", server=server))
    return {row["name"]: row["state"] for row in rows}


def waits_because(cluster: Cluster, server: Process, name: str, text: str) -> None:
    """Wait until `status` gives a reason."""
    waited_for(lambda: text in reason(cluster, server, name), f"it is never said: {text}")
    assert text in cluster.noetl("status", name, server=server)


def test_a_pool_without_workers(cluster: Cluster) -> None:
    server = cluster.server()
    cluster.worker()
    name = cluster.begin(HOUSE, server)
    waits_because(cluster, server, name, "no worker of pool `house` is there")
    cluster.worker("--pool", "house")
    cluster.ended(name)


def test_a_pool_whose_workers_leave(cluster: Cluster) -> None:
    server = cluster.server()
    leaving = cluster.worker("--name", "w")
    slow = cluster.begin(SLOW, server)
    cluster.reached("on")
    told(leaving)
    waited_for(lambda: states(cluster, server) == {"w": "draining"}, "it does not leave")
    name = cluster.begin(ONE, server)
    waits_because(cluster, server, name, "all workers of pool `default` are leaving")
    (cluster.folder / "go").touch()
    assert leaving.wait(60) == 0
    cluster.worker()
    cluster.ended(slow, name)


def test_a_pool_whose_slots_are_taken(cluster: Cluster) -> None:
    server = cluster.server()
    cluster.worker("--slots", "1")
    slow = cluster.begin(SLOW, server)
    cluster.reached("on")
    name = cluster.begin(ONE, server)
    waits_because(cluster, server, name, "all slots of pool `default` are taken")
    (cluster.folder / "go").touch()
    cluster.ended(slow, name)


@pytest.mark.parametrize("wrong", first(1, ["dead", "another"]))
def test_a_worker_of_a_wrong_server_begins_nothing_and_another_one_does(
    cluster: Cluster, wrong: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    server, other = cluster.server(), Cluster(tmp_path_factory.mktemp("other"))
    try:
        stranger = other.server()
        url = other.urls[stranger.pid]
        if wrong == "dead":
            killed(stranger)
        cluster.worker("--server", url, "--name", "lost")
        name = cluster.begin(ONE, server)
        waits_because(cluster, server, name, f"no worker of pool `default` can begin it; lost: {url} ")
        waits_because(cluster, server, name, f"; the server of this bus says that it is at {cluster.urls[server.pid]}")
        wanted = {"dead": "cannot be reached", "another": "does not have the plan"}[wrong]
        assert wanted in reason(cluster, server, name)
        assert states(cluster, server) == {"lost": "unready"}
        cluster.worker()
        cluster.ended(name)
    finally:
        other.stop()


LACKING = {
    "credential": (
        '{kind: http, url: "http://x", auth: nobody}',
        "there is no keychain entry and no stored credential",
    ),
    "keychain": ('{kind: noop, result: "{{ keychain.k.value }}"}', "the environment variable 'NOT_SET' is not set"),
}


@pytest.mark.parametrize("lacking", LACKING)
def test_what_a_worker_lacks_is_the_failure_of_the_task_and_says_so(cluster: Cluster, lacking: str) -> None:
    server = cluster.server()
    tool, text = LACKING[lacking]
    keychain = "keychain: [{name: k, kind: env, var: NOT_SET}]\n"
    name = cluster.begin(f"{keychain}workflow:\n- {{step: start, tool: {tool}}}\n", server)
    cluster.worker()  # it comes only now: where one is there, it is asked before anything is started
    with cluster.looking() as runtime:
        waited_for(lambda: (row := runtime.store.execution(name)) and row.ended, "it never ends")
    told = json.loads(cluster.noetl("status", name, "--json", server=server))["error"]
    assert told["code"] == "credential.missing" and text in told["message"]


def test_while_a_plan_does_not_come_all_else_goes_on(cluster: Cluster) -> None:
    server = cluster.server()
    with gated(cluster.urls[server.pid]) as gate:
        cluster.worker("--server", gate.url)
        first = cluster.begin(SLOW, server)
        cluster.reached("on")
        gate.shut()
        second = cluster.begin(ONE, server)
        waited_for(lambda: gate.waiting, "the plan is not asked for")
        (cluster.folder / "go").touch()
        log = cluster.ended(first)[0]
        assert "task.lost" not in [event.event_type for event in log]
        assert gate.waiting and cluster.lines() == ["on", "two"]
        gate.open()
        cluster.ended(second)


def test_a_worker_whose_server_comes_back_begins_again(cluster: Cluster) -> None:
    server = cluster.server()
    gate = Gate(cluster.urls[server.pid])
    gate.close()
    cluster.worker("--server", gate.url, "--name", "w")
    name = cluster.begin(ONE, server)
    waits_because(cluster, server, name, "cannot be reached")
    again = Gate(cluster.urls[server.pid], int(gate.url.rpartition(":")[2]))
    again.open()
    cluster.ended(name)
    waited_for(lambda: states(cluster, server) == {"w": "ready"}, "it stays unready")
    again.close()
