"""`tools/cluster`: it starts, runs an example, and leaves nothing behind when it is told to end."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from harness.samples import first

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("number", first(1, [signal.SIGINT, signal.SIGTERM]))
def test_a_cluster_on_this_machine_runs_an_example_and_ends(number: int) -> None:
    process = subprocess.Popen(
        [sys.executable, str(ROOT / "tools" / "cluster"), "--workers", "2", "--port", "0"],
        stdout=subprocess.PIPE, text=True, cwd=ROOT,
    )  # fmt: skip
    try:
        assert process.stdout is not None
        said = process.stdout.readline()
        url = said.removeprefix("the server is at ").partition(";")[0]
        lines = iter(process.stdout.readline, "")
        folder = next(line for line in lines if line.startswith("the logs")).split()[-1]
        words = ["start", "examples/hello.yaml", "--set", "name=Ada", "--follow", "--server", url]
        done = subprocess.run(
            [sys.executable, "-m", "noetl.cli", *words], cwd=ROOT, text=True, capture_output=True, timeout=60
        )
        assert done.returncode == 0 and "Hello, Ada!" in done.stdout, done
        started = children_of(process.pid)
        assert len(started) >= 4
        process.send_signal(number)
        assert process.wait(60) == 0
        assert not Path(folder).exists()
        assert not [child for child in started if Path(f"/proc/{child}").exists()]
    finally:
        process.kill()
        process.communicate()


def children_of(number: int) -> list[int]:
    """The processes that a process has started."""
    found = []
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                status = Path(f"/proc/{entry}/stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if status[1] == str(number):
                found.append(int(entry))
    return found
