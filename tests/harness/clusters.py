"""Servers and workers as processes of their own, over real PostgreSQL and NATS servers, and what they did."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import psycopg

from harness.here import done_here
from harness.invariants import check
from harness.running import HEAD
from noetl.app.runtime import Runtime, Settings, open_runtime
from noetl.engine.evolve import evolve
from noetl.engine.execution import Execution
from noetl.store.http import Connection
from noetl_ir.events import Event
from noetl_ir.expr import Json
from services import nats, postgres, waited_for

TESTS = Path(__file__).resolve().parent.parent
Process = subprocess.Popen[str]

STANDING = """
workflow:
- step: start
  tool:
    - {name: a, kind: shell, command: "echo begun >> calls; until test -e go; do sleep 0.05; done; echo done >> calls"}
    - {name: b, kind: shell, command: "echo two >> calls"}
"""
"""A playbook that stands in its first task until there is a file `go`."""


def busy(count: int, stands_at: int | None = None) -> str:
    """A playbook with a loop of so many short iterations, four at once, that each write their number; from the one
    where it stands on, they wait until there is a file `go`.
    """
    first = count if stands_at is None else stands_at
    gate = f"test {{{{ iter.n }}}} -lt {first} || until test -e go; do sleep 0.05; done"
    return f"""
workflow:
- step: start
  loop: {{in: "{{{{ range({count}) | list }}}}", iterator: n, spec: {{mode: parallel, max_in_flight: 4}}}}
  tool: {{kind: shell, command: "echo {{{{ iter.n }}}} >> calls; {gate}; sleep 0.05"}}
  next: {{arcs: [{{step: last}}]}}
- {{step: last, tool: {{kind: noop}}}}
"""


_FILL = """
CREATE FUNCTION {schema}.no_room() RETURNS trigger LANGUAGE plpgsql AS
  $$ BEGIN RAISE EXCEPTION 'could not extend file: No space left on device' USING ERRCODE = 'disk_full'; END $$;
CREATE TRIGGER is_full BEFORE INSERT ON {schema}.events FOR EACH STATEMENT EXECUTE FUNCTION {schema}.no_room()
"""
_EMPTY = "DROP TRIGGER is_full ON {schema}.events"


class Cluster:
    """Processes of a program, `noetl` in all but some detail, in one folder, over a store and a bus that are new."""

    def __init__(self, folder: Path, program: str = "harness.hurried") -> None:
        self.folder = folder
        self._program = program
        self.store, self.bus = postgres().store_url(), nats().bus_url()
        self.urls: dict[int, str] = {}
        self._processes: list[Process] = []
        path = os.pathsep.join([str(TESTS), *filter(None, [os.environ.get("PYTHONPATH")])])
        kept = {key: value for key, value in os.environ.items() if not key.startswith("NOETL_")}
        self.environment = {**kept, "PYTHONPATH": path}

    def server(self, *words: str, bus: bool = True) -> Process:
        """A server, without a bus with a worker inside; `urls` has where it listens."""
        words = ("--bus", self.bus, *words) if bus else words
        child = self._begun("server", "--port", "0", "--store", self.store, *words)
        assert child.stderr is not None
        line = child.stderr.readline()
        assert line.startswith("listening on "), line + child.stderr.read()
        self.urls[child.pid] = line.split()[-1]
        return child

    def worker(self, *words: str) -> Process:
        """A worker, once it is ready."""
        child = self._begun("worker", "--bus", self.bus, *words)
        assert child.stderr is not None
        line = child.stderr.readline()
        assert line.startswith("working as "), line + child.stderr.read()
        return child

    def noetl(self, *words: str, server: Process) -> str:
        """The output of a command that speaks to a server and succeeds."""
        done = done_here(self.folder, (*words, "--server", self.urls[server.pid]))
        assert done.returncode == 0, (words, done.stdout, done.stderr)
        return done.stdout

    def refused(self, *words: str, server: Process) -> str:
        """The message of a command that a server refuses."""
        done = done_here(self.folder, (*words, "--server", self.urls[server.pid]))
        assert done.returncode != 0, (words, done.stdout, done.stderr)
        return done.stderr

    def keep(self, name: str, secret: str) -> None:
        """Store a credential with the field `value` in the folder of the workers."""
        done = done_here(self.folder, ("credential", "add", name, "--secret", "value"), f"{secret}\n")
        assert done.returncode == 0, (name, done.stdout, done.stderr)

    def begin(self, body: str, server: Process, *words: str) -> str:
        """Start a playbook; the id of its execution."""
        (self.folder / "t.yaml").write_text(HEAD + body)
        return str(json.loads(self.noetl("start", "t.yaml", *words, "--json", server=server))["execution_id"])

    def flooded(self, like: str, server: Process, count: int) -> list[str]:
        """Start many executions of the plan of another one, at once."""
        with self.looking() as runtime:
            row = runtime.store.execution(like)
        assert row is not None
        start: Json = {"playbook_id": row.plan_digest}

        def begun(_: int) -> str:
            with closing(Connection(self.urls[server.pid])) as connection:
                return str(connection.json("POST", "/executions", data=start)["execution_id"])

        with ThreadPoolExecutor(8) as pool:
            return [*pool.map(begun, range(count))]

    @contextmanager
    def looking(self) -> Iterator[Runtime]:
        """The store, to look at."""
        with open_runtime(self.store, Settings(), _no_catalogue) as runtime:
            yield runtime

    def ended(self, *names: str, seconds: float = 60.0) -> list[list[Event]]:
        """The logs of executions once they are over; all completed, and each a run of its net."""
        with self.looking() as runtime:
            waited_for(lambda: all(_is_over(runtime, name) for name in names), "not all come to their end", seconds)
            return [checked(runtime, name) for name in names]

    def reached(self, text: str, name: str = "calls") -> None:
        """Wait until a tool has written a line to a file."""
        file = self.folder / name
        waited_for(lambda: file.exists() and text in file.read_text().split("\n"), f"{name} never has {text}")

    def lines(self, name: str = "calls") -> list[str]:
        """The lines that tools wrote to a file."""
        return (self.folder / name).read_text().splitlines()

    def stop(self) -> None:
        """Kill what is left."""
        for child in self._processes:
            child.kill()
            child.communicate()

    def _begun(self, *words: str) -> Process:
        child = self.begun(*words)
        self._processes.append(child)
        return child

    def begun(self, *words: str) -> Process:
        """A process of the program."""
        return subprocess.Popen(
            [sys.executable, "-m", self._program, *words], cwd=self.folder, env=self.environment, text=True,
            stderr=subprocess.PIPE,
        )  # fmt: skip


def checked(runtime: Runtime, name: str, status: str = "completed") -> list[Event]:
    """The log of an execution that ended so; it is a run of its net, and folds to what is said of it."""
    row = runtime.store.execution(name)
    assert row is not None and row.status == status, row
    program = runtime.program_of(name)
    log = [event for _, event in runtime.events(name)]
    folded = Execution(name, program)
    for event in log:
        evolve(program, folded, event)
    check(program, log, folded)
    return log


def killed(child: Process) -> None:
    """End a process as a crash does."""
    child.kill()
    child.wait(60)


def told(child: Process) -> None:
    """Tell a process to end in its own time."""
    child.send_signal(signal.SIGTERM)


def _is_over(runtime: Runtime, name: str) -> bool:
    row = runtime.store.execution(name)
    return row is not None and row.ended is not None


def _no_catalogue(path: Path) -> bytes:
    raise AssertionError(f"nothing is looked for in a catalogue: {path}")


@contextmanager
def full_postgres(cluster: Cluster) -> Iterator[None]:
    """The disk of the database has no room for events meanwhile."""
    schema = parse_qs(urlsplit(cluster.store).query)["schema"][0]
    with psycopg.connect(postgres().url, autocommit=True) as database:
        database.execute(_FILL.format(schema=schema).encode())
        yield
        database.execute(_EMPTY.format(schema=schema).encode())
