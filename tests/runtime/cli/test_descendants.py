"""Processes that tools have started die with the run, however it ends; what was lost too often goes to the rules."""

import os
import signal
import time
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from conftest import Home

BUSY = """
workflow:
  - {step: start, next: {spec: {mode: inclusive}, arcs: [{step: s}, {step: p}]}}
  - {step: s, tool: {kind: shell, command: "sh -c 'sleep 77 & echo $! $$ >> pids; wait' & echo $$ >> pids; wait"}}
  - step: p
    tool:
      kind: python
      args: {folder: "FOLDER"}
      code: |
        import subprocess, time
        subprocess.Popen(["sh", "-c", "sleep 77 & echo $! $$ >> pids; wait"], cwd=folder)
        time.sleep(77)
"""
ALL = 5
"""Processes: three of the shell's, two that the Python task has started."""


def pids_of(home: "Home") -> list[int]:
    """The processes that the tools have noted so far."""
    file = home.folder / "pids"
    return [int(word) for word in file.read_text().split()] if file.exists() else []


def is_alive(pid: int) -> bool:
    """Whether a process runs; one that is dead and not yet waited for does not."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.mark.skipif(not os.path.exists("/proc/self/stat"), reason="the processes are looked at in /proc")
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_children_and_their_children_die_with_the_run(home: "Home", how: signal.Signals) -> None:
    plan = home.plan(BUSY.replace("FOLDER", str(home.folder)))
    child = home.start("run", plan, until="p: started")
    end = time.monotonic() + 60
    while len(pids_of(home)) < ALL and time.monotonic() < end:
        assert child.poll() is None
        time.sleep(0.02)
    pids = pids_of(home)
    assert len(pids) == ALL and all(map(is_alive, pids))
    child.send_signal(how)
    code = child.wait(60)
    assert code == (-signal.SIGKILL if how is signal.SIGKILL else 5)
    end = time.monotonic() + 60
    while any(map(is_alive, pids)) and time.monotonic() < end:
        time.sleep(0.02)
    assert not [pid for pid in pids if is_alive(pid)]


LOSING = """
executor: {spec: {policy: {limits: {max_lost: 1}}}}
workflow:
  - step: start
    tool:
      name: t
      kind: shell
      command: "echo x >> runs; sleep 60"
      spec:
        policy:
          rules:
            - when: "{{ outcome.error.code == 'worker.lost' and outcome.error.retryable }}"
              then: {do: continue, set_ctx: {attempt: "{{ _attempt }}", code: "{{ outcome.error.code }}"}}
    next: {arcs: [{step: last}]}
  - {step: last, tool: {kind: noop, args: {code: "{{ ctx.code }}", attempt: "{{ ctx.attempt }}"}}}
"""


def test_an_attempt_that_was_lost_too_often_is_asked_of_the_rules(home: "Home") -> None:
    child = home.start("run", home.plan(LOSING), until="start: started")
    runs = home.folder / "runs"
    while not (runs.exists() and runs.read_text()):  # the shell makes the file before it writes
        assert child.poll() is None
    child.kill()
    child.wait()
    document: Any = home.json("resume", home.only())
    assert document["status"] == "completed"
    assert home.json("result", home.only(), "last") == {"code": "worker.lost", "attempt": 1}
    assert (home.folder / "runs").read_text().split() == ["x"], "the tool is not run again"
