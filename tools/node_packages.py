"""A developer's module, never shipped: brings what tools of Node's need, with npm, by a lock file."""

import fcntl
import shutil
import subprocess
from pathlib import Path


def has_tools() -> bool:
    """Whether Node and npm are there."""
    return shutil.which("node") is not None and shutil.which("npm") is not None


def bring(source: Path, build: Path) -> None:
    """Install into a folder what the lock file in `source` names, where that is not there yet. One process does so at a
    time, others wait for it. Raises CalledProcessError.
    """
    lock, had, modules = source / "package-lock.json", build / "package-lock.json", build / "node_modules"
    build.mkdir(parents=True, exist_ok=True)
    with open(build.with_suffix(".lock"), "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        # npm writes the hidden lock last: where it is missing, an installation was broken off.
        if (modules / ".package-lock.json").exists() and had.exists() and had.read_bytes() == lock.read_bytes():
            return
        shutil.rmtree(modules, ignore_errors=True)
        for name in ("package.json", "package-lock.json"):
            shutil.copy(source / name, build / name)
        # Without scripts: what is brought is run by what asks for it alone.
        command = ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--silent"]
        subprocess.run(command, cwd=build, check=True)
