"""Several servers over one PostgreSQL store: an execution has one of them, and another one when that is gone."""

import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from harness.invariants import check
from harness.running import compiled
from harness.serving import Trouble
from noetl.api.notifier import Notifier
from noetl.app.composition import server_of
from noetl.app.runtime import Runtime, Settings, open_runtime
from noetl.engine.evolve import evolve
from noetl.engine.execution import Execution
from noetl.engine.starting import Request
from noetl.server.service import Service
from services import postgres, waited_for

BUSY = """
workflow:
- step: start
  loop: {in: "{{ range(15) | list }}", iterator: number, spec: {mode: sequential}}
  tool: {kind: shell, command: "sleep 0.02"}
"""


class Server:
    """A service over the store at a URL, in a thread of its own."""

    def __init__(self, url: str, folder: Path) -> None:
        self.said = Trouble()
        self._closing = ExitStack()
        settings = Settings(root=folder, slots=8)
        self.runtime: Runtime = self._closing.enter_context(open_runtime(url, settings, _no_catalogue))
        self.service: Service = server_of(self.runtime, None, Notifier().notify, self.said.append).service
        self._thread = threading.Thread(target=self.service.run)
        self._thread.start()

    def begin(self, plan: bytes, names: list[str]) -> None:
        """Start executions."""
        program = self.runtime.programs.add_plan(plan)
        for name in names:
            self.service.do(lambda control, name=name: control.own_and_start(program, name, Request({}))).result(60)

    def stop(self) -> None:
        """End at once, with all that is in flight."""
        if self._thread.is_alive():
            self.service.stop(0)
            self._thread.join(60)
        self._closing.close()


@pytest.fixture
def servers(tmp_path: Path) -> Iterator[list[Server]]:
    """Two servers over a new store."""
    url = postgres().store_url()
    found = [Server(url, tmp_path) for _ in range(2)]
    yield found
    for server in found:
        server.stop()


def _no_catalogue(path: Path) -> bytes:
    raise AssertionError(f"nothing is looked for in a catalogue: {path}")


def finished(server: Server, names: list[str]) -> bool:
    """Whether all executions are over."""
    return all((row := server.runtime.store.execution(name)) is not None and row.ended for name in names)


def checked(server: Server, names: list[str]) -> None:
    """All of them completed; the log of each is a run of its net, with every iteration once."""
    for name in names:
        row = server.runtime.store.execution(name)
        assert row is not None and row.status == "completed", row
        program = server.runtime.program_of(name)
        log = [event for _, event in server.runtime.events(name)]
        folded = Execution(name, program)
        for event in log:
            evolve(program, folded, event)
        check(program, log, folded)
        counts = [event.event_type for event in log]
        assert counts.count("loop.iteration.done") == 15 and counts.count("loop.done") == 1


def test_another_server_goes_on_with_what_one_leaves(servers: list[Server]) -> None:
    names = [f"x{number}" for number in range(6)]
    first, second = servers
    first.begin(compiled(BUSY), names)
    second.begin(compiled(BUSY), ["own"])
    waited_for(lambda: sum(1 for _ in first.runtime.store.read("x0")) > 12, "nothing moves")
    assert set(names).isdisjoint(second.service._control.executions)
    first.stop()
    waited_for(lambda: finished(second, [*names, "own"]), "not all come to their end", 60)
    checked(second, [*names, "own"])
    assert second.said == []


def test_servers_go_on_after_the_database_restarts(servers: list[Server]) -> None:
    names = {server: [f"{number}of{side}" for number in range(4)] for side, server in enumerate(servers)}
    for server, mine in names.items():
        server.begin(compiled(BUSY), mine)
    both = [name for mine in names.values() for name in mine]
    waited_for(lambda: sum(1 for _ in servers[0].runtime.store.read(both[0])) > 12, "nothing moves")
    postgres().kill()
    postgres().start()
    waited_for(lambda: finished(servers[0], both), "not all come to their end", 60)
    checked(servers[0], both)
