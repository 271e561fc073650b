"""Where others' code runs: no network but the loopback interface, and nothing to write to but a folder of its own.

It takes Linux namespaces, and the rights to make them. A run has a space of processes of its own, so that nothing it
started outlives it.
"""

import os
import subprocess
import sys
from pathlib import Path

_INSIDE = "CORPORA_FOLDER"
_LEFT_ALONE = ("/proc", "/dev", "/sys")


class NoIsolation(Exception):
    """This machine gives none; the text says why."""


def folder_inside() -> Path | None:
    """The folder of the isolation that this process is in, None outside of any."""
    name = os.environ.get(_INSIDE)
    return Path(name) if name else None


def again_inside(folder: Path) -> int:
    """Start this program again with the same arguments, isolated, and wait for it; gives its exit code."""
    argv = ["unshare", "--net", "--mount", sys.executable, *sys.argv]
    try:
        probe = subprocess.run(["unshare", "--net", "--mount", "true"], capture_output=True, text=True)
    except FileNotFoundError:
        raise NoIsolation("there is no program `unshare`") from None
    if probe.returncode:
        raise NoIsolation(probe.stderr.strip())
    return subprocess.run(argv, env={**os.environ, _INSIDE: str(folder)}).returncode


def raise_loopback() -> None:
    """Switch the loopback interface on, the only one that is here."""
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)


def open_own(folder: Path, shown: Path) -> Path:
    """Make the folder a place of its own, and /tmp a part of it; gives where in it another folder is shown.

    What is opened in it before would keep files from being closed.
    """
    temporary = folder / "tmp"
    temporary.mkdir(exist_ok=True)
    temporary.chmod(0o1777)
    subprocess.run(["mount", "--bind", str(folder), str(folder)], check=True)
    window = folder / "shown"
    window.mkdir()
    subprocess.run(["mount", "--bind", str(shown), str(window)], check=True)
    subprocess.run(["mount", "--bind", str(temporary), "/tmp"], check=True)
    return window


def close_files(folder: Path) -> None:
    """From here on nothing can be written but what is in the folder."""
    points = [line.split()[1] for line in Path("/proc/self/mounts").read_text().splitlines()]
    for point in points:
        if not point.startswith((str(folder), "/tmp", *_LEFT_ALONE)):
            subprocess.run(["mount", "-o", "remount,bind,ro", point], check=True)


def alone(argv: list[str]) -> list[str]:
    """The command line that runs a program in a space of processes of its own, all of which end with it."""
    if folder_inside() is None:
        return argv
    return ["unshare", "--pid", "--fork", "--kill-child=KILL", "--mount-proc", *argv]
