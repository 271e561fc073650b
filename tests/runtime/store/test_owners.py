"""Ownership among real processes: it ends with the process, and a forked child has no part in it."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from noetl.ports import Owned, StoreFailure
from noetl.store.sqlite.owners import Ownership, is_owned

OWNER = """
import sys, time
from noetl.store.sqlite.owners import Ownership
with Ownership(sys.argv[1], "e1"):
    print("mine", flush=True)
    sys.stdin.read()
"""


def test_another_process_owns_until_it_is_killed(tmp_path: Path) -> None:
    folder = str(tmp_path / "owners")
    command = [sys.executable, "-c", OWNER, folder]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as owner:
        assert owner.stdout is not None
        assert owner.stdout.readline() == b"mine\n"
        assert is_owned(folder, "e1")
        with pytest.raises(Owned, match=f"process {owner.pid}$"), Ownership(folder, "e1"):
            pass
        os.kill(owner.pid, signal.SIGKILL)
    assert not is_owned(folder, "e1")
    with Ownership(folder, "e1"):
        assert is_owned(folder, "e1")
    assert os.listdir(folder) == []


def test_a_child_that_lives_on_does_not_keep_it(tmp_path: Path) -> None:
    """The owner forks and is gone; its child, still alive, holds nothing."""
    folder, (read, write) = str(tmp_path / "owners"), os.pipe()
    owner = os.fork()
    if not owner:
        with Ownership(folder, "e1"):
            if not os.fork():
                os.close(write)
                os.read(read, 1)  # until the test lets go
                os._exit(0)
            os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(owner, 0)
    try:
        for _ in range(100):  # the child may still be about to close its copy
            if not is_owned(folder, "e1"):
                break
            os.sched_yield()
        with Ownership(folder, "e1"):
            assert is_owned(folder, "e1")
    finally:
        os.close(read)
        os.close(write)


def test_a_child_that_ends_does_not_take_it_away(tmp_path: Path) -> None:
    folder = str(tmp_path / "owners")
    with Ownership(folder, "e1"):
        child = os.fork()
        if not child:
            os._exit(0)
        os.waitpid(child, 0)
        assert is_owned(folder, "e1")


def test_a_folder_that_cannot_be_used_says_so(tmp_path: Path) -> None:
    (tmp_path / "owners").write_text("a file")
    with pytest.raises(StoreFailure, match="cannot be locked"), Ownership(str(tmp_path / "owners"), "e1"):
        pass
