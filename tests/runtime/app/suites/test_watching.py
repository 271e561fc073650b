"""`noetl test --watch`: runs again when a file changes, and ends at Ctrl-C."""

import signal
import subprocess
import sys
from pathlib import Path
from queue import Queue
from threading import Thread

from harness.signals import heeded
from harness.suites import brought, case, put

OUTCOMES = brought({"result": [3, 4]})


def test_a_change_runs_the_tests_again(tmp_path: Path) -> None:
    put(tmp_path, case({"result": {"sum": 7}}, outcomes=OUTCOMES))
    words = [sys.executable, "-m", "noetl.cli", "test", "--watch"]
    with subprocess.Popen(
        words, cwd=tmp_path, stdout=subprocess.PIPE, text=True, preexec_fn=heeded
    ) as program:  # fmt: skip
        lines: Queue[str] = Queue()
        assert program.stdout is not None
        Thread(target=lambda: [lines.put(line) for line in program.stdout or ()], daemon=True).start()
        try:
            assert _sum(lines).startswith("1 case passed")
            put(tmp_path, case({"result": {"sum": 8}}, outcomes=OUTCOMES))
            assert _sum(lines).startswith("1 case failed")
            # The playbook is watched, too.
            text = (tmp_path / "orders.yaml").read_text()
            (tmp_path / "orders.yaml").write_text(text.replace("sum(rows)", "sum(rows) + 1"))
            assert _sum(lines).startswith("1 case passed")
            program.send_signal(signal.SIGINT)
            assert program.wait(60) == 130
        finally:
            program.kill()  # it would wait for a change for ever, and this test for it


def _sum(lines: "Queue[str]") -> str:
    """The next line that says how many cases passed."""
    while " in " not in (line := lines.get(timeout=120)) or "case" not in line:
        pass
    return line
