"""The published patterns with real tools, in a cluster of two servers and two workers: what the script of each says of
its tools a server of http does, in real seconds, and each runs as it does by the script.
"""

import json
import re
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Lock, Thread
from typing import Any, NamedTuple

import httpx
import pytest
import yaml

import yaml12
from harness.clusters import Cluster, checked, killed
from services import waited_for

FOLDER = Path(__file__).resolve().parent.parent / "patterns"
PATTERNS = sorted(FOLDER.rglob("*.yaml"))


class Pattern(NamedTuple):
    """A pattern: what its definition asks of the run, its playbook, and the keys that stand in its file."""

    name: str
    asked: dict[str, Any]
    playbook: dict[str, Any]
    keys: frozenset[str]


def read(path: Path) -> Pattern:
    text = path.read_text("utf-8")
    document: dict[str, Any] = yaml.load(text, yaml12.Loader)
    return Pattern(path.stem, document["x-pattern"], document, frozenset(re.findall(r"(\w+):", text)))


class Tools:
    """A server that does what scripts say: it takes so many seconds, and gives such a body or an error."""

    def __init__(self, patterns: Mapping[str, Pattern]) -> None:
        self._rows = {name: pattern.asked["script"].get("outcomes", []) for name, pattern in patterns.items()}
        self._runs: Counter[tuple[str, str, str]] = Counter()
        self._lock = Lock()

    def called(self, name: str, step: str, index: str) -> dict[str, Any]:
        """The row of the script for a call, the first that fits."""
        with self._lock:
            self._runs[name, step, index] += 1
            run = self._runs[name, step, index]
        fitting = [row for row in self._rows[name] if row["step"] == step and _fits(row, run, index)]
        return fitting[0] if fitting else {}


def _fits(row: dict[str, Any], run: int, index: str) -> bool:
    at = row.get("index")
    wanted = [str(each) for each in (at if isinstance(at, list) else [at])]
    return row.get("run", run) == run and (at is None or index in wanted)


class PatientServer(ThreadingHTTPServer):
    """One that takes all that come at once, and says nothing of those that do not wait for their answer."""

    request_queue_size = 512

    def handle_error(self, *about: object) -> None:
        """Nothing."""


@contextmanager
def serving(tools: Tools) -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            row = tools.called(*self.path.strip("/").split("/"))
            time.sleep(row.get("takes", 0))
            outcome = row.get("outcome", {})
            result = outcome.get("result")
            # A result with the key of a response is one, any other its body, as scripts have it.
            body = result.get("body", result) if isinstance(result, dict) else result
            data = json.dumps(body).encode()
            self.send_response(500 if outcome.get("status") == "error" else 200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *about: object) -> None:
            """Nothing."""

    server = PatientServer(("127.0.0.1", 0), Handler)
    Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()


def with_real_tools(pattern: Pattern, url: str) -> str:
    """The playbook, which calls that server for each of its tools."""
    for step in pattern.playbook["workflow"]:
        index = "{{ iter.index }}" if "loop" in step else "0"
        tool = step.get("tool", [])
        for task in tool if isinstance(tool, list) else [tool]:
            if task.get("kind") == "http":
                task["url"] = f"{url}/{pattern.name}/{step['step']}/{index}"
    return json.dumps(pattern.playbook)


def registered(pattern: Pattern, tools: str, url: str) -> str:
    """The version of a pattern's playbook that a server has from now on."""
    data = with_real_tools(pattern, tools).encode()
    response = httpx.post(f"{url}/playbooks", params={"name": f"{pattern.name}.yaml"}, content=data)
    assert response.status_code == 201, response.text
    return str(response.json()["playbook_id"])


def driven(pattern: Pattern, plan: str, url: str, alive: str) -> str:
    """The execution of a pattern that one server has started; what comes from outside has come to another one."""
    response = httpx.post(f"{url}/executions", json={"playbook_id": plan})
    assert response.status_code == 201, response.text
    execution, began = str(response.json()["execution_id"]), time.monotonic()
    for at, what, data in sorted(from_outside(pattern), key=lambda each: each[0]):
        time.sleep(max(0.0, began + at - time.monotonic()))
        # A signal to one that is over is refused, and is part of some patterns.
        response = httpx.post(f"{alive}/executions/{execution}/{what}", json=data)
        assert response.status_code in (200, 202, 409), response.text
    return execution


def run_of(cluster: Cluster, patterns: Mapping[str, Pattern], *, dies: bool) -> dict[str, list[str]]:
    """The steps that each pattern runs, all at once, each to the end that is asked for; a server and a worker may die
    meanwhile.
    """
    servers = [cluster.server(), cluster.server()]
    reach = ("--slots", "100", "--allow-address", "127.0.0.0/8")
    workers = [cluster.worker(*reach), cluster.worker(*reach)]
    alive = [cluster.urls[server.pid] for server in servers[dies:]]
    with serving(Tools(patterns)) as url, ThreadPoolExecutor(len(patterns)) as pool:
        begun = {name: registered(pattern, url, alive[0]) for name, pattern in patterns.items()}
        ran = {}
        for number, (name, pattern) in enumerate(patterns.items()):
            ran[name] = pool.submit(driven, pattern, begun[name], cluster.urls[servers[number % 2].pid], alive[-1])
            # One after the other: a start takes processor time, and seconds are to be seconds.
            time.sleep(0.0 if dies else 0.3)
        if dies:
            time.sleep(3)
            killed(servers[0])
            killed(workers[0])
        names = {name: each.result() for name, each in ran.items()}
        with cluster.looking() as runtime:

            def open_ones() -> list[str]:
                rows = {name: runtime.store.execution(execution) for name, execution in names.items()}
                return [name for name, row in rows.items() if row is None or row.ended is None]

            waited_for(lambda: not open_ones(), "not all come to their end", 100)
            found = {}
            for name, execution in names.items():
                log = checked(runtime, execution, patterns[name].asked["status"])
                steps = runtime.program_of(execution).plan.steps
                found[name] = [steps[event.step].name for event in log if event.event_type == "step.started"]
    return found


@pytest.mark.long
def test_every_pattern_runs_in_a_cluster_as_by_its_script(cluster: Cluster) -> None:
    patterns = {path.stem: read(path) for path in PATTERNS}
    found = run_of(cluster, patterns, dies=False)
    assert len(found) == 48 and found == {name: pattern.asked["runs"] for name, pattern in patterns.items()}


@pytest.mark.long
def test_patterns_come_to_their_end_through_the_death_of_a_server_and_a_worker(cluster: Cluster) -> None:
    """But for those that count calls, which are made again when their worker is dead, and the one whose last signal
    comes before it waits then, and is lost as it has to be.
    """
    read_ones = {path.stem: read(path) for path in PATTERNS}
    patterns = {name: one for name, one in read_ones.items() if one.keys.isdisjoint({"run", "transient"})}
    assert len(patterns) == 36
    run_of(cluster, patterns, dies=True)


def from_outside(pattern: Pattern) -> Iterator[tuple[float, str, dict[str, Any]]]:
    """The signals and requests that come from outside: after how many seconds, which, and with what."""
    for row in pattern.asked["script"].get("signals", []):
        yield row["at"], "signal", {key: row[key] for key in ("name", "data") if key in row}
    for at, what in (pattern.asked.get("at") or {}).items():
        yield at, what, {}
