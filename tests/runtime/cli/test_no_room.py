"""No room for values or events: a run says so and waits, what it could not store is stored when there is room, and
others read meanwhile. The limit of a file's size stands in for a full disk: the system refuses the same writes, and
the limit can be lifted from outside.
"""

import json
import resource
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import httpx
import pytest

from harness.disks import fill, small_disk
from harness.signals import heeded
from noetl.store.sqlite import SqliteStore
from services import waited_for

if TYPE_CHECKING:
    from conftest import Home

SAYS = "nothing can be stored"
# Three results of 3 MB, more than a file may have below; the log is short.
VALUES = """
workflow:
  - step: start
    loop: {in: "{{ [1, 2, 3] }}", iterator: n}
    tool:
      kind: python
      args: {n: "{{ iter.n }}"}
      code: |
        with open('ran', 'a') as file:
            file.write(f'{n}\\n')
        result = {'n': n, 'text': str(n) * 3_000_000}
    next: {arcs: [{step: last}]}
  - {step: last, tool: {kind: noop, result: "{{ start | map(attribute='n') | sum }}"}}
"""
# Thirty results of 30 KB that stand in the log, which is 900 KB then.
EVENTS = """
workflow:
  - step: start
    loop: {in: "{{ range(30) | list }}", iterator: n}
    tool:
      kind: python
      args: {n: "{{ iter.n }}"}
      code: |
        with open('ran', 'a') as file:
            file.write(f'{n}\\n')
        result = 'x' * 30_000
    next: {arcs: [{step: last}]}
  - {step: last, tool: {kind: noop, result: "{{ start | length }}"}}
"""
SLOW_ONCE = """
workflow:
  - step: start
    tool:
      kind: python
      code: |
        import os, time
        again = os.path.exists('ran')
        open('ran', 'a').close()
        time.sleep(0 if again else 60)
"""
LIFTED = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)


def begun(home: "Home", body: str, most: int) -> "subprocess.Popen[str]":
    """A run whose files may have `most` bytes, once it has begun."""
    plan = home.plan(body)
    # Made before, since that alone writes a quarter of a megabyte, more with each migration.
    (home.folder / ".noetl").mkdir(mode=0o700)
    SqliteStore(str(home.folder / ".noetl" / "noetl.db")).close()
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, before[1]))
    try:
        return home.start("run", plan, until="tests/tried")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def told(child: "subprocess.Popen[str]") -> str:
    """The line that says that nothing can be stored."""
    assert child.stderr is not None
    return next(line for line in child.stderr if SAYS in line)


@pytest.mark.parametrize(("body", "most", "result", "runs"), [(VALUES, 2_000_000, 6, 3), (EVENTS, 240_000, 30, 30)])
def test_a_run_says_so_and_goes_on_by_itself(home: "Home", body: str, most: int, result: int, runs: int) -> None:
    child = begun(home, body, most)
    line = told(child)
    assert "the file is larger than the system allows" in line or "the disk is full" in line
    (row,) = home.json("list")  # type: ignore[misc]
    assert row["status"] == "running"
    assert home.run("status", row["execution_id"]).returncode == 0
    resource.prlimit(child.pid, resource.RLIMIT_FSIZE, LIFTED)
    output, _ = child.communicate(timeout=60)
    assert (child.returncode, f"result: {result}\n" in output) == (0, True), output
    assert len((home.folder / "ran").read_text().split()) == runs
    document = home.json("replay", row["execution_id"])
    assert isinstance(document, dict)
    assert document["legal"] is True


def test_a_signal_ends_it_with_5_and_the_reason(home: "Home") -> None:
    child = begun(home, VALUES, 2_000_000)
    told(child)
    child.send_signal(signal.SIGINT)
    _, said = child.communicate(timeout=60)
    assert child.returncode == 5
    assert "the file is larger than the system allows" in said
    assert f"Resume with: noetl resume {home.only()}" in said
    done = home.run("resume", home.only(), "--json")
    assert json.loads(done.stdout)["status"] == "completed"


def test_a_quiet_run_says_it_too(home: "Home") -> None:
    plan = home.plan(VALUES)
    child = subprocess.Popen(
        ["prlimit", "--fsize=2000000", sys.executable, "-m", "noetl.cli", "run", plan, "--quiet"],
        cwd=home.folder, env=home.env, text=True, stderr=subprocess.PIPE,
    )  # fmt: skip
    home.started.append(child)
    assert told(child).startswith("warning: nothing can be stored")


def waiting(home: "Home", *words: str) -> "subprocess.Popen[str]":
    """`noetl …` on a full disk, once it says so."""
    child = subprocess.Popen(
        [sys.executable, "-m", "noetl.cli", *words], cwd=home.folder, env=home.env, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        preexec_fn=heeded,
    )  # fmt: skip
    home.started.append(child)
    line = told(child)
    assert "disk is full" in line or "No space left" in line
    return child


@pytest.mark.parametrize("there", ["nothing", "a store", "a stopped execution"])
def test_what_begins_on_a_full_disk_waits_too(home: "Home", tmp_path: Path, there: str) -> None:
    """From the first file on: the store, the plan, and who owns the execution."""
    with small_disk(tmp_path / "disk") as disk:
        home.folder = disk
        plan, words = home.plan(EVENTS), ["run", "plan.ir"]
        if there == "a store":
            home.run("register", plan)
        elif there == "a stopped execution":
            stopped = home.start("run", home.plan(SLOW_ONCE), until="start: started")
            waited_for((disk / "ran").exists, "it never begins")
            stopped.kill()
            stopped.communicate()
            words = ["resume", "last"]
        ballast = fill(disk)
        child = waiting(home, *words)
        ballast.unlink()
        output, said = child.communicate(timeout=60)
        assert (child.returncode, "result:" in output or "completed" in output) == (0, True), output + said
        fill(disk)
        child = waiting(home, "run", "plan.ir")
        child.send_signal(signal.SIGINT)
        child.communicate(timeout=60)
        assert child.returncode in (5, 130)


def test_a_run_that_finds_no_room_ends_with_5(home: "Home", tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk") as disk:
        home.folder = disk
        home.plan(EVENTS)
        fill(disk)
        child = waiting(home, "run", "plan.ir")
        _, said = child.communicate(timeout=120)
        assert (child.returncode, "the disk is full" in said, "nothing was begun" in said) == (5, True, True)
        (disk / "ballast").unlink()
        assert home.run("list").stdout.count("tests/tried") == 0
        assert home.run("run", "plan.ir").returncode == 0


def is_ready(url: str, status: int) -> None:
    """Wait until a server says whether it is."""
    waited_for(lambda: httpx.get(f"{url}/readyz").status_code == status, f"it never says {status}")


def test_a_server_begins_on_a_full_disk_and_goes_on_when_there_is_room(home: "Home", tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk") as disk:
        home.folder = disk
        home.plan(VALUES)
        with home.serving() as (_, url):
            home.run("register", "plan.ir", "--server", url)
            execution = home.json("start", "tests/tried", "--server", url)["execution_id"]  # type: ignore[index]
            is_ready(url, 503)
        ballast = fill(disk)
        with home.serving() as (_, url):
            assert [row["status"] for row in home.json("list", "--server", url)] == ["running"]  # type: ignore[attr-defined]
            is_ready(url, 503)
            ballast.unlink()
            subprocess.run(["mount", "-o", "remount,size=60m", str(disk)], check=True)
            waited_for(lambda: home.json("list", "--server", url)[0]["status"] == "completed", "it stands still")  # type: ignore[index]
            assert home.run("result", execution, "--server", url).stdout == "6\n"
            is_ready(url, 200)
