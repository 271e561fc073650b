"""The scripts of the project in a fresh clone: the demo of a newcomer, and the checks that each change waits for."""

import shutil
import subprocess
import time
from pathlib import Path

from benchmarks.row import ROOT, Bench, NotMeasured, Reading

_SUITE = "three times as many tests as then; what finds more by running longer is left to --all"
_DEMO, _CHECK = 30, 360
"""Seconds on two cores: with the packages in the installer's cache, and without what only `tools/check --all` runs."""


def own_scripts(bench: Bench) -> list[Reading]:
    """One run of each script; the demo comes first and sets up, as it does for whoever clones the project."""
    clone = bench.folder / "clone"
    shutil.rmtree(clone, ignore_errors=True)
    subprocess.run(["git", "clone", "-q", str(ROOT), str(clone)], check=True)
    return [_timed(clone, "demo", _DEMO), _timed(clone, "check", _CHECK).beside("8 min", _SUITE)]


def _timed(clone: Path, name: str, most: int) -> Reading:
    began = time.monotonic()
    done = subprocess.run([clone / "tools" / name], capture_output=True, cwd=clone)
    seconds = time.monotonic() - began
    if done.returncode:
        raise NotMeasured(f"tools/{name} ended with {done.returncode}")
    return Reading(f"tools/{name}", seconds, None, "s", "", None, f"≤ {most} s", seconds <= most)
