"""Runs that are stopped, paused, cancelled or killed, and go on: by signals, and from other processes."""

import json
import signal
import subprocess
from typing import TYPE_CHECKING

import pytest

from services import waited_for

if TYPE_CHECKING:
    from conftest import Home

# The first attempt takes for ever; one after it finds the file that the first one left.
SLOW = """
workflow:
  - step: start
    tool:
      - nap: {kind: shell, command: "if [ -e seen ]; then echo back; else : > seen; sleep 60; fi"}
    next: {arcs: [{step: last}]}
  - {step: last, tool: {kind: noop}}
"""
CHILD = "workflow:\n  - step: start\n    tool: {kind: shell, command: sleep 60}\n"
PARENT = "workflow:\n  - step: start\n    tool: {kind: playbook, path: child}\n"


def ended(child: "subprocess.Popen[str]") -> tuple[int, str]:
    """The exit code and standard output of a run in the background."""
    output, _ = child.communicate(timeout=60)
    return child.returncode, output


def begun(home: "Home") -> "subprocess.Popen[str]":
    """A run that is inside its slow task."""
    child = home.start("run", home.plan(SLOW), until="start: started")
    while not (home.folder / "seen").exists():
        assert child.poll() is None
    return child


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_stops_with_5_and_says_how_to_resume(home: "Home", number: signal.Signals) -> None:
    child = begun(home)
    child.send_signal(number)
    code, output = ended(child)
    execution = home.only()
    assert code == 5
    assert output.startswith("interrupted: tests/tried")
    assert output.endswith(f"resume with: noetl resume {execution}\n")
    shown = home.run("status", execution)
    assert shown.stdout.startswith("running (no owner): tests/tried")
    document = home.json("resume", execution)
    assert isinstance(document, dict)
    assert (document["status"], document["counts"]["retries"]) == ("completed", 0)


def test_killed_and_resumed_it_ends_as_it_would_have(home: "Home") -> None:
    child = begun(home)
    child.kill()
    child.wait()
    execution = home.only()
    done = home.run("resume", execution[:12])
    assert done.returncode == 0, done.stderr
    assert home.run("replay", execution).returncode == 0
    types = [json.loads(line)["event_type"] for line in home.run("events", execution, "--json").stdout.splitlines()]
    assert types.count("task.lost") == 1
    assert types.count("task.done") == 2
    again = home.run("resume", execution)
    assert (again.returncode, again.stdout.split()[0]) == (0, "completed:")


def test_only_one_process_drives_an_execution(home: "Home") -> None:
    child = begun(home)
    execution = home.only()
    done = home.run("resume", execution)
    assert (done.returncode, done.stdout) == (5, "")
    assert f"is owned by process {child.pid}" in done.stderr
    assert home.json("status")["unfinished"][0]["owned"] is True  # type: ignore[index]


def test_cancel_reaches_the_process_that_drives(home: "Home") -> None:
    child = begun(home)
    execution = home.only()
    done = home.run("cancel", execution)
    assert (done.returncode, done.stdout) == (0, f"cancelled: tests/tried, execution {execution}\n")
    code, output = ended(child)
    assert code == 4
    assert "reason: cancelled on request" in output
    assert home.run("cancel", execution).returncode == 0
    done = home.run("pause", execution)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"error: execution {execution} has ended (cancelled): there is nothing to pause\n"
    assert home.run("resume", execution).returncode == 4


def test_pause_reaches_it_and_resume_goes_on(home: "Home") -> None:
    child = begun(home)
    execution = home.only()
    assert home.json("pause", execution) == {"execution_id": execution, "status": "paused", "reason": None}
    child.send_signal(signal.SIGINT)  # the attempt that runs is let run, which would take a minute
    assert ended(child)[0] == 5
    assert home.run("status", execution).stdout.startswith("paused (no owner)")
    assert home.run("resume", execution).returncode == 0


def test_without_an_owner_the_request_is_done_right_here(home: "Home") -> None:
    child = begun(home)
    child.kill()
    child.wait()
    execution = home.only()
    assert home.json("pause", execution) == {"execution_id": execution, "status": "paused", "reason": None}
    shown = home.run("status", execution).stdout
    assert shown.startswith("paused (no owner)")
    assert "  start: to run nap\n" in shown or "  start: was running nap\n" in shown
    assert home.json("cancel", execution) == {"execution_id": execution, "status": "cancelled", "reason": None}
    assert home.run("replay", execution).returncode == 0


def test_what_has_ended_is_not_cancelled(home: "Home") -> None:
    home.run("run", home.plan("workflow:\n  - step: start\n    tool: {kind: noop}\n"))
    execution = home.only()
    done = home.run("cancel", execution)
    said = f"execution {execution} has ended (completed): there is nothing to cancel"
    assert (done.returncode, done.stdout, done.stderr) == (1, "", f"error: {said}\n")
    assert home.json("cancel", execution) == {"execution_id": execution, "status": "completed", "reason": said}


def test_a_child_is_driven_by_the_owner_of_its_caller(home: "Home") -> None:
    head = "apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: {name: child, path: child}\n"
    (home.folder / "child.yaml").write_text(head + CHILD)
    parent = home.start("run", home.plan(PARENT), "--path", ".", until="child: start: started")
    rows = home.json("list")
    assert isinstance(rows, list)
    child = next(row["execution_id"] for row in rows if row["parent"])
    done = home.run("resume", child)
    assert done.returncode == 5
    assert "a caller of it drives it" in done.stderr
    assert home.run("cancel", child).returncode == 0
    code, output = ended(parent)
    assert code == 1
    assert "child.cancelled" in output


def test_a_store_that_fails_while_it_runs_stops_with_5(home: "Home") -> None:
    import sqlite3

    child = begun(home)
    with sqlite3.connect(home.folder / ".noetl/noetl.db") as database:
        database.execute("CREATE TRIGGER no BEFORE INSERT ON events BEGIN SELECT RAISE(FAIL, 'disk on fire'); END")
    execution = home.only()
    database.close()
    home.run("cancel", execution)
    _, said = child.communicate(timeout=60)
    assert child.returncode == 5
    assert "disk on fire" in said
    assert f"Resume with: noetl resume {execution}" in said


PHASES = """
executor: {spec: {finally: last}}
workflow:
  - step: start
    spec: {policy: {compensate: {step: undo, on: started}}}
    tool:
      - nap: {kind: shell, command: ": > seen; sleep 60"}
  - {step: undo, tool: {kind: shell, command: "echo undone >> told; sleep 60"}}
  - {step: last, tool: {kind: shell, command: "echo last >> told"}}
"""


def test_cancelled_without_an_owner_the_phases_behind_main_are_left_to_a_resume(home: "Home") -> None:
    child = home.start("run", home.plan(PHASES.replace("told; sleep 60", "told")), until="start: started")
    while not (home.folder / "seen").exists():
        assert child.poll() is None
    child.kill()
    child.wait()
    execution = home.only()
    done = home.run("cancel", execution)
    assert done.returncode == 0, done.stderr
    assert done.stdout == (
        f"cancelled: tests/tried, execution {execution}: what follows its main part is left to do\n"
        f"resume with: noetl resume {execution}\n"
    )
    document = home.json("resume", execution)
    assert isinstance(document, dict)
    assert document["status"] == "cancelled"
    assert (home.folder / "told").read_text().split() == ["undone", "last"]
    types = [json.loads(line)["event_type"] for line in home.run("events", execution, "--json").stdout.splitlines()]
    assert types.count("playbook.cancelled") == 1


def test_a_cancel_does_not_wait_for_what_follows_and_a_second_one_ends_that(home: "Home") -> None:
    child = home.start("run", home.plan(PHASES), until="start: started")
    while not (home.folder / "seen").exists():
        assert child.poll() is None
    execution = home.only()
    done = home.run("cancel", execution)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"cancelled: tests/tried, execution {execution}: what follows its main part is left to do\n"
    home.run("cancel", execution)
    assert ended(child)[0] == 4
    assert (home.folder / "told").read_text().split() == ["undone"]


def test_a_server_is_asked_once_to_cancel_so_that_what_follows_runs(home: "Home") -> None:
    """A second request would end the later phase."""
    text = """
executor: {spec: {finally: tidy}}
workflow:
  - {step: start, tool: {kind: wait, events: [go]}}
  - {step: tidy, tool: {kind: python, code: "import time; time.sleep(2); result = 1"}}
"""
    plan = home.plan(text)
    with home.serving() as (_, url):
        assert home.run("register", plan, "--server", url).returncode == 0
        started = home.json("start", "tests/tried", "--server", url)
        assert isinstance(started, dict)
        execution = str(started["execution_id"])
        done = home.run("cancel", execution, "--server", url)
        assert done.returncode == 0, done.stderr
        waited_for(
            lambda: home.json("status", execution, "--server", url)["status"] not in ("running", "new"),  # type: ignore[index,call-overload]
            "it does not end",
        )
        events = home.run("events", execution, "--server", url).stdout
    assert events.count("playbook.cancelled") == 1
    assert "step.done" in events and "tidy" in events
