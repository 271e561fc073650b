"""Streams that the caller closed or that cannot be written: an exit code from the list, and never a traceback."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

PLAYBOOK = """
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: tried}
workflow:
  - step: start
    tool: {kind: noop, result: told}
"""
COMMANDS = {
    "run": ["noetl.cli", "run", "a.yaml"],
    "list": ["noetl.cli", "list", "--json"],
    "lint": ["noetlc.cli", "lint", "a.yaml", "--format", "json"],
    "schema": ["noetlc.cli", "schema", "plan"],
    "usage": ["noetl.cli", "run", "missing.yaml"],
}


def shell(folder: Path, words: list[str], redirect: str) -> "subprocess.CompletedProcess[str]":
    """A command line with a redirection behind it, in a folder with a playbook."""
    (folder / "a.yaml").write_text(PLAYBOOK)
    line = f'exec "$@" {redirect}'
    command = ["sh", "-c", line, "sh", sys.executable, "-m", *words]
    return subprocess.run(command, cwd=folder, text=True, capture_output=True, timeout=60)


def has_store(folder: Path, name: str) -> None:
    """Have a store there for a command that looks at one."""
    if name == "list":
        shell(folder, COMMANDS["run"], "")


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-", ">&- 2>&-"])
@pytest.mark.parametrize("name", COMMANDS)
def test_a_closed_stream_changes_no_exit_code(tmp_path: Path, name: str, closed: str) -> None:
    has_store(tmp_path, name)
    done = shell(tmp_path, COMMANDS[name], closed)
    assert done.returncode == (2 if name == "usage" else 0)
    assert "Error" not in done.stdout
    assert "rror:" not in done.stderr or name == "usage"


def test_a_store_is_whole_after_a_run_without_any_stream(tmp_path: Path) -> None:
    shell(tmp_path, COMMANDS["run"], "<&- >&- 2>&-")
    (row,) = json.loads(shell(tmp_path, COMMANDS["list"], "").stdout)
    replayed = shell(tmp_path, ["noetl.cli", "replay", row["execution_id"]], "")
    assert (replayed.returncode, row["status"]) == (0, "completed"), replayed.stderr


def test_a_closed_standard_input_is_an_empty_one(tmp_path: Path) -> None:
    done = shell(tmp_path, ["noetlc.cli", "lint", "-"], "<&-")
    assert done.returncode == 1
    assert "there is no YAML document" in done.stdout + done.stderr


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a device that is always full")
@pytest.mark.parametrize("name", [name for name in COMMANDS if name != "usage"])
def test_output_that_cannot_be_written_is_said_plainly(tmp_path: Path, name: str) -> None:
    has_store(tmp_path, name)
    done = shell(tmp_path, COMMANDS[name], ">/dev/full")
    assert done.returncode == 3
    assert "error: standard output cannot be written: No space left on device" in done.stderr
    assert "Traceback" not in done.stderr
    assert "internal" not in done.stderr


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a device that is always full")
def test_an_error_that_nobody_can_read_keeps_its_exit_code(tmp_path: Path) -> None:
    assert shell(tmp_path, COMMANDS["usage"], "2>/dev/full").returncode == 2
    assert shell(tmp_path, COMMANDS["run"], "2>/dev/full").returncode == 0


@pytest.mark.parametrize("limit", ["ulimit -n 8", "ulimit -v 60000"])
def test_what_the_system_refuses_is_no_error_of_ours(tmp_path: Path, limit: str) -> None:
    (tmp_path / "a.yaml").write_text(PLAYBOOK)
    line = f'{limit} && exec "$@"'
    command = ["sh", "-c", line, "sh", sys.executable, "-m", *COMMANDS["run"]]
    done = subprocess.run(command, cwd=tmp_path, text=True, capture_output=True, timeout=60)
    if done.returncode != 0:  # a machine may do with less
        assert "internal" not in done.stderr
