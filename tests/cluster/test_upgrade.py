"""A rolling upgrade: servers and workers of the version before beside those of today, over one store and one bus, with
executions in flight. The one before is the last release that is tagged, else a commit that is named here.
"""

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import older_stores
from harness.clusters import Cluster, Process, checked, told
from harness.here import done_here
from harness.running import HEAD
from services import waited_for

BEFORE = "e35f9550"
"""Where there is no tag yet: a version whose stores had older schemas, SQLite 15 and PostgreSQL 14."""

# What it begins with waits for a signal, so that it is in flight through the whole upgrade.
BODY = """
workload: {n: 0}
workflow:
- step: start
  tool: {name: w, kind: wait, events: [go]}
  next: {arcs: [{step: many, args: {plus: "{{ event.result.data }}"}}]}
- step: many
  loop: {in: "{{ range(8) | list }}", iterator: i, spec: {mode: parallel, max_in_flight: 3}}
  tool: {kind: shell, command: "echo {{ workload.n }}-{{ iter.i }} >> calls; sleep 0.1; echo {{ iter.i }}"}
  next: {arcs: [{step: last}]}
- step: last
  tool: {kind: python, args: {all: "{{ many }}", n: "{{ workload.n }}"}, code: "result = sum(int(o['stdout']) for o in all) + n"}
"""  # noqa: E501


@pytest.fixture(scope="module")
def older(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of the version before, in an environment of its own."""
    tag = subprocess.run(
        ["git", "describe", "--tags", "--abbrev=0"], cwd=older_stores.ROOT, capture_output=True, text=True, check=False
    )
    commit = tag.stdout.strip() or BEFORE
    known = subprocess.run(["git", "cat-file", "-e", commit], cwd=older_stores.ROOT, capture_output=True, check=False)
    if known.returncode != 0:
        pytest.skip("the history of this clone does not go back to the version before")
    python = older_stores.build(commit, tmp_path_factory.mktemp("older"), "cluster") / "python"
    place = subprocess.run(
        [python, "-c", "import noetl; print(noetl.__file__)"], capture_output=True, text=True, check=True
    )
    assert place.stdout.startswith(str(python.parents[1]))
    return python


class TwoVersions(Cluster):
    """A cluster whose processes are of the version that `python` has."""

    python = sys.executable

    def begun(self, *words: str) -> Process:
        """A process of that version."""
        environment = {name: value for name, value in self.environment.items() if name != "PYTHONPATH"}
        return subprocess.Popen(
            [self.python, "-m", "noetl.cli", *words], cwd=self.folder, env=environment, text=True,
            stderr=subprocess.PIPE,
        )  # fmt: skip


@pytest.fixture
def two(tmp_path: Path) -> Iterator[TwoVersions]:
    made = TwoVersions(tmp_path)
    try:
        yield made
    finally:
        made.stop()


@pytest.mark.long
def test_servers_and_workers_of_two_versions_work_together(two: TwoVersions, older: Path) -> None:
    def begin(server: Process, count: int) -> list[str]:
        (two.folder / "t.yaml").write_text(HEAD + BODY)
        for _ in range(count):
            number = len(names)
            words = ("start", "t.yaml", "--set", f"n={number}", "--json", "--server", two.urls[server.pid])
            done = done_here(two.folder, words)
            assert done.returncode == 0, done.stderr
            names.append(done.stdout.split('"')[3])
        return names[-count:]

    def go(server: Process, some: list[str]) -> None:
        for name in some:
            two.noetl("signal", name, "--name", "go", "--data", "1", server=server)

    names: list[str] = []
    two.python = str(older)
    old_server, old_worker = two.server(), two.worker("--name", "old", "--slots", "4")
    first = begin(old_server, 6)
    go(old_server, first[:2])
    # The new server changes the tables under the old one, which goes on.
    two.python = sys.executable
    new_server = two.server()
    second = begin(new_server, 6) + begin(old_server, 4)
    new_worker = two.worker("--name", "new", "--slots", "4")
    # Each is asked about what the other one drives.
    go(new_server, first[2:4] + second[6:8])
    go(old_server, second[:3] + second[8:])
    time.sleep(1.0)
    # What the old ones have goes on with the new ones.
    told(old_worker)
    told(old_server)
    assert (old_worker.wait(60), old_server.wait(60)) == (0, 0)
    go(new_server, first[4:] + second[3:6])
    with two.looking() as runtime:
        rows = runtime.store.execution
        waited_for(lambda: all((row := rows(name)) is not None and row.ended for name in names), "not all end", 90)
        for number, name in enumerate(names):
            checked(runtime, name)
            said = two.noetl("result", name, server=new_server)
            assert said.strip() == str(28 + number), name
    # Each item once: no worker died.
    assert sorted(two.lines()) == sorted(f"{number}-{item}" for number in range(len(names)) for item in range(8))
    assert new_worker.poll() is None
