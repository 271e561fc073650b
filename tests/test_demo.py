"""`tools/demo` shows the result once, says where the log is, and leaves nothing where people work."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


@pytest.mark.skipif(Path(sys.prefix) != ROOT / ".venv", reason="it would make an environment of its own")
def test_the_demo_shows_its_result_once_and_leaves_nothing_behind() -> None:
    before = {path.name for path in ROOT.iterdir()} | {path.name for path in (ROOT / "examples").iterdir()}
    done = subprocess.run([ROOT / "tools" / "demo"], cwd="/", capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count('"not_found": 1') == 1
    [command] = re.findall(r"^   \.venv/bin/noetl (events last --store \S+)$", done.stdout, re.MULTILINE)
    events = subprocess.run(
        [ROOT / ".venv/bin/noetl", *command.split()], cwd=ROOT, capture_output=True, text=True, timeout=60, check=False
    )
    assert "workflow.finished" in events.stdout
    place = ROOT / command.rpartition("sqlite:///")[2]
    assert (place.parent / "streaming_pagination.sqlite").exists()
    after = {path.name for path in ROOT.iterdir()} | {path.name for path in (ROOT / "examples").iterdir()}
    assert after - before <= {".noetl"}
