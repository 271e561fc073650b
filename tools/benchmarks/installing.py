"""Installs the peers from PyPI, each into a virtual environment of its own under `.bench/`."""

import subprocess
import sys

from benchmarks.row import BENCH

PEERS: dict[str, tuple[str, ...]] = {
    "yamllint": ("yamllint",),
    "cfn-lint": ("cfn-lint",),
    "pm4py": ("pm4py",),
    "snakes": ("snakes",),
    "dbos": ("dbos",),
    "langgraph": ("langgraph", "langgraph-checkpoint-sqlite"),
    "burr": ("apache-burr",),
    "prefect": ("prefect",),
}


def install() -> int:
    """Install what is missing; the number of peers that could not be installed."""
    return sum(not _install(name, packages) for name, packages in PEERS.items())


def _install(name: str, packages: tuple[str, ...]) -> bool:
    folder = BENCH / name
    marker = folder / "installed"
    # The mark is made last: an environment that broke off halfway is made again.
    if marker.exists():
        print(f"{name}: there")
        return True
    print(f"{name}: installing {' '.join(packages)}", flush=True)
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    # A peer that cannot be had costs its own rows alone, so that a failure is told and the others go on.
    done = subprocess.run([folder / "bin" / "pip", "install", "--quiet", *packages], check=False)
    if done.returncode == 0:
        marker.touch()
    else:
        print(f"{name}: could not be installed", file=sys.stderr)
    return done.returncode == 0
