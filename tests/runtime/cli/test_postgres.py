"""`noetl` with a store in PostgreSQL: the same commands, a restart of the database in the middle, no password shown."""

import threading
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from services import postgres, waited_for

if TYPE_CHECKING:
    from conftest import Home

COUNTING = """
workload: {go: GO}
workflow:
- step: start
  loop: {in: "{{ range(40) | list }}", iterator: number, spec: {mode: sequential}}
  tool:
    kind: python
    code: |
      import os, time
      while number == 30 and not os.path.exists(go):
          time.sleep(0.02)
      time.sleep(0.02)
      result = number
    args: {number: "{{ iter.number }}", go: "{{ workload.go }}"}
"""
LARGE = """
workflow:
- step: start
  tool: {kind: python, code: "result = 'x' * 300000"}
"""
STORED = """
executor: {spec: {policy: {limits: {max_payload_bytes: 600}}}}
workflow:
- step: start
  tool: {kind: python, code: "result = 'x' * 900"}
"""


@pytest.fixture
def stored(home: "Home") -> "Home":
    """A folder whose commands use a new store in PostgreSQL."""
    home.env["NOETL_STORE"] = postgres().store_url()
    return home


@pytest.fixture
def here(stored: "Home", monkeypatch: pytest.MonkeyPatch) -> "Home":
    """A folder whose commands use a new store in PostgreSQL, also those that run in this process."""
    monkeypatch.setenv("NOETL_STORE", stored.env["NOETL_STORE"])
    return stored


def counting(here: "Home") -> tuple[str, Path]:
    """The plan of a loop that waits at its thirtieth item, and the file that lets it go on."""
    go = here.folder / "go"
    return here.plan(COUNTING.replace("GO", f'"{go}"')), go


def test_a_run_and_all_that_is_asked_about_it(here: "Home") -> None:
    done = here.run("run", here.plan(LARGE))
    assert done.returncode == 0, done.stderr
    execution = here.only()
    assert here.json("result", execution) == "x" * 300_000
    status = here.json("status", execution)
    assert isinstance(status, dict) and status["status"] == "completed"
    assert here.run("replay", execution).returncode == 0
    assert not (here.folder / ".noetl").exists()
    assert here.run("events", execution).stdout.count("task.done") == 1


def test_the_database_restarts_while_a_run_goes_on(here: "Home") -> None:
    plan, go = counting(here)
    done: list[object] = []
    running = threading.Thread(target=lambda: done.append(here.run("run", plan)))
    running.start()
    waited_for(lambda: here.run("events", "last").stdout.count("task.done") >= 5 or done, "it does not begin")
    postgres().kill()
    postgres().start()
    go.touch()
    running.join(60)
    assert done and done[0].returncode == 0, done  # type: ignore[attr-defined]
    execution = here.only()
    assert here.json("result", execution) == list(range(40))
    assert here.run("replay", execution).returncode == 0
    assert "task.lost" not in here.run("events", execution).stdout


def test_a_run_that_was_killed_is_owned_by_nobody_and_goes_on(here: "Home") -> None:
    plan, go = counting(here)
    child = here.start("run", plan, until="started")
    waited_for(lambda: here.run("events", "last").stdout.count("task.done") >= 3, "it does not begin")
    execution = here.only()
    refused = here.run("resume", execution)
    assert refused.returncode == 5 and "owned by process" in refused.stderr
    child.kill()
    child.wait()
    go.touch()
    done = here.run("resume", execution)
    assert done.returncode == 0, done.stderr
    assert here.json("result", execution) == list(range(40))


def test_no_password_is_shown(here: "Home") -> None:
    secret = "postgresql://joe:hunter22@127.0.0.1:1/db"
    plan = here.plan(LARGE)
    for words in (("run", plan), ("list",), ("status", "last"), ("resume", "x")):
        done = here.run(*words, "--store", secret)
        assert done.returncode not in (0, 3), words
        assert "hunter22" not in done.stdout + done.stderr and "127.0.0.1:1" in done.stderr, words


def test_it_is_purged_and_comes_back_from_a_bundle_also_into_another_kind_of_store(
    here: "Home", monkeypatch: pytest.MonkeyPatch
) -> None:
    assert here.run("run", here.plan(STORED)).returncode == 0
    execution = here.only()
    assert here.run("purge", "last", "--archive", "kept").returncode == 0
    assert here.json("list") == []
    assert here.run("store", "check").stdout == "whole: 0 executions, 0 events, 0 values\n"
    bundle = f"kept/{execution}.noetl"
    for _ in range(2):
        assert here.run("restore", bundle).returncode == 0
        assert here.json("result", execution) == "x" * 900
        assert here.run("replay", execution).returncode == 0
        found = here.json("store", "check", "--replay")
        assert isinstance(found, dict) and (found["faults"], found["executions"], found["values"]) == ([], 1, 1)
        monkeypatch.setenv("NOETL_STORE", "sqlite:///elsewhere/noetl.db")


def test_what_the_database_says_of_itself(here: "Home") -> None:
    assert here.run("run", here.plan(LARGE)).returncode == 0
    before = here.json("store", "vacuum")
    assert isinstance(before, dict) and before["after"] > 0
    refused = here.run("store", "backup", "copy")
    assert (refused.returncode, "PostgreSQL copies itself: pg_dump --schema=" in refused.stderr) == (1, True)
    assert not (here.folder / "copy").exists()
