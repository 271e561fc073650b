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
_TEMPORARY = Path("/tmp")
_SHOWN = "shown"
_PROJECT = Path(__file__).resolve().parents[2]


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
        # Tried first with a program that does nothing: a refusal then is the machine's and not the one of what is
        # run.
        probe = subprocess.run(["unshare", "--net", "--mount", "true"], capture_output=True, text=True)
    except FileNotFoundError:
        raise NoIsolation("there is no program `unshare`") from None
    if probe.returncode:
        raise NoIsolation(probe.stderr.strip())
    # The variable tells the second start that it is inside. It is no protection: that is the namespaces'.
    return subprocess.run(argv, env={**os.environ, _INSIDE: str(folder)}).returncode


def raise_loopback() -> None:
    """Switch the loopback interface on, the only one that is here."""
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)


def open_own(folder: Path, shown: Path) -> Path:
    """Make the folder a place of its own, and /tmp a part of it; gives where in it another folder is shown.

    What this program itself has below /tmp, as in a checkout there, stays there. What is opened in the folder before
    would keep files from being closed.
    """
    temporary = folder / "tmp"
    temporary.mkdir(exist_ok=True)
    temporary.chmod(0o1777)
    # Bound to itself, the folder is a mount of its own and stays writable when all others are closed.
    subprocess.run(["mount", "--bind", str(folder), str(folder)], check=True)
    window = folder / _SHOWN
    window.mkdir()
    subprocess.run(["mount", "--bind", str(shown), str(window)], check=True)
    # The new /tmp would hide a checkout or an environment that lies below the old one, and this program with it.
    for own in _own_below(_TEMPORARY):
        place = temporary / own.relative_to(_TEMPORARY)
        place.mkdir(parents=True)
        subprocess.run(["mount", "--bind", str(own), str(place)], check=True)
    subprocess.run(["mount", "--rbind", str(temporary), str(_TEMPORARY)], check=True)
    return window


def _own_below(root: Path) -> list[Path]:
    """The folders below another that this program and its libraries are in, none of them in another one of these."""
    places = {Path(name).resolve() for name in (_PROJECT, sys.prefix, sys.base_prefix, *sys.path)}
    below = {place for place in places if root in place.parents and place.is_dir()}
    # A mount shows all below it. A second one inside of it would have to be closed as well.
    return sorted(place for place in below if not below & {*place.parents})


def close_files(folder: Path) -> None:
    """From here on nothing can be written but what is in the folder, and nothing of what was put there to be read."""
    points = [line.split()[1] for line in Path("/proc/self/mounts").read_text().splitlines()]
    closed = [point for point in points if not point.startswith((str(folder), str(_TEMPORARY), *_LEFT_ALONE))]
    # The corpus is shown inside of the folder that is open: it is closed by itself.
    closed.append(str(folder / _SHOWN))
    for own in _own_below(_TEMPORARY):
        closed += (str(own), str(folder / "tmp" / own.relative_to(_TEMPORARY)))
    for point in closed:
        subprocess.run(["mount", "-o", "remount,bind,ro", point], check=True)


def alone(argv: list[str]) -> list[str]:
    """The command line that runs a program in a space of processes of its own, all of which end with it."""
    if folder_inside() is None:
        return argv
    # When the first process of the space ends, the kernel ends all others: also one that a playbook put into the
    # background.
    return ["unshare", "--pid", "--fork", "--kill-child=KILL", "--mount-proc", *argv]
