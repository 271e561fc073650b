"""Signals that come while a run that was stopped is being put away: exit code 5 and not a word more."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

STEPS = "".join(
    f"  - step: {name}\n    tool: {{kind: python, code: 'import time; time.sleep(0.2); result = 1'}}\n{arcs}"
    for name, arcs in (("start", "    next: {arcs: [{step: more}]}\n"), ("more", "    next: {arcs: [{step: start}]}\n"))
)
PLAYBOOK = f"apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: {{name: tried}}\nworkflow:\n{STEPS}"


@pytest.mark.parametrize("delay", [0.0, 0.005, 0.02, 0.1, 0.25])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_second_signal_at_any_moment(tmp_path: Path, number: signal.Signals, delay: float) -> None:
    (tmp_path / "a.yaml").write_text(PLAYBOOK)
    child = subprocess.Popen(
        [sys.executable, "-m", "noetl.cli", "run", "a.yaml"],
        cwd=tmp_path, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    try:
        assert child.stderr is not None
        assert any("more: started" in line for line in child.stderr)
        for wait in (0.0, delay, delay):
            time.sleep(wait)
            child.send_signal(number)
        output, said = child.communicate(timeout=60)
    finally:
        child.kill()
    assert child.returncode == 5, said
    assert "Traceback" not in said
    assert "esume with: noetl resume" in output + said
